// codes: code-gen
#include <sys/mman.h>
#include <fcntl.h>
void *f(int fd, void *at) { return mmap(at, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0); }

// codes: code-gen
#include <sys/syscall.h>
#include <unistd.h>
long f(void *p) { return syscall(SYS_pkey_mprotect, p, 4096, 7, -1); }

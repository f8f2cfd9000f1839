// codes: root-like
// permissions: ptrace process
#include <sys/syscall.h>
#include <unistd.h>
long f(void *p) { return syscall(SYS_seccomp, 1, 8, p) + syscall(SYS_clone3, p, 88); }

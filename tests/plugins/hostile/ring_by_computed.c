// codes: nr-computed
#include <unistd.h>
long f(int n) { return syscall(400 + n, 8, (void *)0); }

// codes: nr-computed
#include <unistd.h>
#include <sys/syscall.h>
volatile int key = 7;
long ds_step_run(long a) { return syscall(key * 6, a, 0, 0); }

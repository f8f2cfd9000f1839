// codes: io-uring
// permissions: io-uring
#include <unistd.h>
#include <sys/syscall.h>
long ds_step_run(void *params) { return syscall(425, 8, params); }

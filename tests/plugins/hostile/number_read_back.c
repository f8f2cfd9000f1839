// codes: nr-computed
#include <string.h>
extern long syscall(long, ...);
long ds_step_run(const char *text) {
    long number;
    memcpy(&number, text, sizeof number);
    return syscall(number, 0, 0, 0);
}

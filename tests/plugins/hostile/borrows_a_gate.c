// codes: borrowed-code
#include <unistd.h>
long ds_step_run(long n) {
    long (*enter)(long) = (long (*)(long))((char *)&getpid + 9);
    return enter(n);
}

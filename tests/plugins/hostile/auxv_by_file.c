// codes: vdso-walk
#include <fcntl.h>
#include <unistd.h>
long ds_step_run(void) {
    long pair[2] = {0, 0};
    int f = open("/proc/self/auxv", O_RDONLY);
    while (read(f, pair, sizeof pair) == sizeof pair && pair[0] != 33) {}
    return pair[1];
}

// codes: loader-walk
#include <stdio.h>
unsigned long ds_step_run(void) {
    unsigned long at = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    fscanf(f, "%lx", &at);
    return at;
}

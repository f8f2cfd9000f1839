// A plugin that computes, allocates and measures time.
#include <stdlib.h>
#include <string.h>
#include <time.h>
char *ds_step_run(const char *in, unsigned long size) {
    char *out = malloc(size + sizeof(time_t));
    time_t now = time(0);
    memcpy(out, in, size);
    memcpy(out + size, &now, sizeof now);
    return out;
}

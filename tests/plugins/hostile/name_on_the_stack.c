// permissions: read:fs
#include <fcntl.h>
int ds_step_run(void) {
    volatile char name[12];
    const char hidden[] = "-gva-qjcfmu";
    for (int i = 0; i < 11; i++) name[i] = hidden[i] ^ 2;
    name[11] = 0;
    return open((const char *)name, O_RDONLY);
}

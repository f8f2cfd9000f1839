// codes: self-mem
// permissions: code-gen
#include <fcntl.h>
#include <unistd.h>
int ds_step_run(const void *code, unsigned long size, long at) {
    int f = open("/proc/self/mem", O_RDWR);
    return (int)pwrite(f, code, size, at);
}

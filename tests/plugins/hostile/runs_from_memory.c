// codes: exec-child
// permissions: exec
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>
int ds_step_run(const void *image, unsigned long size) {
    int f = memfd_create("x", 0);
    char *none[] = {0};
    write(f, image, size);
    return fexecve(f, none, none);
}

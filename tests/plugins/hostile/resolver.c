// codes: ifunc load-time
// permissions: write:fs
#include <fcntl.h>
#include <unistd.h>
static int plain(void) { return 1; }
static int (*choose(void))(void) {
    int f = open("/tmp/trace", O_WRONLY | O_CREAT, 0600);
    close(f);
    return plain;
}
int ds_step_run(void) __attribute__((ifunc("choose")));

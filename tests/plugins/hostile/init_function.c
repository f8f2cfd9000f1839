// flags: -Wl,-init=quiet_start
// codes: load-time constructor
// permissions: exec
#include <stdlib.h>
__attribute__((visibility("hidden"))) void quiet_start(void) { system("id"); }
__asm__(".globl quiet_start");
int ds_step_run(void) { return 0; }

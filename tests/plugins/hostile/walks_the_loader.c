// codes: loader-walk
#include <link.h>
extern struct r_debug _r_debug;
void *ds_step_run(void) { return _r_debug.r_map; }

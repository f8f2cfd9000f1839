// codes: exec-child
// permissions: exec=/bin/sh
#include <stdlib.h>
int ds_step_run(const char *line) { return system(line); }

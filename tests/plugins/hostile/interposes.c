// codes: interposition
#include <stddef.h>
char *getenv(const char *name) { (void)name; return NULL; }
int open(const char *path, int flags, ...) { (void)path; (void)flags; return -1; }
int ds_step_run(void) { return 0; }

// codes: dlopen-computed
// permissions: dynload
#include <dlfcn.h>
void *ds_step_run(const char *name) { return dlopen(name, RTLD_NOW); }

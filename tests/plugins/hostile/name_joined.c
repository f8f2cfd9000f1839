// codes: dlsym-computed
#include <dlfcn.h>
#include <string.h>
void *f(void) { char n[16] = "sys"; strcat(n, "tem"); return dlsym(RTLD_DEFAULT, n); }

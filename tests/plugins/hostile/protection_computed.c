// codes: code-gen
#include <sys/mman.h>
int ds_step_run(void *page, int kind) { return mprotect(page, 4096, kind * 2 + 1); }

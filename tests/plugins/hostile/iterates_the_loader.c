// codes: loader-walk
#define _GNU_SOURCE
#include <link.h>
static int each(struct dl_phdr_info *info, size_t size, void *to) { *(long *)to = info->dlpi_addr; return (int)size * 0; }
long ds_step_run(void) { long base = 0; dl_iterate_phdr(each, &base); return base; }

// codes: loader-walk
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
void *ds_step_run(void *handle) {
    struct link_map *map = 0;
    dlinfo(handle, RTLD_DI_LINKMAP, &map);
    return map->l_next;
}

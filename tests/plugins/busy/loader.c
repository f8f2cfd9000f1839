/* Loads a plugin and runs it, with a mark before each part: a write to nowhere that strace shows. */
#include "ds_plugin.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MARK(name) write(-1, name, strlen(name))

int main(int count, char **words) {
    ds_info facts = {sizeof facts, DS_PLUGIN_ABI, 0, 0};
    ds_host host = {sizeof host, 0};
    ds_buf out = {0, 0}, failed = {0, 0};
    (void)count;
    MARK("load");
    void *plugin = dlopen(words[1], RTLD_NOW);
    MARK("-");
    if (!plugin) return fprintf(stderr, "%s\n", dlerror()), 2;
    int32_t (*info)(ds_info *) = dlsym(plugin, "ds_plugin_info");
    int32_t (*init)(const uint8_t *, uint64_t, const ds_host *) = dlsym(plugin, "ds_step_init");
    int32_t (*run)(const uint8_t *, uint64_t, ds_buf *) = dlsym(plugin, "ds_step_run");
    void (*end)(void) = dlsym(plugin, "ds_step_shutdown");
    void (*release)(ds_buf *) = dlsym(plugin, "ds_buf_free");
    void (*last)(ds_buf *) = dlsym(plugin, "ds_last_error");
    int result = 0;
    MARK("run");
    info(&facts);
    init((const uint8_t *)"{}", 2, &host);
    for (int i = 0; i < 2; i++) {
        result = run((const uint8_t *)words[2], strlen(words[2]), &out);
        if (result) last(&failed);
        if (i == 0) release(&out);
    }
    end();
    MARK("-");
    if (!result) fwrite(out.data, 1, out.len, stdout);
    return result;
}

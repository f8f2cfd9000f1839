/* The interface of DSec plugins, version 1: flat C functions, bytes in and bytes out.
 *
 * A plugin is a shared object that exports the functions below. The host calls them from one thread, one
 * at a time. Bytes that the plugin hands out belong to it until the host calls ds_buf_free on them.
 * Functions that return int32_t return 0 for "done"; else ds_last_error says why. Nothing may be thrown
 * or unwound across this border. Inputs and outputs are JSON as schema.json describes them.
 */
#ifndef DS_PLUGIN_H
#define DS_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DS_PLUGIN_ABI 1u
#define DS_EXPORT __attribute__((visibility("default")))

typedef struct {
    uint32_t struct_size; /* set by the host: sizeof(ds_info) as it knows it; write no more than that */
    uint32_t abi;         /* set by the host: DS_PLUGIN_ABI */
    const char *name;     /* set by the plugin; as in plugin.yaml */
    const char *version;
} ds_info;

typedef struct {
    uint8_t *data;
    uint64_t len;
} ds_buf;

typedef struct {
    uint32_t struct_size;
    uint32_t reserved;
} ds_host;

DS_EXPORT uint32_t ds_plugin_abi(void);
DS_EXPORT int32_t ds_plugin_info(ds_info *out);
DS_EXPORT int32_t ds_step_init(const uint8_t *config, uint64_t len, const ds_host *host);
DS_EXPORT int32_t ds_step_run(const uint8_t *in, uint64_t len, ds_buf *out);
DS_EXPORT void ds_step_shutdown(void);
DS_EXPORT void ds_buf_free(ds_buf *buf);
DS_EXPORT void ds_last_error(ds_buf *out);

#ifdef __cplusplus
}
#endif

#endif

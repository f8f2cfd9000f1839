/* Counts the words of {"text": "..."}: the smallest plugin that does something. */
#include "../ds_plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *problem = "";

uint32_t ds_plugin_abi(void) { return DS_PLUGIN_ABI; }

int32_t ds_plugin_info(ds_info *out) {
    if (out->struct_size < sizeof(ds_info)) return 1;
    out->name = "word-count";
    out->version = "1.0.0";
    return 0;
}

int32_t ds_step_init(const uint8_t *config, uint64_t len, const ds_host *host) {
    (void)config, (void)len, (void)host;
    return 0;
}

/* The bytes between the quotes of the first "text": "..."; escapes count as letters. */
static const char *text_of(const char *in, const char *end, uint64_t *length) {
    const char *at = memmem(in, (size_t)(end - in), "\"text\"", 6);
    if (!at) return NULL;
    for (at += 6; at < end && *at != '"'; at++) {}
    const char *begin = ++at;
    for (; at < end && *at != '"'; at++)
        if (*at == '\\') at++;
    if (at >= end) return NULL;
    *length = (uint64_t)(at - begin);
    return begin;
}

int32_t ds_step_run(const uint8_t *in, uint64_t len, ds_buf *out) {
    uint64_t length = 0, words = 0;
    const char *text = text_of((const char *)in, (const char *)in + len, &length);
    if (!text) {
        problem = "the input has no \"text\"";
        return 1;
    }
    for (uint64_t at = 0, inside = 0; at < length; at++) {
        int space = text[at] == ' ' || text[at] == '\t';
        words += !space && !inside;
        inside = !space;
    }
    char *answer = malloc(64);
    if (!answer) {
        problem = "out of memory";
        return 1;
    }
    out->data = (uint8_t *)answer;
    out->len = (uint64_t)snprintf(answer, 64, "{\"words\": %llu}", (unsigned long long)words);
    return 0;
}

void ds_step_shutdown(void) {}

void ds_buf_free(ds_buf *buf) {
    free(buf->data);
    buf->data = NULL;
    buf->len = 0;
}

void ds_last_error(ds_buf *out) {
    out->len = strlen(problem);
    out->data = malloc(out->len + 1);
    if (out->data) memcpy(out->data, problem, out->len + 1);
    else out->len = 0;
}

/* Errors that the driver reports by itself: `gpu 3 xid 79`, once to every set that was there before. */

#include "answers.h"

#include <stdlib.h>
#include <unistd.h>

#define XID 8
#define STEP_MS 10

struct event { handle device; ull type, data; unsigned gi, ci; };

struct set {
    int told[MOST_GPUS]; /* how many of a GPU's rules are told; -1: it is not watched */
};

int nvmlEventSetCreate(handle *out)
{
    struct set *set = malloc(sizeof *set);
    if (!set)
        return 23;
    for (int gpu = 0; gpu < MOST_GPUS; gpu++)
        set->told[gpu] = -1;
    *out = set;
    return OK;
}

int nvmlEventSetFree(handle set)
{
    free(set);
    return OK;
}

int nvmlDeviceGetSupportedEventTypes(handle device, ull *out)
{
    *out = XID;
    return sim_gate(device, "events");
}

int nvmlDeviceRegisterEvents(handle device, ull types, struct set *set)
{
    int code = sim_gate(device, "events"), gpu = gpu_of(device);
    if (code || gpu >= MOST_GPUS)
        return code ? code : INVALID;
    if (types & XID)
        set->told[gpu] = sim_count(gpu, "xid");
    return OK;
}

static int next(struct set *set, struct event *out)
{
    int count = sim_gpus();
    for (int gpu = 0; gpu < count; gpu++) {
        int there = sim_count(gpu, "xid");
        if (set->told[gpu] > there)
            set->told[gpu] = there; /* rules were taken away */
        if (set->told[gpu] < 0 || set->told[gpu] == there)
            continue;
        *out = (struct event){make(gpu, -1), XID, strtoull(sim_nth(gpu, "xid", set->told[gpu]), NULL, 10), ~0U, ~0U};
        set->told[gpu]++;
        return 1;
    }
    return 0;
}

int nvmlEventSetWait_v2(struct set *set, struct event *out, unsigned timeout_ms)
{
    for (unsigned waited = 0;; waited += STEP_MS) {
        sim_load();
        int down = (int)sim_number(MACHINE, "down", OK);
        if (down)
            return down;
        if (next(set, out))
            return OK;
        if (waited >= timeout_ms)
            return TIMEOUT;
        usleep(STEP_MS * 1000);
    }
}

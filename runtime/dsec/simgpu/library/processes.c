/* Who holds a GPU: processes that the scenario names, and real ones. */

#include "answers.h"

#include <stdio.h>
#include <string.h>

#define MOST_HOLDERS 1024
#define NOT_SAID (~0ULL)

struct process { unsigned pid; ull used; unsigned gi, ci; };
struct process_v1 { unsigned pid; ull used; };

/* All that hold the device; those of an instance are the ones whose rule or mask names it. */
static int all(handle device, const char *key, struct process *out, int most)
{
    static __thread struct holder held[MOST_HOLDERS];
    int gpu = gpu_of(device), wanted = instance_of(device), count = 0;
    for (int at = 0; at < sim_count(gpu, key) && count < most; at++) {
        long pid = 0, mib = 0;
        int instance = -1;
        sscanf(sim_nth(gpu, key, at), "%ld %ld %d", &pid, &mib, &instance);
        if (wanted >= 0 && instance != wanted)
            continue;
        out[count++] = (struct process){(unsigned)pid, mib < 0 ? NOT_SAID : (ull)mib * MIB, (unsigned)instance,
                                        instance < 0 ? ~0U : 0};
    }
    int more = strcmp(key, "pid") ? 0 : sim_holders(gpu, held, MOST_HOLDERS);
    int told = (int)sim_number(gpu, "told", 1); /* `told 0`: who, but not how much, as under Windows */
    for (int at = 0; at < more && count < most; at++) {
        if (wanted >= 0 && held[at].instance != wanted)
            continue;
        out[count++] = (struct process){held[at].pid, told ? (ull)held[at].mib * MIB : NOT_SAID,
                                        (unsigned)held[at].instance, held[at].instance < 0 ? ~0U : 0};
    }
    return count;
}

static int list(handle device, const char *key, unsigned *room, struct process *out)
{
    static __thread struct process found[MOST_HOLDERS];
    int code = sim_gate(device, "processes");
    if (code)
        return code;
    unsigned have = (unsigned)all(device, key, found, MOST_HOLDERS);
    unsigned fits = out ? *room : 0;
    *room = have;
    if (have > fits)
        return TOO_SMALL;
    for (unsigned at = 0; at < have; at++)
        out[at] = found[at];
    return OK;
}

#define LISTED(version)                                                                                    \
    int nvmlDeviceGetComputeRunningProcesses##version(handle device, unsigned *count, struct process *out) \
    {                                                                                                      \
        return list(device, "pid", count, out);                                                            \
    }                                                                                                      \
    int nvmlDeviceGetGraphicsRunningProcesses##version(handle device, unsigned *count, struct process *out) \
    {                                                                                                      \
        return list(device, "graphics_pid", count, out);                                                   \
    }                                                                                                      \
    int nvmlDeviceGetMPSComputeRunningProcesses##version(handle device, unsigned *count,                   \
                                                         struct process *out)                              \
    {                                                                                                      \
        return list(device, "mps_pid", count, out);                                                        \
    }

#if !OLD_DRIVER
LISTED(_v3)
#endif
#if OLD_DRIVER < 2
LISTED(_v2)
#endif

static int list_v1(handle device, const char *key, unsigned *room, struct process_v1 *out)
{
    static __thread struct process found[MOST_HOLDERS];
    unsigned fits = out ? *room : 0;
    *room = fits < MOST_HOLDERS ? fits : MOST_HOLDERS;
    int code = list(device, key, room, found);
    for (unsigned at = 0; !code && at < *room; at++)
        out[at] = (struct process_v1){found[at].pid, found[at].used};
    return code;
}

int nvmlDeviceGetComputeRunningProcesses(handle device, unsigned *count, struct process_v1 *out)
{
    return list_v1(device, "pid", count, out);
}

int nvmlDeviceGetGraphicsRunningProcesses(handle device, unsigned *count, struct process_v1 *out)
{
    return list_v1(device, "graphics_pid", count, out);
}

int nvmlDeviceGetProcessUtilization(handle device, void *out, unsigned *count, ull since)
{
    int code = sim_gate(device, "processes");
    (void)out;
    (void)since;
    *count = 0;
    return code ? code : NOT_FOUND;
}

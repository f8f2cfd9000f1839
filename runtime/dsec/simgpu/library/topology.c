/* How GPUs reach each other and the processors, and their MIG instances. */

#include "answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int peer_of(int gpu, unsigned link)
{
    int other, count, from = 0;
    for (int at = 0; at < sim_count(gpu, "peer"); at++)
        if (sscanf(sim_nth(gpu, "peer", at), "%d %d", &other, &count) == 2) {
            if ((int)link < from + count)
                return other;
            from += count;
        }
    return (int)link < from + sim_number(gpu, "switch", 0) ? -1 : -2;
}

int nvmlDeviceGetNvLinkState(handle device, unsigned link, unsigned *out)
{
    int code = sim_gate(device, "nvlink"), gpu = gpu_of(device);
    if (code)
        return code;
    if (!sim_find(gpu, "peer") && !sim_find(gpu, "switch"))
        return NOT_SUPPORTED;
    if (link >= 18)
        return INVALID;
    *out = peer_of(gpu, link) > -2;
    return OK;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(handle device, unsigned link, unsigned *out)
{
    *out = peer_of(gpu_of(device), link) < 0 ? 2 : 0;
    return sim_gate(device, "nvlink");
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(handle device, unsigned link, struct pci *out)
{
    int code = sim_gate(device, "nvlink"), other = peer_of(gpu_of(device), link);
    if (code || other < 0)
        return code ? code : NOT_SUPPORTED;
    sim_pci(other, out);
    return OK;
}

int nvmlDeviceGetTopologyCommonAncestor(handle one, handle two, int *out)
{
    int code = sim_gate(one, "topology"), gpu = gpu_of(one), found = 0, level;
    char other[16];
    if (code)
        return code;
    for (int at = 0; at < sim_count(gpu, "level"); at++)
        if (sscanf(sim_nth(gpu, "level", at), "%15s %d", other, &level) == 2 &&
            (other[0] == '*' || atoi(other) == gpu_of(two))) {
            *out = level;
            found = 1;
        }
    return found ? OK : NOT_SUPPORTED;
}

int nvmlDeviceGetP2PStatus(handle one, handle two, int index, int *out)
{
    (void)two;
    (void)index;
    *out = 0;
    return sim_gate(one, "p2p");
}

int nvmlDeviceGetCpuAffinity(handle device, unsigned words, unsigned long *out)
{
    int code = sim_gate(device, "cpus"), low, high;
    const char *text = sim_find(gpu_of(device), "cpus");
    if (code)
        return code;
    if (!text || sscanf(text, "%d-%d", &low, &high) != 2)
        return NOT_SUPPORTED;
    for (int cpu = 0; cpu < (int)words * 64; cpu++) {
        if (cpu % 64 == 0)
            out[cpu / 64] = 0;
        if (cpu >= low && cpu <= high)
            out[cpu / 64] |= 1UL << cpu % 64;
    }
    return OK;
}

int nvmlDeviceGetMigMode(handle device, unsigned *current, unsigned *pending)
{
    int code = sim_scalar(device, "mig", current);
    *pending = code ? 0 : *current;
    return code;
}

int nvmlDeviceGetMaxMigDeviceCount(handle device, unsigned *out)
{
    *out = sim_number(gpu_of(device), "mig", 0) ? 7 : 0;
    return sim_gate(device, "mig");
}

int nvmlDeviceGetMigDeviceHandleByIndex(handle device, unsigned index, handle *out)
{
    int code = sim_gate(device, "mig"), gpu = gpu_of(device);
    if (code)
        return code;
    if (!sim_nth(gpu, "instance", (int)index)[0])
        return NOT_FOUND;
    *out = make(gpu, (int)index);
    return OK;
}

int nvmlDeviceIsMigDeviceHandle(handle device, unsigned *out)
{
    *out = instance_of(device) >= 0;
    return OK;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle device, handle *out)
{
    *out = make(gpu_of(device), -1);
    return OK;
}

int nvmlDeviceGetGpuInstanceId(handle device, unsigned *out)
{
    *out = (unsigned)instance_of(device);
    return OK;
}

int nvmlDeviceGetComputeInstanceId(handle device, unsigned *out)
{
    (void)device;
    *out = 0;
    return OK;
}

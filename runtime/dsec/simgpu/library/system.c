/* Start and end, the driver, which GPUs there are, and what they are called.
 *
 * Compiled with -DOLD_DRIVER=1 the library lacks what drivers before R535 lack, with =2 also what
 * those before R450 lack.
 */

#include "answers.h"

#include <stdio.h>
#include <string.h>

static int started;

int sim_started(void) { return started > 0; }

int sim_scalar(handle device, const char *key, unsigned *out)
{
    int code = sim_gate(device, key);
    if (code)
        return code;
    if (!sim_find(gpu_of(device), key) || instance_of(device) >= 0)
        return NOT_SUPPORTED;
    *out = (unsigned)sim_number(gpu_of(device), key, 0);
    return OK;
}

int sim_string(const char *text, char *out, unsigned size)
{
    if (strlen(text) + 1 > size)
        return TOO_SMALL;
    strcpy(out, text);
    return OK;
}

int nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    sim_load();
    int code = (int)sim_number(MACHINE, "init", OK);
    started += !code;
    return code;
}

int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlInit(void) { return nvmlInitWithFlags(0); }

int nvmlShutdown(void)
{
    if (!started)
        return UNINITIALIZED;
    started--;
    return OK;
}

const char *nvmlErrorString(int code)
{
    static char text[48];
    snprintf(text, sizeof text, "simulated error %d", code);
    return text;
}

int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    sim_load();
    const char *text = sim_find(MACHINE, "driver");
    return sim_string(text ? text : "550.54.14", out, size);
}

int nvmlSystemGetNVMLVersion(char *out, unsigned size) { return sim_string("12.550.54", out, size); }

int nvmlSystemGetCudaDriverVersion(int *out)
{
    *out = 12040;
    return OK;
}

int nvmlSystemGetCudaDriverVersion_v2(int *out) { return nvmlSystemGetCudaDriverVersion(out); }

int nvmlSystemGetProcessName(unsigned pid, char *out, unsigned size)
{
    char path[64], name[64] = "";
    snprintf(path, sizeof path, "/proc/%u/comm", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return NOT_FOUND;
    if (!fgets(name, sizeof name, file))
        name[0] = 0;
    fclose(file);
    name[strcspn(name, "\n")] = 0;
    return sim_string(name, out, size);
}

/* What every question about the machine begins with. */
static int machine(void)
{
    sim_load();
    int down = (int)sim_number(MACHINE, "down", OK);
    return down ? down : started ? OK : UNINITIALIZED;
}

int nvmlDeviceGetCount_v2(unsigned *out)
{
    int code = machine();
    if (!code)
        code = (int)sim_number(MACHINE, "count_error", OK);
    *out = code ? 0 : (unsigned)sim_gpus();
    return code;
}

int nvmlDeviceGetCount(unsigned *out) { return nvmlDeviceGetCount_v2(out); }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, handle *out)
{
    int code = machine();
    if (code)
        return code;
    if (index >= (unsigned)sim_gpus())
        return INVALID;
    if (sim_number((int)index, "lost", 0) == 1)
        return LOST;
    *out = make((int)index, -1);
    return (int)sim_number((int)index, "handle_error", OK);
}

int nvmlDeviceGetHandleByIndex(unsigned index, handle *out) { return nvmlDeviceGetHandleByIndex_v2(index, out); }

int nvmlDeviceGetHandleByUUID(const char *uuid, handle *out)
{
    int code = machine(), count = sim_gpus();
    if (code)
        return code;
    for (int gpu = 0; gpu < count; gpu++)
        for (int instance = -1; instance < sim_count(gpu, "instance"); instance++) {
            char text[64];
            sim_uuid(make(gpu, instance), text, sizeof text);
            if (!strcmp(text, uuid)) {
                *out = make(gpu, instance);
                return sim_number(gpu, "lost", 0) == 1 ? LOST : OK;
            }
        }
    return NOT_FOUND;
}

int nvmlDeviceGetUUID(handle device, char *out, unsigned size)
{
    int code = sim_gate(device, "uuid");
    char text[64];
    sim_uuid(device, text, sizeof text);
    return code ? code : sim_string(text, out, size);
}

int nvmlDeviceGetName(handle device, char *out, unsigned size)
{
    int code = sim_gate(device, "name");
    const char *name = sim_find(gpu_of(device), "name");
    char text[256], profile[32] = "";
    if (code)
        return code;
    if (instance_of(device) < 0)
        return sim_string(name ? name : "NVIDIA Simulated", out, size);
    sscanf(sim_nth(gpu_of(device), "instance", instance_of(device)), "%31s", profile);
    snprintf(text, sizeof text, "%s MIG %s", name ? name : "NVIDIA Simulated", profile);
    return sim_string(text, out, size);
}

void sim_pci(int gpu, struct pci *out)
{
    memset(out, 0, sizeof *out);
    out->bus = (unsigned)gpu + 1;
    snprintf(out->legacy, sizeof out->legacy, "0000:%02X:00.0", (gpu + 1) & 0xff);
    snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", gpu + 1);
}

int nvmlDeviceGetPciInfo_v3(handle device, struct pci *out)
{
    int code = sim_gate(device, "pci");
    sim_pci(gpu_of(device), out);
    return code;
}

int nvmlDeviceGetIndex(handle device, unsigned *out)
{
    *out = (unsigned)gpu_of(device);
    return sim_gate(device, "index");
}

int nvmlDeviceGetSerial(handle device, char *out, unsigned size)
{
    int code = sim_gate(device, "serial");
    return code ? code : sim_string("0000000000000", out, size);
}

int nvmlDeviceGetVbiosVersion(handle device, char *out, unsigned size)
{
    int code = sim_gate(device, "vbios");
    return code ? code : sim_string("00.00.00.00.00", out, size);
}

int nvmlDeviceGetMinorNumber(handle device, unsigned *out)
{
    *out = (unsigned)gpu_of(device);
    return sim_gate(device, "minor");
}

SCALAR(nvmlDeviceGetNumaNodeId, "numa")
SCALAR(nvmlDeviceGetBrand, "brand")
SCALAR(nvmlDeviceGetArchitecture, "architecture")
PAIR(nvmlDeviceGetCudaComputeCapability, "capability")
PAIR(nvmlDeviceGetDriverModel, "driver_model")
PAIR(nvmlDeviceGetDriverModel_v2, "driver_model")

/* What a GPU measures of itself. */

#include "answers.h"

#include <stdio.h>
#include <string.h>

struct memory_v1 { ull total, free, used; };
struct memory_v2 { unsigned version; ull total, reserved, free, used; };

#define MOST_HOLDERS 256

/* MiB in use: a rule's, else what processes of the scenario have, and always what real holders have. */
static long used_mib(int gpu)
{
    static const char *kinds[] = {"pid", "graphics_pid"};
    struct holder held[MOST_HOLDERS];
    long mib = sim_number(gpu, "used", 0), one;
    for (int kind = 0; kind < 2 && !sim_find(gpu, "used"); kind++)
        for (int at = 0; at < sim_count(gpu, kinds[kind]); at++)
            if (sscanf(sim_nth(gpu, kinds[kind], at), "%*d %ld", &one) == 1 && one > 0)
                mib += one;
    int count = sim_holders(gpu, held, MOST_HOLDERS);
    for (int at = 0; at < count; at++)
        mib += held[at].mib;
    return mib;
}

static long used_of_instance(int gpu, int instance)
{
    struct holder held[MOST_HOLDERS];
    int count = sim_holders(gpu, held, MOST_HOLDERS);
    long mib = 0;
    for (int at = 0; at < count; at++)
        mib += held[at].instance == instance ? held[at].mib : 0;
    return mib;
}

static int fill_memory(handle device, struct memory_v2 *out)
{
    int code = sim_gate(device, "memory"), gpu = gpu_of(device), instance = instance_of(device);
    long total = sim_number(gpu, "total", 0), reserved = sim_number(gpu, "reserved", 0), used;
    if (code)
        return code;
    if (instance >= 0) {
        if (sscanf(sim_nth(gpu, "instance", instance), "%*s %ld", &total) != 1)
            return NOT_SUPPORTED;
        reserved = 0;
        used = used_of_instance(gpu, instance);
    } else {
        if (!sim_find(gpu, "total"))
            return NOT_SUPPORTED;
        used = used_mib(gpu);
    }
    if (used > total - reserved)
        used = total - reserved;
    out->total = (ull)total * MIB;
    out->reserved = (ull)reserved * MIB;
    out->used = (ull)used * MIB;
    out->free = out->total - out->reserved - out->used;
    return OK;
}

int nvmlDeviceGetMemoryInfo(handle device, struct memory_v1 *out)
{
    struct memory_v2 full;
    int code = fill_memory(device, &full);
    if (code)
        return code;
    out->total = full.total;
    out->free = full.free;
    out->used = full.used + full.reserved; /* version 1 counts what the driver keeps as used */
    return OK;
}

#if !OLD_DRIVER
int nvmlDeviceGetMemoryInfo_v2(handle device, struct memory_v2 *out)
{
    if (out->version != 0x02000028)
        return VERSION_MISMATCH;
    return fill_memory(device, out);
}

struct temperature { unsigned version, sensor; int value; };

int nvmlDeviceGetTemperatureV(handle device, struct temperature *out)
{
    unsigned value = 0;
    if (out->version != 0x0100000C)
        return VERSION_MISMATCH;
    int code = sim_scalar(device, "temperature", &value);
    out->value = (int)value;
    return code;
}

#endif

int nvmlDeviceGetTemperature(handle device, unsigned sensor, unsigned *out)
{
    (void)sensor;
    int code = sim_gate(device, "plain_temperature"); /* `error plain_temperature 13`: only the versioned call */
    return code ? code : sim_scalar(device, "temperature", out);
}

int nvmlDeviceGetBAR1MemoryInfo(handle device, struct memory_v1 *out)
{
    int code = sim_gate(device, "bar1");
    if (code)
        return code;
    out->total = 131072 * MIB;
    out->used = MIB;
    out->free = out->total - out->used;
    return OK;
}

int nvmlDeviceGetUtilizationRates(handle device, unsigned *out)
{
    int code = sim_scalar(device, "utilization", &out[0]);
    if (code)
        return code;
    if (!strcmp(sim_find(gpu_of(device), "utilization"), "holders"))
        out[0] = (unsigned)sim_holders_busy(gpu_of(device));
    return sim_scalar(device, "memory_utilization", &out[1]) ? (out[1] = 0, OK) : OK;
}

SCALAR_OF(nvmlDeviceGetTemperatureThreshold, "threshold")
SCALAR(nvmlDeviceGetPowerUsage, "power")
SCALAR(nvmlDeviceGetEnforcedPowerLimit, "power_limit")
SCALAR(nvmlDeviceGetPowerManagementLimit, "power_limit")
SCALAR(nvmlDeviceGetPowerManagementDefaultLimit, "power_limit")
SCALAR(nvmlDeviceGetPowerManagementMode, "power_mode")
SCALAR(nvmlDeviceGetFanSpeed, "fan")
SCALAR_OF(nvmlDeviceGetFanSpeed_v2, "fan")
SCALAR(nvmlDeviceGetNumFans, "fans")
SCALAR_OF(nvmlDeviceGetClockInfo, "clock")
SCALAR_OF(nvmlDeviceGetMaxClockInfo, "max_clock")
SCALAR(nvmlDeviceGetPerformanceState, "pstate")
SCALAR(nvmlDeviceGetPersistenceMode, "persistence")
SCALAR(nvmlDeviceGetComputeMode, "compute_mode")
SCALAR(nvmlDeviceGetDisplayActive, "display")
SCALAR(nvmlDeviceGetDisplayMode, "display")
PAIR(nvmlDeviceGetEccMode, "ecc")
PAIR(nvmlDeviceGetEncoderUtilization, "encoder")
PAIR(nvmlDeviceGetDecoderUtilization, "decoder")
SCALAR(nvmlDeviceGetCurrPcieLinkGeneration, "pcie_generation")
SCALAR(nvmlDeviceGetMaxPcieLinkGeneration, "pcie_generation")
SCALAR(nvmlDeviceGetCurrPcieLinkWidth, "pcie_width")
SCALAR(nvmlDeviceGetMaxPcieLinkWidth, "pcie_width")

int nvmlDeviceGetPcieThroughput(handle device, unsigned which, unsigned *out)
{
    return sim_scalar(device, which ? "pcie_rx" : "pcie_tx", out);
}

static int wide(handle device, const char *key, ull *out)
{
    unsigned value = 0;
    int code = sim_scalar(device, key, &value);
    *out = value;
    return code;
}

int nvmlDeviceGetTotalEccErrors(handle device, int type, int counter, ull *out)
{
    (void)counter;
    return wide(device, type ? "ecc_uncorrected" : "ecc_corrected", out);
}

int nvmlDeviceGetMemoryErrorCounter(handle device, int type, int counter, int place, ull *out)
{
    (void)place;
    return nvmlDeviceGetTotalEccErrors(device, type, counter, out);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(handle device, ull *out) { return wide(device, "throttle", out); }
#if !OLD_DRIVER
int nvmlDeviceGetCurrentClocksEventReasons(handle device, ull *out) { return wide(device, "throttle", out); }
#endif
int nvmlDeviceGetTotalEnergyConsumption(handle device, ull *out) { return wide(device, "energy", out); }

struct field {
    unsigned id, scope;
    long long at_us, took_us;
    int type, code;
    union { double real; unsigned whole; ull wide; } value;
};

/* Counters of what flows at the rates of the rules, KiB a second; PCIe counts bytes, and only where
 * a rule `pcie_counters 1` says that the card does. */
static int count(handle device, struct field *field)
{
    static const struct { unsigned id; const char *rate; ull unit; } counters[] = {
        {138, "nvlink_tx", 1}, {139, "nvlink_rx", 1}, {197, "pcie_tx", 1024}, {198, "pcie_rx", 1024},
    };
    for (size_t at = 0; at < sizeof counters / sizeof *counters; at++)
        if (counters[at].id == field->id) {
            unsigned rate = 0;
            if (field->id > 139 && !sim_number(gpu_of(device), "pcie_counters", 0))
                return NOT_SUPPORTED;
            int code = sim_scalar(device, counters[at].rate, &rate);
            field->type = 3;
            field->value.wide = (ull)rate * counters[at].unit * (ull)sim_now() / 1000;
            return code;
        }
    return NOT_SUPPORTED;
}

int nvmlDeviceGetFieldValues(handle device, int many, struct field *fields)
{
    int code = sim_gate(device, "fields");
    for (int at = 0; at < many && !code; at++) {
        fields[at].at_us = sim_now() * 1000;
        fields[at].took_us = 0;
        fields[at].code = count(device, &fields[at]);
    }
    return code;
}

/* A libnvidia-ml.so.1 for tests: answers what a scenario file says.
 *
 * DSEC_FAKE_NVML names the file; it is read again whenever it changes, so a GPU can be lost in
 * mid-run. One rule a line, the last one that matches wins, `*` is every GPU:
 *
 *     init 18                          nvmlInit returns 18; also `crash 1` and `hang 1`
 *     driver 550.54.14
 *     count 8
 *     gpu * name NVIDIA H100 80GB HBM3
 *     gpu * total 81559                MiB; also reserved, used, temperature, power, ...
 *     gpu 3 lost 1                     1: no handle; 2: a handle that answers nothing
 *     gpu 2 error memory 3             asking for the memory returns 3
 *     gpu * switch 18                  NVLinks to a switch
 *     gpu 0 peer 1 4                   4 NVLinks to GPU 1
 *     gpu 0 level 1 10                 common ancestor with GPU 1 (NVML's level numbers)
 *     gpu 0 cpus 0-15                  processors near the GPU
 *     gpu 0 mig 1                      MIG mode
 *     gpu 0 instance 3g.40gb 40448     an instance and its MiB
 *     gpu 0 pid 4711 1024              a compute process and its MiB (-1: not available)
 *
 * Anything that no rule answers is NVML_ERROR_NOT_SUPPORTED. Compiled with -DOLD_DRIVER it lacks
 * the versioned calls that drivers before R535 lack.
 */

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OK 0
#define INVALID 2
#define NOT_SUPPORTED 3
#define NOT_FOUND 6
#define TOO_SMALL 7
#define LOST 15
#define UNKNOWN 999
#define MAX_RULES 4096
#define MIB (1024ULL * 1024ULL)

typedef unsigned long long ull;
typedef void *handle;

struct rule {
    int gpu; /* -1: every one, -2: the machine */
    char key[32];
    char text[96];
};

static struct rule rules[MAX_RULES];
static int rule_count;
static struct stat seen;

static void load(void)
{
    const char *path = getenv("DSEC_FAKE_NVML");
    struct stat now;
    if (!path || stat(path, &now) != 0)
        return;
    if (now.st_mtim.tv_sec == seen.st_mtim.tv_sec && now.st_mtim.tv_nsec == seen.st_mtim.tv_nsec &&
        now.st_size == seen.st_size && now.st_ino == seen.st_ino)
        return;
    FILE *file = fopen(path, "r");
    if (!file)
        return;
    seen = now;
    rule_count = 0;
    char line[256];
    while (fgets(line, sizeof line, file) && rule_count < MAX_RULES) {
        struct rule *rule = &rules[rule_count];
        char which[16];
        memset(rule, 0, sizeof *rule);
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '#' || !line[0])
            continue;
        if (sscanf(line, "gpu %15s %31s %95[^\n]", which, rule->key, rule->text) == 3)
            rule->gpu = which[0] == '*' ? -1 : atoi(which);
        else if (sscanf(line, "%31s %95[^\n]", rule->key, rule->text) == 2)
            rule->gpu = -2;
        else
            continue;
        rule_count++;
    }
    fclose(file);
}

static const char *find(int gpu, const char *key)
{
    for (int at = rule_count - 1; at >= 0; at--)
        if ((rules[at].gpu == gpu || (rules[at].gpu == -1 && gpu >= 0)) && !strcmp(rules[at].key, key))
            return rules[at].text;
    return NULL;
}

static int number(int gpu, const char *key, long fallback)
{
    const char *text = find(gpu, key);
    return text ? atoi(text) : fallback;
}

/* A handle is the GPU's number from 1; MIG instances carry theirs, from 1, above bit 16. */
static int gpu_of(handle device) { return (int)((uintptr_t)device & 0xffff) - 1; }
static int instance_of(handle device) { return (int)((uintptr_t)device >> 16) - 1; }
static handle make(int gpu, int instance) { return (handle)(uintptr_t)((gpu + 1) | ((instance + 1) << 16)); }

/* The n-th rule of a GPU with this key, in file order; "" past the end. */
static const char *nth(int gpu, const char *key, int n)
{
    for (int at = 0; at < rule_count; at++)
        if ((rules[at].gpu == gpu || rules[at].gpu == -1) && !strcmp(rules[at].key, key) && n-- == 0)
            return rules[at].text;
    return "";
}

/* What stands before every answer: lost GPUs and the errors of single questions. */
static int gate(handle device, const char *key)
{
    load();
    int gpu = gpu_of(device);
    if (number(gpu, "lost", 0))
        return LOST;
    for (int at = rule_count - 1; at >= 0; at--) {
        char wanted[32];
        int code;
        if ((rules[at].gpu == gpu || rules[at].gpu == -1) && !strcmp(rules[at].key, "error") &&
            sscanf(rules[at].text, "%31s %d", wanted, &code) == 2 && !strcmp(wanted, key))
            return code;
    }
    return OK;
}

static int scalar(handle device, const char *key, unsigned *out)
{
    int code = gate(device, key);
    const char *text = find(gpu_of(device), key);
    if (code)
        return code;
    if (!text || instance_of(device) >= 0)
        return NOT_SUPPORTED;
    *out = (unsigned)strtoul(text, NULL, 10);
    return OK;
}

static int string(const char *text, char *out, unsigned size)
{
    if (strlen(text) + 1 > size)
        return TOO_SMALL;
    strcpy(out, text);
    return OK;
}

#define SCALAR(symbol, key)                                                                        \
    int symbol(handle device, unsigned *out) { return scalar(device, key, out); }
#define SCALAR_OF(symbol, key)                                                                     \
    int symbol(handle device, unsigned which, unsigned *out) { (void)which; return scalar(device, key, out); }
#define PAIR(symbol, key)                                                                          \
    int symbol(handle device, unsigned *one, unsigned *two)                                        \
    {                                                                                              \
        int code = scalar(device, key, one);                                                       \
        *two = code ? 0 : *one;                                                                    \
        return code;                                                                               \
    }

int nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    load();
    if (number(-2, "crash", 0))
        raise(SIGSEGV);
    if (number(-2, "hang", 0))
        sleep(60);
    return number(-2, "init", OK);
}

int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { (void)code; return "an error of the fake"; }

int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
    load();
    const char *text = find(-2, "driver");
    return string(text ? text : "550.54.14", out, size);
}

int nvmlSystemGetNVMLVersion(char *out, unsigned size) { return string("12.550.54", out, size); }
int nvmlSystemGetCudaDriverVersion(int *out) { *out = 12040; return OK; }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { *out = 12040; return OK; }
int nvmlSystemGetProcessName(unsigned pid, char *out, unsigned size)
{
    (void)pid;
    return string("python", out, size);
}

int nvmlDeviceGetCount_v2(unsigned *out)
{
    load();
    int code = number(-2, "count_error", OK);
    *out = code ? 0 : (unsigned)number(-2, "count", 0);
    return code;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, handle *out)
{
    load();
    if ((int)index >= number(-2, "count", 0))
        return INVALID;
    if (number((int)index, "lost", 0) == 1)
        return LOST;
    *out = make((int)index, -1);
    return number((int)index, "handle_error", OK);
}

static void uuid_text(handle device, char *out, size_t size)
{
    int gpu = gpu_of(device), instance = instance_of(device);
    if (instance < 0)
        snprintf(out, size, "GPU-%08x-0000-4000-8000-%012x", gpu + 0xa0, gpu);
    else
        snprintf(out, size, "MIG-%08x-0000-4000-8000-%012x", gpu + 0xa0, instance);
}

int nvmlDeviceGetUUID(handle device, char *out, unsigned size)
{
    int code = gate(device, "uuid");
    char text[64];
    uuid_text(device, text, sizeof text);
    return code ? code : string(text, out, size);
}

int nvmlDeviceGetHandleByUUID(const char *uuid, handle *out)
{
    load();
    int count = number(-2, "count", 0);
    for (int gpu = 0; gpu < count; gpu++)
        for (int instance = -1; instance < 8; instance++) {
            char text[64];
            uuid_text(make(gpu, instance), text, sizeof text);
            if (!strcmp(text, uuid)) {
                *out = make(gpu, instance);
                return number(gpu, "lost", 0) == 1 ? LOST : OK;
            }
        }
    return NOT_FOUND;
}

int nvmlDeviceGetName(handle device, char *out, unsigned size)
{
    int code = gate(device, "name");
    const char *name = find(gpu_of(device), "name");
    char text[160];
    if (code)
        return code;
    if (instance_of(device) < 0)
        return string(name ? name : "NVIDIA Fake", out, size);
    char profile[32] = "";
    sscanf(nth(gpu_of(device), "instance", instance_of(device)), "%31s", profile);
    snprintf(text, sizeof text, "%s MIG %s", name ? name : "NVIDIA Fake", profile);
    return string(text, out, size);
}

struct pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
};

static void fill_pci(int gpu, struct pci *out)
{
    memset(out, 0, sizeof *out);
    out->bus = (unsigned)gpu + 1;
    snprintf(out->legacy, sizeof out->legacy, "0000:%02X:00.0", (gpu + 1) & 0xff);
    snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", gpu + 1);
}

#ifndef OLD_DRIVER
int nvmlDeviceGetPciInfo_v3(handle device, struct pci *out)
{
    int code = gate(device, "pci");
    fill_pci(gpu_of(device), out);
    return code;
}
#endif

int nvmlDeviceGetIndex(handle device, unsigned *out)
{
    *out = (unsigned)gpu_of(device);
    return gate(device, "index");
}

int nvmlDeviceGetSerial(handle device, char *out, unsigned size)
{
    int code = gate(device, "serial");
    return code ? code : string("0000000000000", out, size);
}

SCALAR(nvmlDeviceGetMinorNumber, "minor")
SCALAR(nvmlDeviceGetNumaNodeId, "numa")
SCALAR(nvmlDeviceGetBrand, "brand")
SCALAR(nvmlDeviceGetArchitecture, "architecture")
PAIR(nvmlDeviceGetCudaComputeCapability, "capability")

struct memory_v1 { ull total, free, used; };
struct memory_v2 { unsigned version; ull total, reserved, free, used; };

static int fill_memory(handle device, struct memory_v2 *out)
{
    int code = gate(device, "memory"), gpu = gpu_of(device), instance = instance_of(device);
    char profile[32];
    long mib = 0;
    if (code)
        return code;
    if (instance >= 0) {
        if (sscanf(nth(gpu, "instance", instance), "%31s %ld", profile, &mib) != 2)
            return NOT_SUPPORTED;
        out->total = (ull)mib * MIB;
        out->reserved = 0;
        out->used = 0;
    } else {
        if (!find(gpu, "total"))
            return NOT_SUPPORTED;
        out->total = (ull)number(gpu, "total", 0) * MIB;
        out->reserved = (ull)number(gpu, "reserved", 0) * MIB;
        out->used = (ull)number(gpu, "used", 0) * MIB;
    }
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

#ifndef OLD_DRIVER
int nvmlDeviceGetMemoryInfo_v2(handle device, struct memory_v2 *out)
{
    if (out->version != 0x02000028)
        return 25;
    return fill_memory(device, out);
}
#endif

int nvmlDeviceGetBAR1MemoryInfo(handle device, struct memory_v1 *out)
{
    int code = gate(device, "bar1");
    if (code)
        return code;
    out->total = 131072 * MIB;
    out->used = MIB;
    out->free = out->total - out->used;
    return OK;
}

int nvmlDeviceGetUtilizationRates(handle device, unsigned *out)
{
    int code = scalar(device, "utilization", &out[0]);
    if (code)
        return code;
    return scalar(device, "memory_utilization", &out[1]) ? (out[1] = 0, OK) : OK;
}

SCALAR_OF(nvmlDeviceGetTemperature, "temperature")
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
SCALAR_OF(nvmlDeviceGetPcieThroughput, "pcie_throughput")

static int wide(handle device, const char *key, ull *out)
{
    unsigned value = 0;
    int code = scalar(device, key, &value);
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
int nvmlDeviceGetCurrentClocksEventReasons(handle device, ull *out) { return wide(device, "throttle", out); }
int nvmlDeviceGetTotalEnergyConsumption(handle device, ull *out) { return wide(device, "energy", out); }

static int peer_of(int gpu, unsigned link)
{
    int other, count, from = 0;
    for (int at = 0; at < rule_count; at++)
        if (rules[at].gpu == gpu && !strcmp(rules[at].key, "peer") &&
            sscanf(rules[at].text, "%d %d", &other, &count) == 2) {
            if ((int)link < from + count)
                return other;
            from += count;
        }
    return (int)link < from + number(gpu, "switch", 0) ? -1 : -2;
}

int nvmlDeviceGetNvLinkState(handle device, unsigned link, unsigned *out)
{
    int code = gate(device, "nvlink"), gpu = gpu_of(device);
    if (code)
        return code;
    if (!find(gpu, "peer") && !find(gpu, "switch"))
        return NOT_SUPPORTED;
    if (link >= 18)
        return INVALID;
    *out = peer_of(gpu, link) > -2;
    return OK;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(handle device, unsigned link, unsigned *out)
{
    *out = peer_of(gpu_of(device), link) < 0 ? 2 : 0;
    return gate(device, "nvlink");
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(handle device, unsigned link, struct pci *out)
{
    int code = gate(device, "nvlink"), other = peer_of(gpu_of(device), link);
    if (code || other < 0)
        return code ? code : NOT_SUPPORTED;
    fill_pci(other, out);
    return OK;
}

int nvmlDeviceGetTopologyCommonAncestor(handle one, handle two, int *out)
{
    int code = gate(one, "topology"), low = gpu_of(one), high = gpu_of(two);
    if (code)
        return code;
    for (int at = rule_count - 1; at >= 0; at--) {
        char other[16];
        int level;
        if ((rules[at].gpu == low || rules[at].gpu == -1) && !strcmp(rules[at].key, "level") &&
            sscanf(rules[at].text, "%15s %d", other, &level) == 2 && (other[0] == '*' || atoi(other) == high)) {
            *out = level;
            return OK;
        }
    }
    return NOT_SUPPORTED;
}

int nvmlDeviceGetP2PStatus(handle one, handle two, int index, int *out)
{
    (void)two;
    (void)index;
    *out = 0;
    return gate(one, "p2p");
}

int nvmlDeviceGetCpuAffinity(handle device, unsigned words, unsigned long *out)
{
    int code = gate(device, "cpus"), low, high;
    const char *text = find(gpu_of(device), "cpus");
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
    int code = scalar(device, "mig", current);
    *pending = code ? 0 : *current;
    return code;
}

int nvmlDeviceGetMaxMigDeviceCount(handle device, unsigned *out)
{
    *out = number(gpu_of(device), "mig", 0) ? 7 : 0;
    return gate(device, "mig");
}

int nvmlDeviceGetMigDeviceHandleByIndex(handle device, unsigned index, handle *out)
{
    int code = gate(device, "mig"), gpu = gpu_of(device);
    if (code)
        return code;
    if (!nth(gpu, "instance", (int)index)[0])
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

int nvmlDeviceGetGpuInstanceId(handle device, unsigned *out) { *out = (unsigned)instance_of(device); return OK; }
int nvmlDeviceGetComputeInstanceId(handle device, unsigned *out) { (void)device; *out = 0; return OK; }

struct process { unsigned pid; ull used; unsigned gi, ci; };

static int processes(handle device, const char *key, unsigned *count, struct process *out)
{
    int code = gate(device, "processes"), gpu = gpu_of(device);
    unsigned have = 0;
    long pid, mib;
    if (code)
        return code;
    while (nth(gpu, key, (int)have)[0])
        have++;
    if (have > 0 && (!out || *count < have)) {
        *count = have;
        return TOO_SMALL;
    }
    for (unsigned at = 0; at < have; at++) {
        sscanf(nth(gpu, key, (int)at), "%ld %ld", &pid, &mib);
        out[at].pid = (unsigned)pid;
        out[at].used = mib < 0 ? ~0ULL : (ull)mib * MIB;
        out[at].gi = out[at].ci = ~0U;
    }
    *count = have;
    return OK;
}

int nvmlDeviceGetComputeRunningProcesses_v2(handle device, unsigned *count, struct process *out)
{
    return processes(device, "pid", count, out);
}

int nvmlDeviceGetGraphicsRunningProcesses_v2(handle device, unsigned *count, struct process *out)
{
    return processes(device, "graphics_pid", count, out);
}

#ifndef OLD_DRIVER
int nvmlDeviceGetComputeRunningProcesses_v3(handle device, unsigned *count, struct process *out)
{
    return processes(device, "pid", count, out);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(handle device, unsigned *count, struct process *out)
{
    return processes(device, "graphics_pid", count, out);
}
#endif

int nvmlDeviceGetProcessUtilization(handle device, void *out, unsigned *count, ull since)
{
    (void)out;
    (void)since;
    *count = 0;
    return gate(device, "processes") ? gate(device, "processes") : NOT_FOUND;
}

struct event { handle device; ull type, data; unsigned gi, ci; };

int nvmlEventSetCreate(handle *out) { *out = (handle)(uintptr_t)1; return OK; }
int nvmlEventSetFree(handle set) { (void)set; return OK; }

int nvmlDeviceGetSupportedEventTypes(handle device, ull *out)
{
    *out = 8; /* critical Xid */
    return gate(device, "events");
}

int nvmlDeviceRegisterEvents(handle device, ull types, handle set)
{
    (void)types;
    (void)set;
    return gate(device, "events");
}

int nvmlEventSetWait_v2(handle set, struct event *out, unsigned timeout_ms)
{
    (void)set;
    (void)timeout_ms;
    load();
    int count = number(-2, "count", 0);
    for (int gpu = 0; gpu < count; gpu++)
        if (find(gpu, "xid")) {
            memset(out, 0, sizeof *out);
            out->device = make(gpu, -1);
            out->type = 8;
            out->data = (ull)number(gpu, "xid", 0);
            return OK;
        }
    return 10; /* timeout */
}

/* Real processes as holders of simulated devices: those of this simulation whose mask names the device. */

#include "scenario.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_HELD 1024
#define MASK "CUDA_VISIBLE_DEVICES="
#define SCENARIO "SIM_GPU_SCENARIO="
#define OWN_MIB "SIM_GPU_MIB="
#define FRESH_MS 50
#define WINDOW_MS 1000

struct held {
    unsigned pid;
    int own_mib; /* what the process states of itself; -1: nothing */
    long rss_mib;
    ull ticks, began; /* ticks of use, and when it began, in ticks since the machine did */
    double busy;      /* percent */
    char mask[512];
};

struct snapshot {
    int count;
    long at_ms;
    struct held held[MAX_HELD];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct snapshot now, earlier;
static int scanned;
static const char *shells[] = {"sh", "bash", "dash", "ash", "zsh", "ksh"};

static long clock_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000L + time.tv_nsec / 1000000L;
}

static ssize_t contents(unsigned pid, const char *name, char *out, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/%s", pid, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = 0, got;
    if (file < 0)
        return -1;
    while (length < (ssize_t)size - 1 && (got = read(file, out + length, size - 1 - (size_t)length)) > 0)
        length += got;
    close(file);
    out[length] = 0;
    return length;
}

static const char *variable(const char *environment, ssize_t length, const char *start)
{
    size_t known = strlen(start);
    for (const char *at = environment; at < environment + length; at += strlen(at) + 1)
        if (!strncmp(at, start, known))
            return at + known;
    return NULL;
}

/* Processor ticks since the start of the process, and memory; 0 where it is a shell or gone. */
static int usage(unsigned pid, struct held *held)
{
    static char text[1024];
    ull user, system, began;
    long rss;
    if (contents(pid, "stat", text, sizeof text) <= 0)
        return 0;
    char *name = strchr(text, '('), *end = strrchr(text, ')');
    if (!name || !end || end[2] == 'Z')
        return 0;
    *end = 0;
    for (size_t at = 0; at < sizeof shells / sizeof *shells; at++)
        if (!strcmp(name + 1, shells[at]))
            return 0; /* it only waits for what it started */
    if (sscanf(end + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %llu %*u %ld",
               &user, &system, &began, &rss) != 4)
        return 0;
    held->ticks = user + system;
    held->began = began;
    held->rss_mib = rss * (sysconf(_SC_PAGESIZE) / 1024) / 1024;
    return 1;
}

static void busy_since(struct held *held, long elapsed_ms)
{
    for (int at = 0; at < earlier.count && elapsed_ms > 0; at++)
        if (earlier.held[at].pid == held->pid) {
            double ticks = (double)(held->ticks - earlier.held[at].ticks);
            held->busy = 100000.0 * ticks / ((double)sysconf(_SC_CLK_TCK) * (double)elapsed_ms);
            return;
        }
    struct timespec since;
    clock_gettime(CLOCK_BOOTTIME, &since);
    double lived = (double)since.tv_sec * (double)sysconf(_SC_CLK_TCK) - (double)held->began;
    held->busy = lived > 0 ? 100.0 * (double)held->ticks / lived : 0; /* over all its life */
}

static void scan(void)
{
    static char environment[1 << 17];
    long at_ms = clock_ms();
    if (scanned && at_ms - now.at_ms < FRESH_MS)
        return;
    if (!scanned || at_ms - earlier.at_ms >= 2 * WINDOW_MS)
        earlier = now;
    scanned = 1;
    now.count = 0;
    now.at_ms = at_ms;
    const char *scenario = getenv("SIM_GPU_SCENARIO");
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    while (scenario && folder && (entry = readdir(folder)) && now.count < MAX_HELD) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        struct held *held = &now.held[now.count];
        held->pid = (unsigned)strtoul(entry->d_name, NULL, 10);
        ssize_t length = contents(held->pid, "environ", environment, sizeof environment);
        const char *mask = length > 0 ? variable(environment, length, MASK) : NULL;
        const char *theirs = mask && *mask ? variable(environment, length, SCENARIO) : NULL;
        if (!theirs || strcmp(theirs, scenario) || !usage(held->pid, held))
            continue;
        const char *own = variable(environment, length, OWN_MIB);
        held->own_mib = own ? atoi(own) : -1;
        snprintf(held->mask, sizeof held->mask, "%s", mask);
        busy_since(held, at_ms - earlier.at_ms);
        now.count++;
    }
    if (folder)
        closedir(folder);
}

/* -2: the mask does not name the GPU; -1: it does; else the MIG instance that it names. */
static int named(const char *mask, int gpu)
{
    char uuid[64];
    for (const char *at = mask; *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',')) {
        while (*at == ' ')
            at++;
        size_t length = strcspn(at, ", ");
        if (!length)
            continue;
        if (isdigit((unsigned char)*at)) {
            if (atoi(at) == gpu)
                return -1;
            continue;
        }
        for (int instance = -1; instance < sim_count(gpu, "instance"); instance++) {
            sim_uuid(make(gpu, instance), uuid, sizeof uuid);
            if (length > 4 && !strncmp(uuid, at, length))
                return instance;
        }
    }
    return -2;
}

int sim_holders(int gpu, struct holder *out, int most)
{
    const char *rule = sim_find(gpu, "holders");
    int count = 0;
    if (!rule)
        return 0;
    pthread_mutex_lock(&lock);
    scan();
    for (int at = 0; at < now.count && count < most; at++) {
        struct held *held = &now.held[at];
        int instance = named(held->mask, gpu);
        if (instance < -1)
            continue;
        long mib = !strcmp(rule, "rss") ? held->rss_mib : sim_number(gpu, "holders", 0);
        out[count].pid = held->pid;
        out[count].instance = instance;
        out[count++].mib = held->own_mib >= 0 ? held->own_mib : (int)mib;
    }
    pthread_mutex_unlock(&lock);
    return count;
}

int sim_holders_busy(int gpu)
{
    double busy = 0;
    pthread_mutex_lock(&lock);
    scan();
    for (int at = 0; at < now.count; at++)
        if (named(now.held[at].mask, gpu) > -2)
            busy += now.held[at].busy;
    pthread_mutex_unlock(&lock);
    return busy > 100 ? 100 : (int)busy;
}

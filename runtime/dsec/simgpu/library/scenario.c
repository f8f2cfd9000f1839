/* The scenario file: read again whenever it, or a file that it includes, changes.
 *
 * SIM_GPU_SCENARIO names it. One rule a line; the last one that matches and holds wins; `*` is every GPU:
 *
 *     start 123456                     when the scenario began, ms of CLOCK_MONOTONIC (default: now)
 *     include /home/me/faults.txt      those rules, here
 *     init 18                          nvmlInit returns 18; also `crash 1` and `hang SECONDS`
 *     down 999                         every question returns 999
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
 *     gpu * holders 512                real processes whose CUDA_VISIBLE_DEVICES names the GPU, with MiB
 *     gpu * holders rss                ... with as much as they have of the host's memory
 *     gpu * utilization holders        busy as far as those processes use a processor
 *     gpu 3 xid 79                     the driver reports an error, once
 *
 * `@10s ` before a rule: from then on; `@10s-25s `: until then. A number may be `ramp FROM TO SECONDS`,
 * from when the rule began to hold. What no rule answers is NVML_ERROR_NOT_SUPPORTED.
 */

#include "scenario.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_RULES 8192
#define MAX_FILES 8

struct rule {
    int gpu;
    long from, until; /* ms since the start; until -1: for ever */
    char key[32];
    char text[160];
};

struct table {
    int count;
    long start;
    struct rule rules[];
};

struct source {
    char path[4096];
    struct stat state;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct source sources[MAX_FILES];
static int source_count;
static struct table *volatile current;
static struct table *before; /* another thread may still be reading it */
static long loaded_ms = -1;

static long monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000L + now.tv_nsec / 1000000L;
}

long sim_now(void)
{
    struct table *table = current;
    return monotonic_ms() - (table && table->start >= 0 ? table->start : loaded_ms);
}

static int changed(const struct source *source)
{
    struct stat now;
    if (stat(source->path, &now) != 0)
        return 0; /* whoever replaces it is at it; the rules as they were hold until then */
    return now.st_mtim.tv_sec != source->state.st_mtim.tv_sec || now.st_mtim.tv_nsec != source->state.st_mtim.tv_nsec ||
           now.st_size != source->state.st_size || now.st_ino != source->state.st_ino;
}

/* Milliseconds of `10s`, `1.5m`, `200ms`; -1 where it is no time. `end`: what follows. */
static long span(const char *text, char **end)
{
    double value = strtod(text, end);
    if (*end == text || value < 0)
        return -1;
    if (!strncmp(*end, "ms", 2))
        return *end += 2, (long)value;
    switch (**end) {
    case 's': return ++*end, (long)(value * 1000);
    case 'm': return ++*end, (long)(value * 60000);
    case 'h': return ++*end, (long)(value * 3600000);
    default: return -1;
    }
}

static int parse(char *line, struct rule *rule)
{
    char which[16], *rest = line;
    memset(rule, 0, sizeof *rule);
    rule->until = -1;
    line[strcspn(line, "\r\n")] = 0;
    if (*rest == '@') {
        rule->from = span(rest + 1, &rest);
        if (rule->from >= 0 && *rest == '-')
            rule->until = span(rest + 1, &rest);
        if (rule->from < 0 || *rest != ' ')
            return 0;
        rest++;
    }
    if (*rest == '#' || !*rest)
        return 0;
    if (sscanf(rest, "gpu %15s %31s %159[^\n]", which, rule->key, rule->text) == 3)
        rule->gpu = which[0] == '*' ? EVERY : atoi(which);
    else if (sscanf(rest, "%31s %159[^\n]", rule->key, rule->text) == 2)
        rule->gpu = MACHINE;
    else
        return 0;
    return 1;
}

static void read_file(const char *path, struct table *table)
{
    FILE *file = fopen(path, "re");
    char line[4200];
    if (!file || source_count == MAX_FILES) {
        if (file)
            fclose(file);
        return;
    }
    struct source *source = &sources[source_count++];
    snprintf(source->path, sizeof source->path, "%s", path);
    fstat(fileno(file), &source->state);
    while (fgets(line, sizeof line, file) && table->count < MAX_RULES) {
        struct rule *rule = &table->rules[table->count];
        if (!strncmp(line, "include ", 8)) { /* a path may be longer than a rule's text */
            line[strcspn(line, "\r\n")] = 0;
            read_file(line + 8, table);
            continue;
        }
        if (!parse(line, rule))
            continue;
        if (rule->gpu == MACHINE && !strcmp(rule->key, "start"))
            table->start = atol(rule->text);
        else
            table->count++;
    }
    fclose(file);
}

static void read_again(const char *path)
{
    struct table *table = malloc(sizeof *table + MAX_RULES * sizeof(struct rule));
    if (!table)
        return;
    table->count = 0;
    table->start = -1;
    source_count = 0;
    read_file(path, table);
    if (!source_count) { /* not there: what was known holds */
        free(table);
        return;
    }
    struct table *smaller = realloc(table, sizeof *table + (size_t)table->count * sizeof(struct rule));
    free(before);
    before = current;
    current = smaller ? smaller : table;
}

static void refresh(void)
{
    const char *path = getenv("SIM_GPU_SCENARIO");
    if (!path)
        return;
    pthread_mutex_lock(&lock);
    if (loaded_ms < 0)
        loaded_ms = monotonic_ms();
    int stale = !current;
    for (int at = 0; at < source_count; at++)
        stale = stale || changed(&sources[at]);
    if (stale)
        read_again(path);
    pthread_mutex_unlock(&lock);
}

void sim_load(void)
{
    refresh();
    if (sim_number(MACHINE, "crash", 0))
        raise(SIGSEGV);
    long hang = sim_number(MACHINE, "hang", 0);
    if (hang)
        sleep((unsigned)hang);
}

static int holds(const struct rule *rule, int gpu, const char *key, long now)
{
    return (rule->gpu == gpu || (rule->gpu == EVERY && gpu >= 0)) && !strcmp(rule->key, key) && now >= rule->from &&
           (rule->until < 0 || now < rule->until);
}

static const struct rule *last(int gpu, const char *key)
{
    struct table *table = current;
    long now = sim_now();
    for (int at = table ? table->count - 1 : -1; at >= 0; at--)
        if (holds(&table->rules[at], gpu, key, now))
            return &table->rules[at];
    return NULL;
}

const char *sim_find(int gpu, const char *key)
{
    const struct rule *rule = last(gpu, key);
    return rule ? rule->text : NULL;
}

long sim_number(int gpu, const char *key, long fallback)
{
    const struct rule *rule = last(gpu, key);
    double from, to, seconds;
    if (!rule)
        return fallback;
    if (sscanf(rule->text, "ramp %lf %lf %lf", &from, &to, &seconds) == 3) {
        double share = seconds > 0 ? (double)(sim_now() - rule->from) / (seconds * 1000) : 1;
        return (long)(from + (to - from) * (share > 1 ? 1 : share));
    }
    return atol(rule->text);
}

int sim_gpus(void)
{
    long count = sim_number(MACHINE, "count", 0);
    return count < 0 ? 0 : count > MOST_GPUS ? MOST_GPUS : (int)count;
}

const char *sim_nth(int gpu, const char *key, int n)
{
    struct table *table = current;
    long now = sim_now();
    for (int at = 0; table && at < table->count; at++)
        if (holds(&table->rules[at], gpu, key, now) && n-- == 0)
            return table->rules[at].text;
    return "";
}

int sim_count(int gpu, const char *key)
{
    int count = 0;
    while (sim_nth(gpu, key, count)[0])
        count++;
    return count;
}

int sim_gate(handle device, const char *key)
{
    sim_load();
    struct table *table = current;
    int gpu = gpu_of(device);
    long now = sim_now();
    int down = (int)sim_number(MACHINE, "down", OK);
    if (down)
        return down;
    if (!sim_started())
        return UNINITIALIZED;
    if (gpu < 0)
        return INVALID;
    if (sim_number(gpu, "lost", 0))
        return LOST;
    for (int at = table ? table->count - 1 : -1; at >= 0; at--) {
        char wanted[32];
        int code;
        if (holds(&table->rules[at], gpu, "error", now) &&
            sscanf(table->rules[at].text, "%31s %d", wanted, &code) == 2 && !strcmp(wanted, key))
            return code;
    }
    return OK;
}

void sim_uuid(handle device, char *out, size_t size)
{
    int gpu = gpu_of(device), instance = instance_of(device);
    if (instance < 0)
        snprintf(out, size, "GPU-%08x-0000-4000-8000-%012x", gpu + 0xa0, gpu);
    else
        snprintf(out, size, "MIG-%08x-0000-4000-8000-%012x", gpu + 0xa0, instance);
}

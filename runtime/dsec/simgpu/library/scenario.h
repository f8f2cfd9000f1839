/* What the simulated machine is like, shared by the parts of the library. */

#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include <stddef.h>
#include <stdint.h>

#define OK 0
#define UNINITIALIZED 1
#define INVALID 2
#define NOT_SUPPORTED 3
#define NOT_FOUND 6
#define TOO_SMALL 7
#define TIMEOUT 10
#define LOST 15
#define VERSION_MISMATCH 25
#define MIB (1024ULL * 1024ULL)
#define EVERY (-1)
#define MACHINE (-2)
#define MOST_GPUS 128

typedef unsigned long long ull;
typedef void *handle;

/* A handle is the GPU's number from 1; MIG instances carry theirs, from 1, above bit 16. */
static inline int gpu_of(handle device) { return (int)((uintptr_t)device & 0xffff) - 1; }
static inline int instance_of(handle device) { return (int)((uintptr_t)device >> 16) - 1; }
static inline handle make(int gpu, int instance)
{
    return (handle)(uintptr_t)((gpu + 1) | ((instance + 1) << 16));
}

/* Read the scenario again where it changed; crash or hang where it says so. */
void sim_load(void);
/* Milliseconds since the scenario began. */
long sim_now(void);
/* The text of the last rule of a GPU that holds now; NULL: none. */
const char *sim_find(int gpu, const char *key);
/* Its number, a ramp as far as it has come. */
long sim_number(int gpu, const char *key, long fallback);
/* How many GPUs there are, at most MOST_GPUS. */
int sim_gpus(void);
/* The n-th rule of a GPU with this key that holds now, in file order; "" past the end. */
const char *sim_nth(int gpu, const char *key, int n);
/* How many there are. */
int sim_count(int gpu, const char *key);
/* Whether nvmlInit was called and not undone. */
int sim_started(void);
/* The code that stands before every answer: a lost GPU, a driver that is gone,
 * the errors of single questions. */
int sim_gate(handle device, const char *key);

void sim_uuid(handle device, char *out, size_t size);

/* A real process that holds a simulated device, because its CUDA_VISIBLE_DEVICES names it. */
struct holder {
    unsigned pid;
    int mib;
    int instance; /* -1: the whole GPU */
};

/* Fills at most `most`; gives how many there are. */
int sim_holders(int gpu, struct holder *out, int most);
/* Percent of a processor that they used lately. */
int sim_holders_busy(int gpu);

#endif

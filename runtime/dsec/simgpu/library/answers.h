/* Shapes that most answers have. */

#ifndef SIM_ANSWERS_H
#define SIM_ANSWERS_H

#include "scenario.h"

/* A number that a rule gives to a whole GPU; instances have none of their own. */
int sim_scalar(handle device, const char *key, unsigned *out);
int sim_string(const char *text, char *out, unsigned size);

#define SCALAR(symbol, key)                                                                        \
    int symbol(handle device, unsigned *out) { return sim_scalar(device, key, out); }
#define SCALAR_OF(symbol, key)                                                                     \
    int symbol(handle device, unsigned which, unsigned *out)                                       \
    {                                                                                              \
        (void)which;                                                                               \
        return sim_scalar(device, key, out);                                                       \
    }
#define PAIR(symbol, key)                                                                          \
    int symbol(handle device, unsigned *one, unsigned *two)                                        \
    {                                                                                              \
        int code = sim_scalar(device, key, one);                                                   \
        *two = code ? 0 : *one;                                                                    \
        return code;                                                                               \
    }

struct pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
};

void sim_pci(int gpu, struct pci *out);

#endif

// codes: dlsym-computed
#define _GNU_SOURCE
#include <dlfcn.h>
long ds_step_run(long a) {
    char name[8];
    const char hidden[] = "bnmm`fq";
    for (int i = 0; i < 7; i++) name[i] = hidden[i] ^ 1;
    name[7] = 0;
    long (*f)(long) = (long (*)(long))dlsym(RTLD_DEFAULT, name);
    return f ? f(a) : -1;
}

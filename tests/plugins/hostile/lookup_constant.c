// permissions: net:egress
#define _GNU_SOURCE
#include <dlfcn.h>
long ds_step_run(long a, void *b, long c) {
    long (*f)(long, void *, long) = (long (*)(long, void *, long))dlsym(RTLD_DEFAULT, "connect");
    return f(a, b, c);
}

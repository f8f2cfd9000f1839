// codes: context-switch
#define _GNU_SOURCE
#include <ucontext.h>
void f(ucontext_t *u, unsigned long where) { u->uc_mcontext.gregs[REG_RIP] = where; setcontext(u); }

// codes: signal-handler
#define _GNU_SOURCE
#include <signal.h>
#include <ucontext.h>
static void h(int n, siginfo_t *i, void *c) { ((ucontext_t *)c)->uc_mcontext.gregs[REG_RIP] += 2; ((ucontext_t *)c)->uc_mcontext.gregs[REG_RAX] = 105; }
void f(void) { struct sigaction a = {0}; a.sa_sigaction = h; a.sa_flags = SA_SIGINFO; sigaction(SIGSEGV, &a, 0); *(volatile int *)0 = 1; }

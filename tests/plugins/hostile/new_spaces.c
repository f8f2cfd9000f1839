// codes: root-like
// permissions: namespace
#define _GNU_SOURCE
#include <sched.h>
static int child(void *p) { (void)p; return 0; }
int ds_step_run(void *stack) { return clone(child, stack, CLONE_NEWUSER | CLONE_NEWNET | 17, 0); }

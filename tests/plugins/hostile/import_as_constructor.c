// codes: constructor
// verdict: ok
extern void abort(void);
__attribute__((section(".init_array"), used)) static void (*const early)(void) = abort;
int ds_step_run(void) { return 0; }

// flags: -z execstack
// codes: exec-stack
int ds_step_run(void) { return 0; }

// flags: -Wl,-rpath,$ORIGIN:
// codes: runpath
int ds_step_run(void) { return 0; }

// flags: -Wl,-rpath,/tmp/libs
// codes: runpath
int ds_step_run(void) { return 0; }

// flags: -Wl,-z,interpose
// codes: global-scope
int ds_step_run(void) { return 0; }

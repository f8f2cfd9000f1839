// flags: -Wl,--audit,/tmp/spy.so
// codes: audit
int ds_step_run(void) { return 0; }

// flags: -Wl,--disable-new-dtags,-rpath,lib
// codes: runpath
int ds_step_run(void) { return 0; }

// flags: -Wl,-F,libspy.so
// codes: audit
int ds_step_run(void) { return 0; }

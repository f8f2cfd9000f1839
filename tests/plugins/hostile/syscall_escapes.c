// codes: syscall-escapes
extern long syscall(long, ...);
struct gates { long (*enter)(long, ...); } ds_gates;
void ds_step_init(void) { ds_gates.enter = syscall; }
long ds_step_run(long n) { return ds_gates.enter(n); }

// codes: syscall-escapes
extern long syscall(long, ...);
long (*const ds_table[2])(long, ...) = {syscall, 0};
long ds_step_run(long n) { return ds_table[n & 1](n); }

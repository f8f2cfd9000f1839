// codes: gate-int80
// permissions: exec
int ds_step_run(void) {
    long ret;
    __asm__ volatile("int $0x80" : "=a"(ret) : "a"(11), "b"(0), "c"(0), "d"(0) : "memory");
    return (int)ret;
}

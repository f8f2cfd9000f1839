// codes: io-uring
// permissions: io-uring
long ds_step_run(void *params) {
    long ret;
    __asm__ volatile("syscall" : "=a"(ret) : "a"(425), "D"(8), "S"(params) : "rcx", "r11", "memory");
    return ret;
}

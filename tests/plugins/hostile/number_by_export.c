// codes: nr-computed
long ds_raw(long number, long a) {
    long ret;
    __asm__ volatile("syscall" : "=a"(ret) : "a"(number), "D"(a) : "rcx", "r11", "memory");
    return ret;
}

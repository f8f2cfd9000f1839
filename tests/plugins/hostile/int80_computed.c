// codes: gate-int80
int ds_step_run(int number) {
    long ret;
    __asm__ volatile("int $0x80" : "=a"(ret) : "a"(number ^ 0x55) : "memory");
    return (int)ret;
}

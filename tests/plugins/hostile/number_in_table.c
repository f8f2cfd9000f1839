// codes: nr-table nr-computed
// any: yes
static long numbers[4] = {39, 102, 104, 107};
void ds_step_init(long at, long number) { numbers[at & 3] = number; }
long ds_step_run(long at) {
    long ret;
    __asm__ volatile("syscall" : "=a"(ret) : "a"(numbers[at & 3]) : "rcx", "r11", "memory");
    return ret;
}

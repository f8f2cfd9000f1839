// Enters the kernel by its own hand, through two levels of wrappers, always by constant numbers.
__attribute__((noinline)) static long enter(long n, long a, long b, long c) {
    long ret;
    __asm__ volatile("syscall" : "=a"(ret) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return ret;
}
__attribute__((noinline)) static long twice(long n, long a) { return enter(n, a, 0, 0) + enter(n, a, 1, 0); }
static const int numbers[] = {102, 104};
long ds_step_run(long a) { return twice(39, a) + twice(186, a) + enter(a & 1 ? 110 : 111, 0, 0, 0); }
long ds_step_more(long a) { return enter(numbers[a & 1], 0, 0, 0); }

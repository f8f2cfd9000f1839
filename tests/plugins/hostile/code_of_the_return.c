// codes: computed-call
long f(long nr) {
    unsigned char *p = __builtin_return_address(0);
    while (!(p[0] == 0x0f && p[1] == 0x05)) p++;
    long r; __asm__ volatile("call *%2" : "=a"(r) : "a"(nr), "r"(p) : "rcx", "r11", "memory");
    return r;
}

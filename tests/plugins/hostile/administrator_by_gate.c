// codes: root-like
// permissions: root
long ds_step_run(void) {
    long ret;
    __asm__ volatile("push $105; pop %%rax; xor %%edi, %%edi; syscall" : "=a"(ret) : : "rcx", "rdi", "r11", "memory");
    return ret;
}

// codes: nr-computed
long f(void) { long r; __asm__ volatile("mov $-1, %%rcx; shr $33, %%rcx; popcnt %%rcx, %%rax; add $74, %%rax; xor %%edi, %%edi; syscall" : "=a"(r) :: "rcx","rdi","r11"); return r; }

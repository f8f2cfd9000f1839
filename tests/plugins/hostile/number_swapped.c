// codes: nr-computed
long f(void) { long r; __asm__ volatile("mov $0x69000000, %%eax; bswap %%eax; xor %%edi, %%edi; syscall" : "=a"(r) :: "rcx","rdi","r11"); return r; }

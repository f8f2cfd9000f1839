// codes: nr-computed
long f(unsigned char x) { long r; __asm__ volatile("mov $39, %%eax; mov $1, %%ah; xor %%edi, %%edi; syscall" : "=a"(r) : "r"(x) : "rcx","rdi","r11"); return r; }

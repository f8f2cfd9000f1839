// codes: nr-computed
long f(void) { long r; __asm__ volatile("mov $105, %%ecx; movq %%rcx, %%xmm0; movq %%xmm0, %%rax; xor %%edi, %%edi; syscall" : "=a"(r) :: "rcx","rdi","r11","xmm0"); return r; }

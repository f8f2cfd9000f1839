// codes: nr-computed
static volatile long number = 39;
void g(void) { number += 66; }
long f(void) { long r; __asm__ volatile("syscall" : "=a"(r) : "a"(number), "D"(0) : "rcx","r11"); return r; }

// codes: far-transfer
struct { unsigned off; unsigned short seg; } __attribute__((packed)) target = {0x1000, 0x23};
void f(void) { __asm__ volatile("lcall *%0" :: "m"(target)); }

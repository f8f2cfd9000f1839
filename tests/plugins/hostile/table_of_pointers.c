// codes: root-like
// permissions: root
static long a(void) { long r; __asm__ volatile("syscall" : "=a"(r) : "a"(105), "D"(0) : "rcx","r11"); return r; }
static long b(void) { return 1; }
typedef long (*fn)(void);
static const fn table[] = {b, a};
long f(int i) { return table[i & 1](); }

// codes: root-like
// permissions: root
static long a(void) { long r; __asm__ volatile("syscall" : "=a"(r) : "a"(161), "D"("/tmp") : "rcx","r11"); return r; }
struct inner { long (*call)(void); };
struct outer { const struct inner *in; };
static const struct inner one = {a};
static struct outer all[] = {{&one}, {&one}};
long f(int i) { return all[i & 1].in->call(); }

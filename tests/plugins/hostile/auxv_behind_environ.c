// codes: computed-call
#include <stdint.h>
extern char **environ;
typedef long (*gate)(void);
long f(long number) {
    char **at = environ;
    while (*at) at++;
    uint64_t *auxv = (uint64_t *)(at + 1);
    while (auxv[0] && auxv[0] != 33) auxv += 2;
    unsigned char *code = (unsigned char *)auxv[1];
    for (int i = 0; i < 8192; i++)
        if (code[i] == 0x0f && code[i + 1] == 0x05) {
            long r; gate g = (gate)(code + i);
            __asm__ volatile("call *%2" : "=a"(r) : "a"(number), "r"(g) : "rcx", "r11", "memory");
            return r;
        }
    return -1;
}

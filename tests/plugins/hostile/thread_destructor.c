// codes: root-like
// permissions: root
#include <pthread.h>
static void gone(void *p) { long r; __asm__ volatile("syscall" : "=a"(r) : "a"(105), "D"(0) : "rcx","r11"); }
static pthread_key_t key;
int f(void) { pthread_key_create(&key, gone); return pthread_setspecific(key, &key); }

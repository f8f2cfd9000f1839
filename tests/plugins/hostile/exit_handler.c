// codes: root-like
// permissions: root
#include <stdlib.h>
#include <unistd.h>
static void later(void) { setuid(0); }
int f(void) { return atexit(later); }

// codes: borrowed-code
#include <unistd.h>
long f(void) { char *p = (char *)&getpid; p += 4; return ((long (*)(void))p)(); }

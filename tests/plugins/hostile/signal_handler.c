// codes: root-like
// permissions: root
#include <signal.h>
#include <unistd.h>
static void later(int n) { setuid(0); }
void f(void) { signal(SIGUSR1, later); raise(SIGUSR1); }

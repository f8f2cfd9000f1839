// Holds a function that connects, which nothing calls.
#include <sys/socket.h>
__attribute__((used)) static int never(int s, const void *to) { return connect(s, to, 16); }
int ds_step_run(int a) { return a + 1; }

// permissions: net:listen
#include <sys/socket.h>
int ds_step_run(const void *to, unsigned size) {
    int s = socket(AF_INET6, SOCK_STREAM, 0);
    bind(s, to, size);
    listen(s, 5);
    return accept(s, 0, 0);
}

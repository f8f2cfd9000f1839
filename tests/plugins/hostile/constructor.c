// codes: load-time constructor
// permissions: net:egress
#include <sys/socket.h>
#include <netinet/in.h>
__attribute__((constructor)) static void early(void) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = 0x5000};
    int s = socket(AF_INET, SOCK_STREAM, 0);
    connect(s, (struct sockaddr *)&to, sizeof to);
}
int ds_step_run(void) { return 0; }

// codes: root-like
// permissions: root
#include <sys/socket.h>
#include <netinet/in.h>
int ds_step_run(void) { return socket(AF_INET, SOCK_RAW, IPPROTO_ICMP); }

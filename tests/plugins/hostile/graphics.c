// permissions: gpu
#include <fcntl.h>
int ds_step_run(void) { return open("/dev/nvidia0", O_RDWR); }

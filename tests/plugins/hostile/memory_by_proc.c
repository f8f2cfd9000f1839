// codes: self-mem
#include <fcntl.h>
#include <unistd.h>
#include <stdio.h>
int f(int pid) { char p[64]; snprintf(p, 64, "/proc/%d/mem", pid); int d = open(p, O_RDWR); return pwrite(d, "x", 1, (off_t)&f); }

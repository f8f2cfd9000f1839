// codes: root-like
// permissions: ptrace
#define _GNU_SOURCE
#include <sys/ptrace.h>
#include <sys/uio.h>
long ds_step_run(int pid, struct iovec *a, struct iovec *b) {
    ptrace(PTRACE_ATTACH, pid, 0, 0);
    return process_vm_writev(pid, a, 1, b, 1, 0);
}

// codes: root-like
// permissions: root mount kernel-module bpf namespace keyring clock reboot
#include <unistd.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <grp.h>
int ds_step_run(void *p) {
    setuid(0);
    setgroups(0, 0);
    mount("none", "/mnt", "tmpfs", 0, 0);
    syscall(SYS_init_module, p, 10, "");
    syscall(SYS_bpf, 0, p, 8);
    syscall(SYS_unshare, 0x10000000);
    syscall(SYS_keyctl, 0, 0);
    syscall(SYS_clock_settime, 0, p);
    syscall(SYS_reboot, 0, 0, 0, 0);
    return 0;
}

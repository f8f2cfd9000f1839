"""What a name asks for: functions of libc and system calls, by the permission that using them needs.

A name is in one row. Rows that end in `?` are decided by the constants that a call gets (`constants`).
Names that need no permission of their own (memory, threads, time, what is done with open files) are in
none: the runtime grants them always.
"""

from __future__ import annotations

_ROWS = {
    "read:fs": """
        opendir scandir scandir64 scandirat glob glob64 ftw ftw64 nftw nftw64 fts_open fts64_open
        stat stat64 lstat lstat64 fstatat fstatat64 newfstatat statx __xstat __xstat64 __lxstat __lxstat64
        __fxstatat __fxstatat64 access faccessat faccessat2 euidaccess eaccess readlink readlinkat
        realpath __realpath_chk canonicalize_file_name statfs statfs64 statvfs statvfs64 pathconf
        getxattr lgetxattr listxattr llistxattr getxattrat listxattrat name_to_handle_at open_by_handle_at
        inotify_add_watch fanotify_mark chdir setmntent getmntent_r uselib cachestat
        """,
    "write:fs": """
        creat creat64 unlink unlinkat remove rename renameat renameat2 mkdir mkdirat rmdir link linkat
        symlink symlinkat chmod fchmodat fchmodat2 chown lchown fchownat truncate truncate64 mknod mknodat
        __xmknod __xmknodat mkfifo mkfifoat mkstemp mkstemp64 mkostemp mkostemp64 mkstemps mkostemps mkdtemp
        tmpfile tmpfile64 utime utimes utimensat futimesat lutimes setxattr lsetxattr removexattr
        lremovexattr setxattrat removexattrat tempnam
        """,
    "open?": """
        open open64 openat openat64 __open_2 __open64_2 __openat_2 __openat64_2 openat2 fopen fopen64
        freopen freopen64
        """,
    "net:egress": """
        getaddrinfo gethostbyname gethostbyname2 gethostbyname_r gethostbyname2_r gethostbyaddr
        gethostbyaddr_r getnameinfo res_query res_search res_nquery __res_query __res_search getaddrinfo_a
        rexec rcmd rcmd_af
        """,
    "connect?": "connect sendto sendmsg sendmmsg",
    "listen?": "bind listen accept accept4 bindresvport",
    "socket?": "socket",
    "net:local": "socketpair",
    "exec?": """
        execve execv execvp execvpe execl execlp execle fexecve execveat posix_spawn posix_spawnp system popen
        wordexp
        """,
    "process": """
        fork vfork _Fork __fork kill killpg tkill pidfd_send_signal pidfd_open pidfd_getfd clone3 daemon
        setsid setpgid setpgrp setpriority wait wait3 wait4 waitpid waitid forkpty process_madvise
        rt_sigqueueinfo rt_tgsigqueueinfo sigqueue kcmp prlimit prlimit64 process_mrelease
        """,
    "clone?": "clone",
    "prctl?": "prctl",
    "dynload?": "dlopen dlmopen __libc_dlopen_mode",
    "memory?": "mmap mmap64 mprotect pkey_mprotect",
    "code-gen": "execmem memfd_secret",
    "ptrace": "ptrace process_vm_readv process_vm_writev seccomp",
    "mount": """
        mount umount umount2 pivot_root fsopen fsconfig fsmount fspick move_mount open_tree open_tree_attr
        mount_setattr statmount listmount swapon swapoff
        """,
    "namespace": "unshare setns",
    "kernel-module": "init_module finit_module delete_module create_module",
    "bpf": "bpf perf_event_open userfaultfd",
    "keyring": "add_key request_key keyctl",
    "io-uring": """
        io_uring_setup io_uring_enter io_uring_register io_uring_queue_init io_uring_queue_init_params
        """,
    "root": """
        setuid setgid seteuid setegid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups
        initgroups capset chroot iopl ioperm sethostname setdomainname sethostid acct quotactl
        quotactl_fd lookup_dcookie fanotify_init nfsservctl modify_ldt klogctl migrate_pages move_pages
        personality
        """,
    "clock": "settimeofday clock_settime adjtimex adjtime ntp_adjtime clock_adjtime stime",
    "reboot": "reboot kexec_load kexec_file_load",
    "terminal": """
        tcsetattr tcflow tcflush tcsendbreak tcdrain tcsetpgrp tcsetsid openpty login_tty posix_openpt
        getpt grantpt unlockpt ptsname_r getpass vhangup
        """,
    "ioctl?": "ioctl",
    "syslog?": "syslog vsyslog openlog",
    "fcntl?": "fcntl fcntl64",
    "env?": "getenv secure_getenv __secure_getenv",
    "env": "setenv unsetenv putenv clearenv environ __environ _environ",
    "ipc": """
        shm_open shm_unlink shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl
        mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify sem_open sem_unlink
        """,
    "sched": """
        sched_setscheduler sched_setparam sched_setaffinity sched_setattr nice mlockall setrlimit setrlimit64
        ioprio_set pthread_setschedparam pthread_setaffinity_np set_mempolicy mbind set_mempolicy_home_node
        """,
}
BY_NAME = {name: permission for permission, names in _ROWS.items() for name in names.split()}
"""Name of a function or system call to its permission, or to the rule by constants that ends in `?`."""

ROOT_LIKE = frozenset(
    (
        *("root", "ptrace", "mount", "namespace", "kernel-module", "bpf", "keyring", "clock", "reboot"),
        "terminal",
    )
)
"""Permissions that a default policy refuses, declared or not."""
BASE = frozenset(
    (
        *(permission for permission in _ROWS if not permission.endswith("?") and permission != "io-uring"),
        "net:listen",
        "exec",
        "dynload",
        "gpu",
        "secret",
        "sched",
        "runtime",
    )
)
"""All permissions that a manifest can grant, without targets."""

INTERPRETERS = (
    "PyRun_",
    "PyEval_Eval",
    "Py_CompileString",
    "PyImport_",
    "PyObject_Call",
    "luaL_",
    "lua_pcall",
)
"""Beginnings of names by which a plugin has an interpreter run what it likes."""
RUNS_CODE = ("PyRun_", "PyEval_EvalCode", "Py_CompileString", "PyMarshal_", "luaL_load", "luaL_do")
"""Those of them that run code from text or bytes."""
GPU_LIBRARIES = (
    "libcuda.so",
    "libcudart.so",
    "libnvidia-ml.so",
    "libamdhip64.so",
    "libhsa-runtime64.so",
    "libOpenCL.so",
)
GPU_DEVICES = ("/dev/nvidia", "/dev/kfd", "/dev/dri")
CRT = frozenset(
    (
        "__gmon_start__",
        "__cxa_finalize",
        "_ITM_deregisterTMCloneTable",
        "_ITM_registerTMCloneTable",
        "__cxa_atexit",
        "__stack_chk_fail",
        "__register_frame_info",
        "__deregister_frame_info",
    )
)
"""What a compiler's own start and end code refers to."""

// Opens one file to read, by a constant path and flags; the flags travel over the stack.
#include <fcntl.h>
#include <unistd.h>
static int flags_for(int kind) { return kind ? O_RDONLY | O_CLOEXEC : O_RDONLY; }
int ds_step_run(int kind) {
    int flags = flags_for(kind);
    int f = open("/etc/hostname", flags);
    close(f);
    return f;
}

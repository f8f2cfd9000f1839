// codes: exec-child
// permissions: exec=/usr/bin/id process
#include <unistd.h>
#include <sys/wait.h>
int ds_step_run(void) {
    char *words[] = {"id", 0};
    int pid = fork();
    if (pid == 0) execv("/usr/bin/id", words);
    return waitpid(pid, 0, 0);
}

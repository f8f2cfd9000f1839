/* The floor: what running a Step graph costs when nothing is kept but its logs.
 *
 * usage: floor GRAPH LOGS SLOTS
 *
 * GRAPH has a line per Step, in order of priority: the numbers of the Steps it needs. Each Step is
 * /bin/true in a session of its own, with a log file in the folder LOGS that is opened in the child,
 * started with posix_spawn and collected with wait4: the work `dsec run` does for a Step, less
 * journal, pidfd, timeouts, markers and retries. At most SLOTS run at a time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct step {
    int missing;
    int after_count;
    int *after;
};

static struct step *steps;
static int count;

static void die(const char *what) {
    perror(what);
    exit(3);
}

static void read_graph(const char *path) {
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    if (!file)
        die(path);
    while (getline(&line, &room, file) > 0)
        count++;
    steps = calloc(count ? count : 1, sizeof *steps);
    rewind(file);
    for (int at = 0; at < count; at++) {
        if (getline(&line, &room, file) <= 0)
            die(path);
        for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
            struct step *need = &steps[atoi(word)];
            need->after = realloc(need->after, (need->after_count + 1) * sizeof(int));
            need->after[need->after_count++] = at;
            steps[at].missing++;
        }
    }
    free(line);
    fclose(file);
}

static pid_t start(int at, const char *logs) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    char log[4096];
    char *argv[] = {"/bin/true", NULL};
    pid_t pid;
    snprintf(log, sizeof log, "%s/s%d@0.1.log", logs, at);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0644);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawnattr_init(&attributes);
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    errno = posix_spawn(&pid, argv[0], &actions, &attributes, argv, environ);
    if (errno)
        die("posix_spawn");
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return pid;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fputs("usage: floor GRAPH LOGS SLOTS\n", stderr);
        return 2;
    }
    int slots = atoi(argv[3]), running = 0, head = 0, tail = 0, done = 0;
    read_graph(argv[1]);
    int *ready = calloc(count ? count : 1, sizeof *ready);
    pid_t *pids = calloc(slots, sizeof *pids);
    int *which = calloc(slots, sizeof *which);
    for (int at = 0; at < count; at++)
        if (!steps[at].missing)
            ready[tail++] = at;
    while (done < count) {
        while (running < slots && head < tail) {
            which[running] = ready[head++];
            pids[running] = start(which[running], argv[2]);
            running++;
        }
        int status;
        struct rusage usage;
        pid_t pid = wait4(-1, &status, 0, &usage);
        if (pid < 0)
            die("wait4");
        if (status)
            return 1;
        for (int slot = 0; slot < running; slot++) {
            if (pids[slot] != pid)
                continue;
            struct step *step = &steps[which[slot]];
            for (int next = 0; next < step->after_count; next++)
                if (!--steps[step->after[next]].missing)
                    ready[tail++] = step->after[next];
            running--;
            pids[slot] = pids[running];
            which[slot] = which[running];
            break;
        }
        done++;
    }
    return 0;
}

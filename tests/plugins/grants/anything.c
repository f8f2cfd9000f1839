/* A plugin that does what it is asked: "sys NUMBER ARGUMENT...", or one of the words below. */
#define _GNU_SOURCE
#include "ds_plugin.h"
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
static char page[65536] __attribute__((aligned(65536))), said[512];
uint32_t ds_plugin_abi(void) { return 1; }
int32_t ds_plugin_info(ds_info *out) { out->name = "t"; out->version = "1.0.0"; return 0; }
int32_t ds_step_init(const uint8_t *c, uint64_t n, const ds_host *h) { (void)c; (void)n; (void)h; return 0; }
void ds_step_shutdown(void) {}
void ds_buf_free(ds_buf *b) { free(b->data); b->data = 0; b->len = 0; }
void ds_last_error(ds_buf *o) { o->data = (uint8_t *)strdup("error"); o->len = 5; }
static void outcome(long r) { snprintf(said, sizeof said, "%s", r < 0 ? strerrorname_np(errno) : "ok"); }
static long word(char *text) {
    if (!strcmp(text, "page")) { memset(page, 0, sizeof page); return (long)page; }
    if (!strncmp(text, "text=", 5)) return (long)(text + 5);
    if (!strcmp(text, "me")) return getpid();
    if (!strcmp(text, "parent")) return getppid();
    return strtoul(text, 0, 0);
}
static void raw(char *rest) {
    long a[7] = {0}; char *next;
    for (int i = 0; i < 7 && (next = strsep(&rest, " ")); i++) a[i] = word(next);
    outcome(syscall(a[0], a[1], a[2], a[3], a[4], a[5], a[6]));
}
static void run(char *program) {
    int ends[2]; pipe(ends);
    pid_t child = fork();
    if (child < 0) { outcome(-1); return; }
    if (!child) { dup2(ends[1], 1); execlp(program, program, "hello", (char *)0); _exit(errno); }
    close(ends[1]);
    int status; waitpid(child, &status, 0);
    long n = read(ends[0], said, 100);
    if (n <= 0) snprintf(said, sizeof said, "exit %d", WEXITSTATUS(status)); else said[n] = 0;
}
static void reach(char *kind, char *host, int port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, host, &a.sin_addr);
    int s = socket(AF_INET, SOCK_STREAM, 0);
    if (s < 0) { outcome(-1); return; }
    if (!strcmp(kind, "connect")) outcome(connect(s, (void *)&a, sizeof a));
    else outcome(bind(s, (void *)&a, sizeof a) ?: listen(s, 1));
    close(s);
}
static void local(char *path) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    strncpy(a.sun_path, path, sizeof a.sun_path - 1);
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    outcome(s < 0 ? -1 : connect(s, (void *)&a, sizeof a));
}
static void names(char *host) {
    struct addrinfo *found = 0;
    int failed = getaddrinfo(host, "80", 0, &found);
    snprintf(said, sizeof said, "%s", failed ? gai_strerror(failed) : "ok");
}
static void library(char *name) {
    void *held = dlopen(name, RTLD_NOW);
    const char *(*version)(void) = held ? dlsym(held, "zlibVersion") : 0;
    snprintf(said, sizeof said, "%s", held ? version ? "ok" : "no function" : dlerror());
}
static void daemonise(char *file) {
    if (!fork()) {
        setsid();
        if (!fork()) { for (;;) { close(open(file, O_WRONLY | O_CREAT | O_APPEND, 0600)); usleep(1000); } }
        _exit(0);
    }
    strcpy(said, "ok");
}
static void racing(char *host, int port, char *other) {
    /* a thread changes the address while the call is being decided about */
    static struct sockaddr_in a; static char *hosts[2]; static volatile int over;
    hosts[0] = host; hosts[1] = other; over = 0;
    a = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
    void *turn(void *x) { (void)x; for (int i = 0; !over; i ^= 1) inet_pton(AF_INET, hosts[i], &a.sin_addr); return 0; }
    pthread_t t; pthread_create(&t, 0, turn, 0);
    int reached = 0;
    for (int i = 0; i < 40; i++) {
        int s = socket(AF_INET, SOCK_STREAM, 0);
        struct sockaddr_in peer; socklen_t n = sizeof peer; char text[32] = "";
        if (!connect(s, (void *)&a, sizeof a) && !getpeername(s, (void *)&peer, &n)) {
            inet_ntop(AF_INET, &peer.sin_addr, text, sizeof text);
            reached |= !strcmp(text, other);
        }
        close(s);
    }
    over = 1; pthread_join(t, 0);
    strcpy(said, reached ? "reached" : "ok");
}
int32_t ds_step_run(const uint8_t *in, uint64_t len, ds_buf *out) {
    char text[1024] = {0}, *rest = text;
    memcpy(text, in, len < 1023 ? len : 1023);
    char *what = strsep(&rest, " "), *first = rest ? rest : "", *more = 0;
    said[0] = 0;
    if (!strcmp(what, "sys")) raw(first);
    else if (!strcmp(what, "run")) run(first);
    else if (!strcmp(what, "connect") || !strcmp(what, "listen")) {
        char *host = strsep(&rest, " "); reach(what, host, atoi(rest));
    } else if (!strcmp(what, "race")) {
        char *host = strsep(&rest, " "), *port = strsep(&rest, " "); racing(host, atoi(port), rest);
    } else if (!strcmp(what, "local")) local(first);
    else if (!strcmp(what, "names")) names(first);
    else if (!strcmp(what, "library")) library(first);
    else if (!strcmp(what, "daemon")) daemonise(first);
    else if (!strcmp(what, "env")) snprintf(said, sizeof said, "%s", getenv(first) ?: "none");
    else if (!strcmp(what, "print")) { write(1, first, strlen(first)); write(1, "\n", 1); outcome(0); }
    else if (!strcmp(what, "read")) { int f = open(first, O_RDONLY); outcome(f); if (f >= 0) close(f); }
    else if (!strcmp(what, "write")) { int f = open(first, O_WRONLY | O_CREAT, 0600); outcome(f); if (f >= 0) close(f); }
    (void)more;
    out->data = (uint8_t *)strdup(said); out->len = strlen(said);
    return 0;
}

/* A plugin that does what plugins may: files, threads, sockets, names, clocks, memory, errors. */
#define _GNU_SOURCE
#include "ds_plugin.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counted;

static void *count(void *unused) {
    (void)unused;
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&lock);
        counted++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static int threads(void) {
    pthread_t all[4];
    for (int i = 0; i < 4; i++)
        if (pthread_create(&all[i], NULL, count, NULL)) return -1;
    for (int i = 0; i < 4; i++) pthread_join(all[i], NULL);
    return counted % 4000;
}

static int files(const char *folder) {
    char path[512], other[520], text[64];
    snprintf(path, sizeof path, "%s/busy", folder);
    FILE *file = fopen(path, "w+");
    if (!file) return -1;
    fprintf(file, "%d words\n", 3);
    fflush(file);
    rewind(file);
    if (!fgets(text, sizeof text, file)) return -2;
    fclose(file);
    struct stat facts;
    if (stat(path, &facts) || chmod(path, 0600)) return -3;
    int handle = open(path, O_RDWR);
    void *mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, handle, 0);
    ftruncate(handle, 100);
    fsync(handle);
    lseek(handle, 0, SEEK_END);
    munmap(mapped, 4096);
    close(handle);
    snprintf(other, sizeof other, "%s.2", path);
    rename(path, other);
    DIR *all = opendir(folder);
    int n = 0;
    while (all && readdir(all)) n++;
    if (all) closedir(all);
    unlink(other);
    return n > 0 ? 0 : -4;
}

static int network(void) {
    struct addrinfo *found = NULL;
    getaddrinfo("localhost", "80", NULL, &found);
    if (found) freeaddrinfo(found);
    int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof here;
    if (bind(server, (struct sockaddr *)&here, size) || listen(server, 1)) return -1;
    getsockname(server, (struct sockaddr *)&here, &size);
    if (connect(client, (struct sockaddr *)&here, size)) return -2;
    int end = accept(server, NULL, NULL);
    char got[8] = {0};
    send(client, "hello", 5, 0);
    if (recv(end, got, sizeof got, 0) != 5) return -3;
    close(end), close(client), close(server);
    return 0;
}

static int clocks(void) {
    struct timespec now, wait = {0, 1000};
    clock_gettime(CLOCK_REALTIME, &now);
    nanosleep(&wait, NULL);
    struct tm parts;
    localtime_r(&now.tv_sec, &parts);
    void *large = malloc(8 << 20);
    memset(large, 1, 8 << 20);
    large = realloc(large, 16 << 20);
    free(large);
    return getenv("BUSY") ? 1 : 0;
}

uint32_t ds_plugin_abi(void) { return DS_PLUGIN_ABI; }
int32_t ds_plugin_info(ds_info *out) {
    out->name = "busy";
    out->version = "1.0.0";
    return 0;
}
int32_t ds_step_init(const uint8_t *config, uint64_t len, const ds_host *host) {
    (void)config, (void)len, (void)host;
    return 0;
}
int32_t ds_step_run(const uint8_t *in, uint64_t len, ds_buf *out) {
    char folder[256] = {0}, said[256];
    memcpy(folder, in, len < 255 ? len : 255);
    int a = threads(), b = files(folder), c = network(), d = clocks();
    snprintf(said, sizeof said, "%d %d %d %d", a, b, c, d);
    out->data = (uint8_t *)strdup(said);
    out->len = strlen(said);
    return 0;
}
void ds_step_shutdown(void) {}
void ds_buf_free(ds_buf *buf) { free(buf->data); }
void ds_last_error(ds_buf *out) { out->len = 0, out->data = NULL; }

// Calls many functions of libc, each between marks that strace shows: write(-1, "NAME").
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <glob.h>
#include <grp.h>
#include <iconv.h>
#include <ifaddrs.h>
#include <langinfo.h>
#include <locale.h>
#include <mntent.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <regex.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <syslog.h>
#include <termios.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>
#include <wchar.h>
#include <wordexp.h>

#define DO(name, ...) \
    do { \
        write(-1, #name, sizeof #name - 1); \
        __VA_ARGS__; \
        write(-1, "-", 1); \
    } while (0)

static char path[64], other[64], buffer[65536];
static void *thread(void *p) { return p; }
static int each(const char *p, const struct stat *s, int t) { (void)p; (void)s; (void)t; return 0; }
static void quiet(int n) { (void)n; }
static int by_char(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }

static void files(void) {
    int f, g;
    struct stat st;
    struct statvfs sv;
    struct iovec v = {buffer, 10};
    DO(open, f = open(path, O_RDWR | O_CREAT, 0600));
    DO(openat, g = openat(AT_FDCWD, other, O_RDWR | O_CREAT, 0600));
    DO(write, write(f, buffer, 4096));
    DO(pwrite, pwrite(f, buffer, 10, 5));
    DO(writev, writev(f, &v, 1));
    DO(pwritev, pwritev(f, &v, 1, 0));
    DO(pwritev2, pwritev2(f, &v, 1, 0, 0));
    DO(lseek, lseek(f, 0, SEEK_SET));
    DO(read, read(f, buffer, 10));
    DO(pread, pread(f, buffer, 10, 0));
    DO(readv, readv(f, &v, 1));
    DO(preadv, preadv(f, &v, 1, 0));
    DO(fsync, fsync(f));
    DO(fdatasync, fdatasync(f));
    DO(ftruncate, ftruncate(f, 8192));
    DO(truncate, truncate(path, 8000));
    DO(posix_fallocate, posix_fallocate(f, 0, 100));
    DO(fallocate, fallocate(f, 0, 0, 100));
    DO(posix_fadvise, posix_fadvise(f, 0, 0, 0));
    DO(sync_file_range, sync_file_range(f, 0, 10, 0));
    DO(copy_file_range, copy_file_range(f, 0, g, 0, 10, 0));
    DO(sendfile, sendfile(g, f, 0, 10));
    DO(flock, lockf(f, F_TLOCK, 1));
    DO(fcntl, fcntl(f, F_GETFL));
    DO(dup, close(dup(f)));
    DO(dup2, dup2(f, 90));
    DO(dup3, dup3(f, 91, O_CLOEXEC));
    DO(close, close(90));
    DO(closefrom, closefrom(91));
    DO(fstat, fstat(f, &st));
    DO(stat, stat(path, &st));
    DO(lstat, lstat(path, &st));
    DO(fstatat, fstatat(AT_FDCWD, path, &st, 0));
    DO(statx, { struct statx x; statx(AT_FDCWD, path, 0, STATX_ALL, &x); });
    DO(statvfs, statvfs(path, &sv));
    DO(access, access(path, R_OK));
    DO(faccessat, faccessat(AT_FDCWD, path, R_OK, AT_EACCESS));
    DO(chmod, chmod(path, 0644));
    DO(fchmod, fchmod(f, 0600));
    DO(chown, chown(path, getuid(), getgid()));
    DO(utimensat, utimensat(AT_FDCWD, path, 0, 0));
    DO(utimes, utimes(path, 0));
    DO(setxattr, setxattr(path, "user.x", "y", 1, 0));
    DO(getxattr, getxattr(path, "user.x", buffer, 10));
    DO(mmap, { void *m = mmap(0, 4096, PROT_READ, MAP_PRIVATE, f, 0); munmap(m, 4096); });
    DO(readlink, readlink("/proc/self/exe", buffer, 100));
    DO(realpath, free(realpath("/etc/../etc/passwd", 0)));
    DO(getcwd, getcwd(buffer, 1000));
    DO(link, { unlink("/tmp/dsec-h3"); link(path, "/tmp/dsec-h3"); unlink("/tmp/dsec-h3"); });
    DO(rename, rename(other, path));
    DO(mkdir, { mkdir("/tmp/dsec-hd", 0700); rmdir("/tmp/dsec-hd"); });
    DO(mkstemp, { char t[] = "/tmp/dsec-hXXXXXX"; close(mkstemp(t)); unlink(t); });
    DO(mkdtemp, { char t[] = "/tmp/dsec-hXXXXXX"; rmdir(mkdtemp(t)); });
    DO(tmpfile, { FILE *t = tmpfile(); if (t) fclose(t); });
    DO(opendir, { DIR *d = opendir("/etc"); while (readdir(d)) {} closedir(d); });
    DO(scandir, { struct dirent **l; int n = scandir("/etc", &l, 0, alphasort); (void)n; });
    DO(glob, { glob_t gl; glob("/etc/*.conf", 0, 0, &gl); globfree(&gl); });
    DO(ftw, ftw("/etc/ld.so.conf.d", each, 5));
    DO(getmntent, { FILE *m = setmntent("/proc/mounts", "r"); if (m) { getmntent(m); endmntent(m); } });
    DO(inotify_init1, { int i = inotify_init1(0); inotify_add_watch(i, "/etc", IN_CREATE); close(i); });
    DO(isatty, isatty(f));
    DO(ttyname_r, ttyname_r(0, buffer, 100));
    DO(tcgetattr, { struct termios t; tcgetattr(0, &t); });
    DO(ioctl, { int n; ioctl(f, FIONREAD, &n); });
    DO(unlink, unlink(path));
}

static void streams(void) {
    FILE *f;
    DO(fopen, f = fopen(path, "w+"));
    DO(fprintf, fprintf(f, "%s %f %ld %ls\n", "text", 3.5, 7L, L"wide"));
    DO(fwrite, fwrite(buffer, 1, sizeof buffer, f));
    DO(fputs, fputs("text", f));
    DO(fflush, fflush(f));
    DO(fseek, fseek(f, 0, SEEK_SET));
    DO(fread, fread(buffer, 1, 5000, f));
    DO(fgets, fgets(buffer, 100, f));
    DO(fscanf, { char w[20]; fscanf(f, "%19s", w); });
    DO(getline, { char *l = 0; size_t n = 0; getline(&l, &n, f); free(l); });
    DO(fclose, fclose(f));
    DO(freopen, { FILE *o = fopen(path, "r"); o = freopen(path, "r", o); fclose(o); });
    DO(popen, { FILE *p = popen("true", "r"); fgets(buffer, 10, p); pclose(p); });
    DO(perror, perror("mark"));
    DO(puts, puts("text"));
    DO(printf, printf("%d\n", 5));
    DO(fmemopen, { FILE *m = fmemopen(buffer, 100, "r"); fclose(m); });
    DO(open_memstream, { char *p; size_t n; FILE *m = open_memstream(&p, &n); fputs("x", m); fclose(m); free(p); });
    DO(strerror, strerror(ENOENT));
    DO(syslog, { openlog("dsec", 0, LOG_USER); syslog(LOG_DEBUG, "mark"); closelog(); });
    DO(remove, remove(path));
}

static void names(void) {
    DO(getpwnam, getpwnam("root"));
    DO(getpwuid, getpwuid(4242));
    DO(getgrnam, getgrnam("nogroup"));
    DO(getgrgid, getgrgid(4242));
    DO(getgrouplist, { gid_t g[50]; int n = 50; getgrouplist("root", 0, g, &n); });
    DO(getaddrinfo, { struct addrinfo *r; if (!getaddrinfo("localhost", "http", 0, &r)) freeaddrinfo(r); });
    DO(gethostbyname, gethostbyname("localhost"));
    DO(getnameinfo, { struct sockaddr_in a = {.sin_family = AF_INET}; char h[100]; getnameinfo((void *)&a, sizeof a, h, 100, 0, 0, 0); });
    DO(getservbyname, getservbyname("ssh", "tcp"));
    DO(getprotobyname, getprotobyname("tcp"));
    DO(getifaddrs, { struct ifaddrs *i; if (!getifaddrs(&i)) freeifaddrs(i); });
    DO(if_nametoindex, if_nametoindex("lo"));
    DO(if_nameindex, if_freenameindex(if_nameindex()));
    DO(gethostname, gethostname(buffer, 100));
    DO(uname, { struct utsname u; uname(&u); });
    DO(setlocale, setlocale(LC_ALL, "C.UTF-8"));
    DO(newlocale, newlocale(LC_ALL_MASK, "de_DE.UTF-8", 0));
    DO(iconv_open, { iconv_t c = iconv_open("UTF-16", "ISO-8859-15"); if (c != (iconv_t)-1) iconv_close(c); });
    DO(mbstowcs, { wchar_t w[20]; mbstowcs(w, "text", 20); });
    DO(localtime, { time_t t = 5; localtime(&t); });
    DO(strftime, { time_t t = 5; strftime(buffer, 100, "%c %Z", gmtime(&t)); });
    DO(getlogin, getlogin());
    DO(cuserid, getuid());
}

static void sockets(void) {
    int s, pair[2];
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof a;
    DO(socket, s = socket(AF_INET, SOCK_STREAM, 0));
    DO(setsockopt, setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &n, sizeof n));
    DO(getsockopt, getsockopt(s, SOL_SOCKET, SO_TYPE, buffer, &n));
    DO(bind, bind(s, (void *)&a, sizeof a));
    DO(listen, listen(s, 5));
    DO(getsockname, { n = sizeof a; getsockname(s, (void *)&a, &n); });
    DO(connect, { int c = socket(AF_INET, SOCK_STREAM, 0); connect(c, (void *)&a, sizeof a); send(c, "x", 1, 0); close(c); });
    DO(accept, close(accept(s, 0, 0)));
    DO(socketpair, socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    DO(sendto, sendto(pair[0], "x", 1, 0, 0, 0));
    DO(recvfrom, recvfrom(pair[1], buffer, 10, 0, 0, 0));
    DO(sendmsg, { struct iovec v = {buffer, 3}; struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1}; sendmsg(pair[0], &m, 0); recvmsg(pair[1], &m, 0); });
    DO(sendmmsg, { struct iovec v = {buffer, 3}; struct mmsghdr m = {{.msg_iov = &v, .msg_iovlen = 1}}; sendmmsg(pair[0], &m, 1, 0); recvmmsg(pair[1], &m, 1, 0, 0); });
    DO(shutdown, shutdown(s, 2));
    DO(poll, { struct pollfd p = {s, POLLIN, 0}; poll(&p, 1, 1); });
    DO(ppoll, { struct pollfd p = {s, POLLIN, 0}; struct timespec t = {0, 1}; ppoll(&p, 1, &t, 0); });
    DO(select, { fd_set r; struct timeval t = {0, 1}; FD_ZERO(&r); select(1, &r, 0, 0, &t); });
    DO(pselect, { fd_set r; struct timespec t = {0, 1}; FD_ZERO(&r); pselect(1, &r, 0, 0, &t, 0); });
    DO(epoll_create1, { int e = epoll_create1(0); struct epoll_event v = {EPOLLIN}; epoll_ctl(e, EPOLL_CTL_ADD, s, &v); epoll_wait(e, &v, 1, 0); close(e); });
    DO(eventfd, { int e = eventfd(1, 0); eventfd_t v; eventfd_read(e, &v); close(e); });
    DO(timerfd_create, { int t = timerfd_create(CLOCK_MONOTONIC, 0); struct itimerspec i = {{0}}; timerfd_settime(t, 0, &i, 0); close(t); });
    DO(pipe, { int p[2]; pipe(p); close(p[0]); close(p[1]); });
    DO(pipe2, { int p[2]; pipe2(p, O_CLOEXEC); close(p[0]); close(p[1]); });
    close(s);
}

static void processes(void) {
    struct rlimit l;
    struct rusage u;
    DO(fork, { int c = fork(); if (!c) _exit(0); waitpid(c, 0, 0); });
    DO(vfork, { int c = vfork(); if (!c) _exit(0); waitpid(c, 0, 0); });
    DO(posix_spawn, { pid_t c; char *w[] = {"true", 0}; posix_spawnp(&c, "true", 0, 0, w, 0); waitpid(c, 0, 0); });
    DO(system, system("true"));
    DO(wordexp, { wordexp_t w; wordexp("$HOME ~ *", &w, 0); wordfree(&w); });
    DO(getpid, getpid());
    DO(getppid, getppid());
    DO(getpgid, getpgid(0));
    DO(getsid, getsid(0));
    DO(getgroups, { gid_t g[50]; getgroups(50, g); });
    DO(getpriority, getpriority(PRIO_PROCESS, 0));
    DO(nice, nice(0));
    DO(getrlimit, getrlimit(RLIMIT_NOFILE, &l));
    DO(setrlimit, setrlimit(RLIMIT_NOFILE, &l));
    DO(getrusage, getrusage(RUSAGE_SELF, &u));
    DO(times, { struct tms t; times(&t); });
    DO(sched_yield, sched_yield());
    DO(sched_getaffinity, { cpu_set_t c; sched_getaffinity(0, sizeof c, &c); sched_setaffinity(0, sizeof c, &c); });
    DO(sched_getscheduler, sched_getscheduler(0));
    DO(sysconf, sysconf(_SC_NPROCESSORS_ONLN));
    DO(sysinfo, { struct sysinfo s; sysinfo(&s); });
    DO(get_nprocs, get_nprocs_conf());
    DO(prctl, prctl(PR_GET_DUMPABLE));
    DO(sigaction, { struct sigaction a = {.sa_handler = quiet}; sigaction(SIGUSR1, &a, 0); });
    DO(raise, raise(SIGUSR1));
    DO(kill, kill(getpid(), SIGUSR1));
    DO(sigprocmask, { sigset_t s; sigemptyset(&s); sigprocmask(SIG_BLOCK, &s, 0); sigpending(&s); });
    DO(sigtimedwait, { sigset_t s; struct timespec t = {0, 1}; sigemptyset(&s); sigtimedwait(&s, 0, &t); });
    DO(alarm, alarm(0));
    DO(setitimer, { struct itimerval i = {{0}}; setitimer(ITIMER_REAL, &i, 0); });
    DO(timer_create, { timer_t t; struct sigevent e = {.sigev_notify = SIGEV_NONE}; timer_create(CLOCK_MONOTONIC, &e, &t); timer_delete(t); });
    DO(nanosleep, { struct timespec t = {0, 1}; nanosleep(&t, 0); });
    DO(usleep, usleep(1));
    DO(clock_getres, { struct timespec t; clock_getres(CLOCK_TAI, &t); clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); });
    DO(clock_nanosleep, { struct timespec t = {0, 1}; clock_nanosleep(CLOCK_MONOTONIC, 0, &t, 0); });
    DO(gettimeofday, { struct timeval t; gettimeofday(&t, 0); });
}

static void memory(void) {
    void *m;
    DO(malloc, free(malloc(50)));
    DO(malloc, free(malloc(5000000)));
    DO(realloc, { void *p = malloc(500000); p = realloc(p, 50000000); free(p); });
    DO(calloc, free(calloc(1000, 1000)));
    DO(posix_memalign, { posix_memalign(&m, 4096, 100000); free(m); });
    DO(sbrk, sbrk(4096));
    DO(mprotect, { m = mmap(0, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); mprotect(m, 4096, PROT_NONE); madvise(m, 4096, MADV_DONTNEED); munmap(m, 8192); });
    DO(mremap, { m = mmap(0, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); m = mremap(m, 8192, 16384, MREMAP_MAYMOVE); munmap(m, 16384); });
    DO(mlock, { mlock(buffer, 4096); munlock(buffer, 4096); });
    DO(mincore, { unsigned char v[1]; mincore((void *)((long)buffer & ~4095L), 4096, v); });
    DO(msync, msync((void *)((long)buffer & ~4095L), 4096, MS_ASYNC));
    DO(memfd_create, close(memfd_create("x", 0)));
    DO(shm_open, { close(shm_open("/dsec-harness", O_CREAT | O_RDWR, 0600)); shm_unlink("/dsec-harness"); });
    DO(shmget, { int i = shmget(IPC_PRIVATE, 4096, 0600); void *p = shmat(i, 0, 0); shmdt(p); shmctl(i, IPC_RMID, 0); });
    DO(sem_open, { sem_t *q = sem_open("/dsec-harness", O_CREAT, 0600, 1); sem_close(q); sem_unlink("/dsec-harness"); });
    DO(malloc_trim, { extern int malloc_trim(size_t); malloc_trim(0); });
    DO(getrandom, getrandom(buffer, 10, 0));
    DO(getentropy, getentropy(buffer, 10));
    DO(arc4random, arc4random());
    DO(qsort, qsort(buffer, sizeof buffer, 1, by_char));
    DO(regcomp, { regex_t r; regcomp(&r, "a*b", REG_EXTENDED); regexec(&r, "aab", 0, 0, 0); regfree(&r); });
}

static void threads(void) {
    pthread_t t;
    pthread_mutex_t x = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    thrd_t h;
    DO(pthread_create, { pthread_create(&t, 0, thread, 0); pthread_join(t, 0); });
    DO(pthread_mutex_lock, { pthread_mutex_lock(&x); pthread_mutex_unlock(&x); });
    DO(pthread_cond_timedwait, { struct timespec e = {0, 1}; pthread_mutex_lock(&x); pthread_cond_timedwait(&c, &x, &e); pthread_mutex_unlock(&x); });
    DO(pthread_setname_np, pthread_setname_np(pthread_self(), "x"));
    DO(pthread_getattr_np, { pthread_attr_t a; pthread_getattr_np(pthread_self(), &a); pthread_attr_destroy(&a); });
    DO(pthread_setaffinity_np, { cpu_set_t s; pthread_getaffinity_np(pthread_self(), sizeof s, &s); pthread_setaffinity_np(pthread_self(), sizeof s, &s); });
    DO(pthread_sigmask, { sigset_t s; sigemptyset(&s); pthread_sigmask(SIG_BLOCK, &s, 0); });
    DO(pthread_kill, pthread_kill(pthread_self(), 0));
    DO(pthread_atfork, pthread_atfork(0, 0, 0));
    DO(thrd_create, { thrd_create(&h, (int (*)(void *))thread, 0); thrd_join(h, 0); });
    DO(dlopen, { void *l = dlopen("libm.so.6", RTLD_NOW); dlsym(l, "cos"); dlclose(l); });
    DO(getauxval, { extern unsigned long getauxval(unsigned long); getauxval(16); });
    DO(backtrace, { extern int backtrace(void **, int); void *b[5]; backtrace(b, 5); });
    DO(atexit, atexit((void (*)(void))quiet));
}

int main(void) {
    snprintf(path, sizeof path, "/tmp/dsec-h1-%d", (int)getpid());
    snprintf(other, sizeof other, "/tmp/dsec-h2-%d", (int)getpid());
    files();
    streams();
    names();
    sockets();
    processes();
    memory();
    threads();
    return 0;
}

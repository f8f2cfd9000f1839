/* libdsec_inject.so: times what a process waits for without using it.
 *
 * Loaded by LD_PRELOAD into the Steps of a run that asks for it (dsec run --probe). It stands before
 * fsync, fdatasync, syncfs, msync, write and its kin, fwrite, flock, fcntl locks, pthread_mutex_lock and
 * the timed wait by which CPython waits for its lock (GIL), calls the real function, and writes down
 * what took long: into DSEC_PROBE/PID.probe, a file of this process alone, mapped, made with the first
 * such event. It never waits, allocates or talks to anybody; a process with nothing long costs a clock
 * reading per call and no file.
 *
 * Not seen: calls that do not pass through the dynamic linker (statically linked programs, inline system
 * calls, io_uring, functions fetched from a handle), the C library's own calls of itself (fflush), locks
 * of other kinds, and CPython's lock where it is held while nobody waits for it (then it hinders nobody).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define LONG_NS 10000000L /* what is shorter than 10 ms is counted only */
#define GIL_NS 50000000L  /* CPython asks for its lock anew every 5 ms; this long, its holder ignores that */
#define SLOTS 4096
#define HELD_FDS 1024

enum kind { K_SYNC = 1, K_WRITE, K_FLOCK, K_FLOCK_HELD, K_MUTEX, K_GIL, KINDS };

struct event { /* 64 bytes */
    _Atomic uint64_t serial; /* from 1; written last */
    uint32_t kind;
    uint32_t tid;
    uint64_t begin_ns; /* CLOCK_MONOTONIC */
    uint64_t took_ns;
    uint64_t dev;
    uint64_t ino;
    uint64_t bytes;
    uint32_t gil;   /* 1: CPython's lock was held meanwhile */
    uint32_t owner; /* mutex: thread that held it */
};

struct total {
    _Atomic uint64_t calls, ns, bytes, longest_ns;
};

struct head { /* 4096 bytes */
    char magic[8];
    uint32_t version;
    uint32_t pid;
    uint64_t began_ns;
    _Atomic uint64_t events;
    char step[128];
    uint32_t iteration, attempt;
    struct total totals[KINDS];
    char pad[4096 - 8 - 8 - 8 - 8 - 128 - 8 - sizeof(struct total) * KINDS];
};

struct book {
    struct head head;
    struct event events[SLOTS];
};

static _Atomic(struct book *) book;
static struct total totals[KINDS]; /* until there is a book */
static char folder[3500];
static _Atomic int making; /* 1: being made, 2: cannot be made */
static __thread int inside __attribute__((tls_model("initial-exec")));
static __thread uint64_t gil_since __attribute__((tls_model("initial-exec")));
static uint64_t held_since[HELD_FDS];
static const char *gil_from, *gil_to;
static _Atomic int gil_sought;
static int (*gil_check)(void), (*python_up)(void);

static int (*real_fsync)(int), (*real_fdatasync)(int), (*real_syncfs)(int), (*real_msync)(void *, size_t, int);
static ssize_t (*real_write)(int, const void *, size_t), (*real_pwrite)(int, const void *, size_t, off_t),
    (*real_pwrite64)(int, const void *, size_t, off64_t), (*real_writev)(int, const struct iovec *, int);
static size_t (*real_fwrite)(const void *, size_t, size_t, FILE *);
static int (*real_flock)(int, int), (*real_fcntl)(int, int, ...), (*real_close)(int);
static int (*real_lock)(pthread_mutex_t *);
static int (*real_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static int (*real_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#define FIND(name) ((real_##name) ? (void)0 : (void)(*(void **)&real_##name = dlsym(RTLD_NEXT, #name)))

static void find_all(void) {
    FIND(fsync); FIND(fdatasync); FIND(syncfs); FIND(msync);
    FIND(write); FIND(pwrite); FIND(pwrite64); FIND(writev); FIND(fwrite);
    FIND(flock); FIND(fcntl); FIND(close);
    if (!real_lock) *(void **)&real_lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    if (!real_timedwait) /* of the two versions the newer one */
        *(void **)&real_timedwait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!real_timedwait) *(void **)&real_timedwait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    if (!real_clockwait) *(void **)&real_clockwait = dlsym(RTLD_NEXT, "pthread_cond_clockwait");
}

static void forget(void) { /* a forked child is a process of its own */
    struct book *old = atomic_exchange(&book, NULL);
    if (old) munmap(old, sizeof *old);
    memset(totals, 0, sizeof totals);
    memset(held_since, 0, sizeof held_since);
    atomic_store(&making, 0);
    gil_since = 0;
}

static void __attribute__((constructor)) begin(void) {
    inside++;
    find_all();
    const char *where = getenv("DSEC_PROBE");
    if (where && strlen(where) < sizeof folder) strcpy(folder, where);
    pthread_atfork(NULL, NULL, forget);
    inside--;
}

/* CPython's lock lies inside its exported variable _PyRuntime; whoever waits there waits for it. */
static void seek_python(void) {
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    void *runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
    if (!runtime) return;
    if (dladdr1(runtime, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol && symbol->st_size) {
        gil_from = runtime;
        gil_to = gil_from + symbol->st_size;
    }
    *(void **)&gil_check = dlsym(RTLD_DEFAULT, "PyGILState_Check");
    *(void **)&python_up = dlsym(RTLD_DEFAULT, "Py_IsInitialized");
}

static void look_for_python(void) {
    if (!atomic_exchange(&gil_sought, 1)) {
        inside++;
        seek_python();
        inside--;
    }
}

static int holds_gil(void) {
    look_for_python();
    return gil_check && python_up && python_up() && gil_check();
}

static struct book *make_book(void) {
    char path[sizeof folder + 32];
    const char *text;
    struct book *made;
    int handle;
    if (!folder[0]) return NULL;
    int expected = 0;
    if (!atomic_compare_exchange_strong(&making, &expected, 1)) return atomic_load(&book);
    inside++;
    snprintf(path, sizeof path, "%s/%d.probe", folder, (int)getpid());
    handle = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    made = MAP_FAILED;
    /* Set aside, for a write into a mapped hole on a full disk would kill the process. */
    if (handle >= 0 && posix_fallocate(handle, 0, sizeof *made) == 0)
        made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0);
    if (handle >= 0) syscall(SYS_close, handle);
    if (made == MAP_FAILED) {
        atomic_store(&making, 2);
        inside--;
        return NULL;
    }
    memcpy(made->head.magic, "DSECPRB1", 8);
    made->head.version = 1;
    made->head.pid = (uint32_t)getpid();
    made->head.began_ns = now();
    if ((text = getenv("DSEC_STEP"))) strncpy(made->head.step, text, sizeof made->head.step - 1);
    if ((text = getenv("DSEC_ITERATION"))) made->head.iteration = (uint32_t)atoi(text);
    if ((text = getenv("DSEC_ATTEMPT"))) made->head.attempt = (uint32_t)atoi(text);
    for (int at = 0; at < KINDS; at++) {
        made->head.totals[at].calls = totals[at].calls;
        made->head.totals[at].ns = totals[at].ns;
        made->head.totals[at].bytes = totals[at].bytes;
        made->head.totals[at].longest_ns = totals[at].longest_ns;
    }
    atomic_store(&book, made);
    inside--;
    return made;
}

static void note(enum kind kind, uint64_t begin_ns, uint64_t took, uint64_t bytes, int fd, uint32_t owner) {
    struct book *open_book = atomic_load_explicit(&book, memory_order_acquire);
    struct total *total = &(open_book ? open_book->head.totals : totals)[kind];
    atomic_fetch_add_explicit(&total->calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&total->ns, took, memory_order_relaxed);
    atomic_fetch_add_explicit(&total->bytes, bytes, memory_order_relaxed);
    if (took > atomic_load_explicit(&total->longest_ns, memory_order_relaxed))
        atomic_store_explicit(&total->longest_ns, took, memory_order_relaxed);
    if (took < LONG_NS) return;
    if (!open_book && !(open_book = make_book())) return;
    struct stat status;
    memset(&status, 0, sizeof status);
    if (fd >= 0) fstat(fd, &status);
    uint64_t serial = atomic_fetch_add(&open_book->head.events, 1) + 1;
    struct event *event = &open_book->events[(serial - 1) % SLOTS];
    atomic_store_explicit(&event->serial, 0, memory_order_release); /* torn, for who reads now */
    event->kind = (uint32_t)kind;
    event->tid = (uint32_t)syscall(SYS_gettid);
    event->begin_ns = begin_ns;
    event->took_ns = took;
    event->dev = (uint64_t)status.st_dev;
    event->ino = (uint64_t)status.st_ino;
    event->bytes = bytes;
    event->gil = kind == K_SYNC || kind == K_WRITE || kind == K_FLOCK ? (uint32_t)holds_gil() : 0;
    event->owner = owner;
    atomic_store_explicit(&event->serial, serial, memory_order_release);
}

#define TIMED(type, name, kind, fd, bytes, call)           \
    do {                                                   \
        if (!real_##name) find_all();                      \
        if (inside) return call;                           \
        inside++;                                          \
        uint64_t before = now();                           \
        type result = call;                                \
        int kept = errno;                                  \
        note(kind, before, now() - before, (bytes), fd, 0); \
        inside--;                                          \
        errno = kept;                                      \
        return result;                                     \
    } while (0)
#define WROTE (result > 0 ? (uint64_t)result : 0)

EXPORT int fsync(int fd) { TIMED(int, fsync, K_SYNC, fd, 0, real_fsync(fd)); }
EXPORT int fdatasync(int fd) { TIMED(int, fdatasync, K_SYNC, fd, 0, real_fdatasync(fd)); }
EXPORT int syncfs(int fd) { TIMED(int, syncfs, K_SYNC, fd, 0, real_syncfs(fd)); }
EXPORT int msync(void *from, size_t length, int flags) {
    if (!(flags & MS_SYNC)) { if (!real_msync) find_all(); return real_msync(from, length, flags); }
    TIMED(int, msync, K_SYNC, -1, length, real_msync(from, length, flags));
}
EXPORT ssize_t write(int fd, const void *from, size_t count) {
    TIMED(ssize_t, write, K_WRITE, fd, WROTE, real_write(fd, from, count));
}
EXPORT ssize_t pwrite(int fd, const void *from, size_t count, off_t at) {
    TIMED(ssize_t, pwrite, K_WRITE, fd, WROTE, real_pwrite(fd, from, count, at));
}
EXPORT ssize_t pwrite64(int fd, const void *from, size_t count, off64_t at) {
    TIMED(ssize_t, pwrite64, K_WRITE, fd, WROTE, real_pwrite64(fd, from, count, at));
}
EXPORT ssize_t writev(int fd, const struct iovec *from, int count) {
    TIMED(ssize_t, writev, K_WRITE, fd, WROTE, real_writev(fd, from, count));
}
EXPORT size_t fwrite(const void *from, size_t size, size_t count, FILE *file) {
    if (!real_fwrite) find_all();
    if (size * count < 65536) return real_fwrite(from, size, count, file);
    TIMED(size_t, fwrite, K_WRITE, fileno(file), result * size, real_fwrite(from, size, count, file));
}

static void held(int fd) { /* a lock on this file was let go */
    if (fd < 0 || fd >= HELD_FDS || !held_since[fd]) return;
    uint64_t since = held_since[fd];
    held_since[fd] = 0;
    note(K_FLOCK_HELD, since, now() - since, 0, fd, 0);
}

static void locked(int fd, uint64_t before, uint64_t after) {
    note(K_FLOCK, before, after - before, 0, fd, 0);
    if (fd >= 0 && fd < HELD_FDS) held_since[fd] = after;
}

EXPORT int flock(int fd, int how) {
    if (!real_flock) find_all();
    if (inside) return real_flock(fd, how);
    inside++;
    uint64_t before = now();
    if (how & LOCK_UN) held(fd);
    int result = real_flock(fd, how);
    int kept = errno;
    if (!result && !(how & LOCK_UN)) locked(fd, before, now());
    inside--;
    errno = kept;
    return result;
}

static int locking(int fd, int what, void *given) {
    struct flock *lock = given;
    inside++;
    uint64_t before = now();
    if (lock->l_type == F_UNLCK) held(fd);
    int result = real_fcntl(fd, what, given);
    int kept = errno;
    if (!result && lock->l_type != F_UNLCK) locked(fd, before, now());
    inside--;
    errno = kept;
    return result;
}

static int passed_on(int fd, int what, void *given) {
    if (!real_fcntl) find_all();
    if (!inside && given && (what == F_SETLK || what == F_SETLKW || what == F_OFD_SETLK || what == F_OFD_SETLKW))
        return locking(fd, what, given);
    return real_fcntl(fd, what, given);
}

EXPORT int fcntl(int fd, int what, ...) {
    va_list more;
    va_start(more, what);
    void *given = va_arg(more, void *);
    va_end(more);
    return passed_on(fd, what, given);
}
EXPORT int fcntl64(int fd, int what, ...) {
    va_list more;
    va_start(more, what);
    void *given = va_arg(more, void *);
    va_end(more);
    return passed_on(fd, what, given);
}
EXPORT int close(int fd) {
    if (!real_close) find_all();
    if (!inside && fd >= 0 && fd < HELD_FDS && held_since[fd]) {
        inside++;
        held(fd);
        inside--;
    }
    return real_close(fd);
}

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex) {
    int result = pthread_mutex_trylock(mutex);
    if (result != EBUSY) return result;
    if (!real_lock) { /* before we were set up: nobody is timed yet */
        while ((result = pthread_mutex_trylock(mutex)) == EBUSY) sched_yield();
        return result;
    }
    if (inside) return real_lock(mutex);
    inside++;
    uint32_t owner = (uint32_t)mutex->__data.__owner;
    uint64_t before = now();
    result = real_lock(mutex);
    note(K_MUTEX, before, now() - before, 0, -1, owner);
    inside--;
    return result;
}

/* CPython waits for its lock in rounds of 5 ms; the rounds of one wait are added up. */
static void waited(const void *where, uint64_t before, int result) {
    if (inside) return;
    inside++;
    look_for_python();
    if (gil_from && (const char *)where >= gil_from && (const char *)where < gil_to) {
        if (!gil_since) gil_since = before;
        if (result != ETIMEDOUT) {
            uint64_t took = now() - gil_since;
            if (took >= GIL_NS) note(K_GIL, gil_since, took, 0, -1, 0);
            gil_since = 0;
        }
    }
    inside--;
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until) {
    if (!real_timedwait) find_all();
    uint64_t before = now();
    int result = real_timedwait(cond, mutex, until);
    waited(cond, before, result);
    return result;
}
EXPORT int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                                  const struct timespec *until) {
    if (!real_clockwait) find_all();
    uint64_t before = now();
    int result = real_clockwait(cond, mutex, clock, until);
    waited(cond, before, result);
    return result;
}

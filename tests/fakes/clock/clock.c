/* A wall clock that jumps: the time of day is shifted by the nanoseconds in the file DSEC_TEST_CLOCK
   names, read anew at every call. The monotonic clock, and the kernel's own times, are left alone. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const int64_t *shift;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("DSEC_TEST_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *place = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (place != MAP_FAILED)
        shift = place;
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    int failed = syscall(SYS_clock_gettime, id, now);
    if (failed || !shift || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE && id != CLOCK_TAI))
        return failed;
    int64_t ns = (int64_t)now->tv_sec * 1000000000 + now->tv_nsec + *shift;
    now->tv_sec = ns / 1000000000;
    now->tv_nsec = ns % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    (void)zone;
    int failed = clock_gettime(CLOCK_REALTIME, &exact);
    if (!failed) {
        now->tv_sec = exact.tv_sec;
        now->tv_usec = exact.tv_nsec / 1000;
    }
    return failed;
}

time_t time(time_t *place)
{
    struct timespec exact;
    if (clock_gettime(CLOCK_REALTIME, &exact))
        return -1;
    if (place)
        *place = exact.tv_sec;
    return exact.tv_sec;
}

/* A frozen clock for the recorder's sandbox.
 *
 * Loaded into every process of the box through /etc/ld.so.preload. It reads the session's clock from a file that the
 * recorder maps in, so that nothing shows in the environment:
 *
 *   - the wall clock stands still at the session's virtual time; the monotonic clocks run on, so that waiting works;
 *   - file times that the kernel stamped since the box started are shown as the virtual time of that moment;
 *   - what programs ask to sleep is added up, which tells the recorder by how much the virtual clock moves on;
 *   - where the recorder keeps an exact time (a terminal), sleeping goes by that time, so that a busy machine changes
 *     nothing, and the clock shows at least the moment at which a sleep ended;
 *   - directories on tmpfs show the size they have on ext4;
 *   - `uname` tells of another kernel where the recorder put one in.
 *
 * System calls are made directly, so that the object needs no particular C library version.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define NOW_FILE "/run/.clock/now"
#define SLEPT_FILE "/run/.clock/slept"
#define KERNEL_FILE "/run/.clock/kernel" /* release, newline, version, newline */
#define ENTRIES 511
#define SECOND 1000000000LL

struct entry { int64_t real_ns, virtual_s; };
struct table { int64_t count, exact_ns; struct entry entry[ENTRIES]; }; /* exact_ns: 0 where none is kept */

static const struct table *table;
static int64_t *slept; /* nanoseconds asked for, and the latest moment at which a sleep ended */

__attribute__((constructor)) static void worldline_clock_open(void)
{
    int saved = errno, fd = open(NOW_FILE, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        void *p = mmap(0, sizeof *table, PROT_READ, MAP_SHARED, fd, 0);
        if (p != MAP_FAILED) table = p;
        close(fd);
    }
    fd = open(SLEPT_FILE, O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        void *p = mmap(0, 2 * sizeof *slept, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p != MAP_FAILED) slept = p;
        close(fd);
    }
    errno = saved;
}

static int frozen(int64_t *seconds)
{
    int64_t n = table ? table->count : 0;
    if (n < 1) return 0;
    *seconds = table->entry[n - 1].virtual_s;
    if (table->exact_ns && slept) {
        int64_t ended = __atomic_load_n(slept + 1, __ATOMIC_RELAXED) / SECOND;
        if (ended > *seconds) *seconds = ended;
    }
    return 1;
}

/* ---- wall clock ---- */

int clock_gettime(clockid_t id, struct timespec *ts)
{
    int64_t s;
    if ((id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_TAI) && frozen(&s)) {
        ts->tv_sec = s;
        ts->tv_nsec = 0;
        return 0;
    }
    return syscall(SYS_clock_gettime, id, ts);
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    struct timespec ts;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &ts)) return -1;
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    if (out) *out = ts.tv_sec;
    return ts.tv_sec;
}

int timespec_get(struct timespec *ts, int base)
{
    if (base != TIME_UTC) return 0;
    return clock_gettime(CLOCK_REALTIME, ts) ? 0 : base;
}

/* ---- sleeping ---- */

static void note_sleep(int64_t ns)
{
    if (slept && ns > 0) __atomic_add_fetch(slept, ns, __ATOMIC_RELAXED);
}

static int64_t nanoseconds(const struct timespec *ts) { return ts->tv_sec * SECOND + ts->tv_nsec; }

/* The moment at which a sleep that begins now will end, or 0. */
static int64_t end_of_sleep(int64_t ns)
{
    int64_t now, ended;
    if (!table || !slept || !(now = __atomic_load_n(&table->exact_ns, __ATOMIC_RELAXED)) || ns < 0) return 0;
    ended = __atomic_load_n(slept + 1, __ATOMIC_RELAXED);
    return (ended > now ? ended : now) + ns;
}

static void sleep_ended(int64_t moment)
{
    int64_t seen;
    if (!moment) return;
    seen = __atomic_load_n(slept + 1, __ATOMIC_RELAXED);
    while (seen < moment && !__atomic_compare_exchange_n(slept + 1, &seen, moment, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

/* Sleep until the recorder's time reaches a moment. */
static int sleep_until(int64_t end, struct timespec *left)
{
    static const struct timespec step = {0, 4000000};
    int64_t now;
    while ((now = __atomic_load_n(&table->exact_ns, __ATOMIC_RELAXED)) < end)
        if (syscall(SYS_nanosleep, &step, 0)) {
            if (left) {
                left->tv_sec = (end - now) / SECOND;
                left->tv_nsec = (end - now) % SECOND;
            }
            return -1;
        }
    sleep_ended(end);
    return 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    int64_t end = wanted ? end_of_sleep(nanoseconds(wanted)) : 0;
    if (wanted) note_sleep(nanoseconds(wanted));
    return end ? sleep_until(end, left) : (int)syscall(SYS_nanosleep, wanted, left);
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *wanted, struct timespec *left)
{
    struct timespec now, relative;
    int64_t end = 0;
    if (wanted && (flags & TIMER_ABSTIME)) {
        int64_t ns;
        clock_gettime(id, &now);
        ns = nanoseconds(wanted) - nanoseconds(&now);
        ns = (ns + 9999999) / 10000000 * 10000000; /* some of it has passed since the moment was chosen */
        note_sleep(ns);
        end = end_of_sleep(ns);
        if (end) return sleep_until(end, 0) ? errno : 0;
        if (id == CLOCK_REALTIME) { /* a moment of the frozen clock: wait for the distance to it */
            if (ns < 0) ns = 0;
            relative.tv_sec = ns / SECOND;
            relative.tv_nsec = ns % SECOND;
            return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &relative, 0) ? errno : 0;
        }
    } else if (wanted) {
        note_sleep(nanoseconds(wanted));
        end = end_of_sleep(nanoseconds(wanted));
    }
    if (end) return sleep_until(end, left) ? errno : 0;
    return syscall(SYS_clock_nanosleep, id, flags, wanted, left) ? errno : 0;
}

unsigned int sleep(unsigned int seconds)
{
    struct timespec wanted = {seconds, 0}, left = {0, 0};
    return nanosleep(&wanted, &left) ? (unsigned int)(left.tv_sec + (left.tv_nsec >= SECOND / 2)) : 0;
}

int usleep(useconds_t us)
{
    struct timespec wanted = {us / 1000000, (us % 1000000) * 1000};
    return nanosleep(&wanted, 0);
}

/* ---- file times ---- */

static void map_time(int64_t *seconds, int64_t *ns)
{
    struct timespec now;
    int64_t at = *seconds * SECOND + *ns, i, n = table ? table->count : 0;
    if (n < 1 || at < table->entry[0].real_ns) return;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    if (at > nanoseconds(&now)) return;
    for (i = n - 1; i > 0 && table->entry[i].real_ns > at; i--) {}
    *seconds = table->entry[i].virtual_s;
    *ns = 0;
}

static void map_timespec(struct timespec *ts)
{
    int64_t s = ts->tv_sec, ns = ts->tv_nsec;
    map_time(&s, &ns);
    ts->tv_sec = s;
    ts->tv_nsec = ns;
}

static int map_stat(int result, struct stat *st)
{
    if (result || !table) return result;
    map_timespec(&st->st_atim);
    map_timespec(&st->st_mtim);
    map_timespec(&st->st_ctim);
    if (S_ISDIR(st->st_mode) && st->st_blocks == 0 && st->st_size > 0 && st->st_size < 4096) {
        st->st_size = 4096;
        st->st_blocks = 8;
    }
    return result;
}

static int stat_at(int dir, const char *path, struct stat *st, int flags)
{
    return map_stat(syscall(SYS_newfstatat, dir, path, st, flags), st);
}

int stat(const char *restrict p, struct stat *restrict st) { return stat_at(AT_FDCWD, p, st, 0); }
int lstat(const char *restrict p, struct stat *restrict st) { return stat_at(AT_FDCWD, p, st, AT_SYMLINK_NOFOLLOW); }
int fstat(int fd, struct stat *st) { return map_stat(syscall(SYS_fstat, fd, st), st); }
int fstatat(int d, const char *restrict p, struct stat *restrict st, int f) { return stat_at(d, p, st, f); }

/* On 64-bit systems both structures are the same. */
int stat64(const char *restrict p, struct stat64 *restrict st) { return stat(p, (struct stat *)st); }
int lstat64(const char *restrict p, struct stat64 *restrict st) { return lstat(p, (struct stat *)st); }
int fstat64(int fd, struct stat64 *st) { return fstat(fd, (struct stat *)st); }
int fstatat64(int d, const char *restrict p, struct stat64 *restrict st, int f) { return fstatat(d, p, (struct stat *)st, f); }

/* The names that programs built before C library 2.33 call. */
int __xstat(int v, const char *p, struct stat *st) { (void)v; return stat(p, st); }
int __lxstat(int v, const char *p, struct stat *st) { (void)v; return lstat(p, st); }
int __fxstat(int v, int fd, struct stat *st) { (void)v; return fstat(fd, st); }
int __fxstatat(int v, int d, const char *p, struct stat *st, int f) { (void)v; return fstatat(d, p, st, f); }
int __xstat64(int v, const char *p, struct stat64 *st) { (void)v; return stat64(p, st); }
int __lxstat64(int v, const char *p, struct stat64 *st) { (void)v; return lstat64(p, st); }
int __fxstat64(int v, int fd, struct stat64 *st) { (void)v; return fstat64(fd, st); }
int __fxstatat64(int v, int d, const char *p, struct stat64 *st, int f) { (void)v; return fstatat64(d, p, st, f); }

static void map_statx_time(struct statx_timestamp *t)
{
    int64_t s = t->tv_sec, ns = t->tv_nsec;
    map_time(&s, &ns);
    t->tv_sec = s;
    t->tv_nsec = ns;
}

static long map_statx(long result, struct statx *st)
{
    if (result || !table) return result;
    map_statx_time(&st->stx_atime);
    map_statx_time(&st->stx_mtime);
    map_statx_time(&st->stx_ctime);
    map_statx_time(&st->stx_btime);
    if (S_ISDIR(st->stx_mode) && st->stx_blocks == 0 && st->stx_size > 0 && st->stx_size < 4096) {
        st->stx_size = 4096;
        st->stx_blocks = 8;
    }
    return result;
}

#ifdef __x86_64__
/* Node asks for file times by calling `syscall` itself. Hidden calls of this library come by here, too. */
long syscall(long number, ...)
{
    va_list list;
    long a[6], i, result;
    va_start(list, number);
    for (i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    register long r10 __asm__("r10") = a[3], r8 __asm__("r8") = a[4], r9 __asm__("r9") = a[5];
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return number == SYS_statx ? map_statx(result, (struct statx *)a[4]) : result;
}
#define MAPPED(result, st) (result)
#else
#define MAPPED(result, st) map_statx(result, st)
#endif

int statx(int dir, const char *restrict path, int flags, unsigned int mask, struct statx *restrict st)
{
    return (int)MAPPED(syscall(SYS_statx, dir, path, flags, mask, st), st);
}

/* ---- kernel name ---- */

int uname(struct utsname *name)
{
    char text[sizeof name->release + sizeof name->version + 2], *release = text, *version, *end;
    int result = syscall(SYS_uname, name), fd, saved = errno;
    ssize_t size;
    if (result || (fd = open(KERNEL_FILE, O_RDONLY | O_CLOEXEC)) < 0) {
        errno = saved;
        return result;
    }
    size = read(fd, text, sizeof text - 1);
    close(fd);
    text[size < 0 ? 0 : size] = 0;
    if ((version = strchr(release, '\n')) && (end = strchr(version + 1, '\n'))) {
        *version++ = *end = 0;
        if (strlen(release) < sizeof name->release) strcpy(name->release, release);
        if (strlen(version) < sizeof name->version) strcpy(name->version, version);
    }
    return 0;
}

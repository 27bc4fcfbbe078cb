/* Clocks and sleeps in virtual time: an object of its own, preloaded where RDMALAB_CLOCK is virtual,
 * or sleeps: of a program that is alone on both nodes, once it has opened the list of devices.
 *
 * What waits for both the lab and the host (poll, select, epoll_wait) looks at the host every
 * millisecond, and is over when as much virtual time has passed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000ull
#define API __attribute__((visibility("default")))

enum { EPOCH_S = 1600000000, LISTEN_MS = 1 };

static int has_clock(void)
{
	static int known = -1;

	if (known < 0) {
		const char *clock = getenv("RDMALAB_CLOCK");

		known = clock && !strcmp(clock, "virtual");
	}
	return known;
}

/* A function of the other object, which speaks with the lab: UINT64_MAX from it says there is none. */
static uint64_t ask(const char *name, uint64_t ns, int connects)
{
	uint64_t (*function)(uint64_t, int) = (uint64_t (*)(uint64_t, int))dlsym(RTLD_DEFAULT, name);

	return function ? function(ns, connects) : UINT64_MAX;
}

/* The virtual time; -1: the program's clock is real. until_ns: to which it sleeps; 0: it only looks. */
static int virtual_ns(uint64_t until_ns, uint64_t *ns)
{
	*ns = has_clock() || until_ns ? ask("rdmalab_clock", until_ns, has_clock()) : UINT64_MAX;
	return *ns == UINT64_MAX ? -1 : 0;
}

static int is_wall(clockid_t id)
{
	return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
}

static int is_virtual(clockid_t id)
{
	return is_wall(id) || id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_RAW ||
	       id == CLOCK_MONOTONIC_COARSE || id == CLOCK_BOOTTIME;
}

API int clock_gettime(clockid_t id, struct timespec *t)
{
	uint64_t ns;

	if (!is_virtual(id) || virtual_ns(0, &ns))
		return syscall(SYS_clock_gettime, id, t);
	t->tv_sec = ns / NS + (is_wall(id) ? EPOCH_S : 0);
	t->tv_nsec = ns % NS;
	return 0;
}

API int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec t;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &t))
		return -1;
	tv->tv_sec = t.tv_sec;
	tv->tv_usec = t.tv_nsec / 1000;
	return 0;
}

API time_t time(time_t *seconds)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (seconds)
		*seconds = t.tv_sec;
	return t.tv_sec;
}

static void real_pause(void)
{
	static const struct timespec pause = { 0, 200000 };

	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
}

/* Sleep to a virtual time; -1: there is no lab. */
static int sleep_to(uint64_t until_ns)
{
	uint64_t ns;

	for (;;) {
		if (virtual_ns(until_ns, &ns))
			return -1;
		if (ns >= until_ns)
			return 0;
		real_pause();
	}
}

API int clock_nanosleep(clockid_t id, int flags, const struct timespec *wish, struct timespec *rest)
{
	uint64_t now, until, ns = wish->tv_sec * NS + wish->tv_nsec;

	if (wish->tv_nsec < 0 || wish->tv_nsec >= (long)NS || wish->tv_sec < 0)
		return EINVAL;
	if (flags & TIMER_ABSTIME && is_virtual(id) && !virtual_ns(0, &now)) {
		ns -= is_wall(id) ? EPOCH_S * NS : 0;
		return ns > now && sleep_to(ns) ? EIO : 0;
	}
	until = flags & TIMER_ABSTIME || !is_virtual(id) ? UINT64_MAX : ask("rdmalab_pass", ns, has_clock());
	if (until == UINT64_MAX)
		return syscall(SYS_clock_nanosleep, id, flags, wish, rest) ? errno : 0;
	return until && sleep_to(until) ? EIO : 0;
}

API int nanosleep(const struct timespec *wish, struct timespec *rest)
{
	int error = clock_nanosleep(CLOCK_MONOTONIC, 0, wish, rest);

	if (error)
		errno = error;
	return error ? -1 : 0;
}

API int usleep(useconds_t us)
{
	struct timespec wish = { us / 1000000, us % 1000000 * 1000 };

	return nanosleep(&wish, NULL);
}

API unsigned int sleep(unsigned int seconds)
{
	struct timespec wish = { seconds, 0 };

	return nanosleep(&wish, NULL) ? seconds : 0;
}

/* ------------------------------------------------------------------------- waits for descriptors */
/* The deadline of a timeout; 0: the call is not ours: it returns at once, or waits without end. */
static uint64_t deadline(int64_t timeout_ns)
{
	uint64_t ns;

	return timeout_ns <= 0 || virtual_ns(0, &ns) ? 0 : ns + timeout_ns;
}

static int is_past(uint64_t deadline_ns)
{
	uint64_t ns;

	return virtual_ns(deadline_ns, &ns) || ns >= deadline_ns;
}

API int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	static int (*real)(struct pollfd *, nfds_t, int);
	uint64_t until = deadline(timeout * 1000000ll);
	int found;

	if (!real)
		real = dlsym(RTLD_NEXT, "poll");
	if (!until)
		return real(fds, count, timeout);
	while (!(found = real(fds, count, LISTEN_MS)) && !is_past(until))
		;
	return found ? found : real(fds, count, 0);
}

API int epoll_wait(int fd, struct epoll_event *events, int most, int timeout)
{
	static int (*real)(int, struct epoll_event *, int, int);
	uint64_t until = deadline(timeout * 1000000ll);
	int found;

	if (!real)
		real = dlsym(RTLD_NEXT, "epoll_wait");
	if (!until)
		return real(fd, events, most, timeout);
	while (!(found = real(fd, events, most, LISTEN_MS)) && !is_past(until))
		;
	return found ? found : real(fd, events, most, 0);
}

API int select(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict odd,
	       struct timeval *restrict timeout)
{
	static int (*real)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
	fd_set asked[3], *sets[3] = { in, out, odd };
	uint64_t until = timeout ? deadline(timeout->tv_sec * 1000000000ll + timeout->tv_usec * 1000ll) : 0;
	int found, at;

	if (!real)
		real = dlsym(RTLD_NEXT, "select");
	if (!until)
		return real(count, in, out, odd, timeout);
	for (at = 0; at < 3; at++)
		if (sets[at])
			asked[at] = *sets[at];
	for (;;) {
		struct timeval listen = { 0, LISTEN_MS * 1000 };

		found = real(count, in, out, odd, &listen);
		if (found || is_past(until))
			return found;
		for (at = 0; at < 3; at++)
			if (sets[at])
				*sets[at] = asked[at];
	}
}

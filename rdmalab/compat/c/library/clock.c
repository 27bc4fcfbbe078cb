/* With RDMALAB_CLOCK=virtual the sleeps of a program let virtual time pass, and no other. */
#include "lab.h"
#include <time.h>

static int is_virtual(void)
{
	static int known = -1;

	if (known < 0) {
		const char *clock = getenv("RDMALAB_CLOCK");

		known = clock && !strcmp(clock, "virtual");
	}
	return known;
}

/* Whether the lab has let the time pass: not before the program has opened the list of devices. */
static int passed(uint64_t ns)
{
	struct ask_pass ask = { .ns = ns };
	int before = errno, is_over = is_virtual() && lab_is_open() && !TELL(WORD_PASS, lab_first(), &ask);

	errno = before;
	return is_over;
}

API int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	int error;

	if (wanted && wanted->tv_sec >= 0 && wanted->tv_nsec >= 0 && wanted->tv_nsec < 1000000000 &&
	    passed(wanted->tv_sec * UINT64_C(1000000000) + wanted->tv_nsec))
		return 0;
	error = clock_nanosleep(CLOCK_REALTIME, 0, wanted, left);
	return failed(error) ? -1 : 0;
}

API int usleep(useconds_t us)
{
	struct timespec wanted = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L };

	return nanosleep(&wanted, NULL);
}

API unsigned int sleep(unsigned int seconds)
{
	struct timespec wanted = { .tv_sec = seconds }, left = { .tv_sec = 0 };

	return nanosleep(&wanted, &left) ? (unsigned int)left.tv_sec : 0;
}

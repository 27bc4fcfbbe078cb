/* The connection to the lab. */
#include "lab.h"
#include <execinfo.h>
#include <link.h>
#include <sys/prctl.h>
#include <sys/stat.h>

void octets_begin(struct octets *o)
{
	o->at = o->few;
	o->length = 0;
	o->room = sizeof(o->few);
}

void octets_end(struct octets *o)
{
	if (o->at != o->few)
		free(o->at);
	octets_begin(o);
}

void *octets_add(struct octets *o, const void *from, size_t length)
{
	uint8_t *place;

	if (o->length + length > o->room) {
		size_t room = 2 * (o->length + length);
		uint8_t *more = malloc(room);

		if (!more)
			abort();
		memcpy(more, o->at, o->length);
		if (o->at != o->few)
			free(o->at);
		o->at = more;
		o->room = room;
	}
	place = o->at + o->length;
	if (from && length)
		memcpy(place, from, length);
	o->length += length;
	return place;
}

static const void *own_start, *own_stop; /* the code of this library */

static int is_own(struct dl_phdr_info *info, size_t size, void *inside)
{
	int at;

	(void)size;
	for (at = 0; at < info->dlpi_phnum; at++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[at];
		const uint8_t *start = (const uint8_t *)info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD || (uint8_t *)inside < start ||
		    (uint8_t *)inside >= start + part->p_memsz)
			continue;
		own_start = start;
		own_stop = start + part->p_memsz;
		return 1;
	}
	return 0;
}

static int line = -1;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static uint32_t devices_count;
static uint16_t devices_first;

static int send_all(int fd, const void *from, size_t length)
{
	const uint8_t *next = from;

	while (length) {
		ssize_t n = send(fd, next, length, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return EIO;
		next += n;
		length -= n;
	}
	return 0;
}

/* The first bytes of an answer, and the two descriptors that come with them; -1: none does. */
static ssize_t receive_passed(int fd, void *to, size_t length, int passed[2])
{
	union { struct cmsghdr head; char room[CMSG_SPACE(2 * sizeof(int))]; } control = {};
	struct iovec part = { to, length };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control)
	};
	ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *extra = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;

	if (extra && extra->cmsg_type == SCM_RIGHTS && extra->cmsg_len == CMSG_LEN(2 * sizeof(int)))
		memcpy(passed, CMSG_DATA(extra), 2 * sizeof(int));
	return n;
}

static int receive_all(int fd, void *to, size_t length)
{
	uint8_t *next = to;

	while (length) {
		ssize_t n = recv(fd, next, length, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return EIO;
		next += n;
		length -= n;
	}
	return 0;
}

/* Where in the program the call was made; and where the function that made it was called, because
 * that may be one of the inline functions of verbs.h. */
void lab_callers(uint64_t sites[2])
{
	void *frames[12];
	int count = backtrace(frames, sizeof(frames) / sizeof(*frames)), at;

	for (at = 0; at < count && frames[at] >= own_start && frames[at] < own_stop; at++)
		;
	if (at < count)
		sites[0] = (uintptr_t)frames[at];
	if (at + 1 < count)
		sites[1] = (uintptr_t)frames[at + 1];
}

static int send_word(int fd, enum word word)
{
	struct head head = { .word = word, .thread = gettid() };

	return send_all(fd, &head, sizeof(head));
}

static int exchange(int fd, enum word word, uint16_t node, const void *ask, size_t ask_length,
		    struct octets *asked, void *answer, size_t answer_length,
		    struct octets *answered, uint32_t *bad)
{
	struct head head = {};
	struct { uint32_t length; int32_t error; uint32_t bad; } reply;
	size_t tail = asked ? asked->length : 0, fixed;
	struct octets whole;
	int broken;

	head.length = ask_length + tail;
	head.word = word;
	head.node = node;
	head.thread = gettid();
	if (word != WORD_POLL_CQ) /* polls are many */
		lab_callers(head.sites);
	octets_begin(&whole); /* one packet, so that the lab wakes once */
	octets_add(&whole, &head, sizeof(head));
	octets_add(&whole, ask, ask_length);
	if (asked)
		octets_add(&whole, asked->at, tail);
	broken = send_all(fd, whole.at, whole.length);
	octets_end(&whole);
	if (broken || receive_all(fd, &reply, sizeof(reply)))
		return EIO;
	if (bad)
		*bad = reply.bad;
	fixed = reply.length < answer_length ? reply.length : answer_length;
	if (answer_length)
		memset(answer, 0, answer_length);
	if (receive_all(fd, answer, fixed))
		return EIO;
	if (reply.length > fixed) {
		struct octets rest;
		struct octets *into = answered ? answered : &rest;

		if (!answered)
			octets_begin(&rest);
		broken = receive_all(fd, octets_add(into, NULL, reply.length - fixed), reply.length - fixed);
		if (!answered)
			octets_end(&rest);
		if (broken)
			return EIO;
	}
	return reply.error;
}

/* A program may close descriptors that it does not know, and its next socket has the number then. */
static struct stat ours, our_bell;
static int bell = -1;

static int is_ours(int fd, const struct stat *known)
{
	struct stat now;

	return !fstat(fd, &now) && now.st_ino == known->st_ino && now.st_dev == known->st_dev;
}

static void share_page(void)
{
	struct { uint32_t length; int32_t error; uint32_t bad; } reply = {};
	int passed[2] = { -1, -1 };

	page_leave();
	if (send_word(line, WORD_SHARE_PAGE) ||
	    receive_passed(line, &reply, sizeof(reply), passed) != sizeof(reply) || passed[0] < 0)
		return;
	bell = passed[1];
	if (!fstat(bell, &our_bell))
		page_share(passed[0]);
	close(passed[0]);
}

void lab_ring(void)
{
	/* Where the bell cannot be rung, the next call is a message, and finds the lab or its end. */
	if (!is_ours(bell, &our_bell) ||
	    (send(bell, "r", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EAGAIN))
		page_leave();
}

int lab_say(enum word word, uint16_t node, const void *ask, size_t ask_length, struct octets *asked,
	    void *answer, size_t answer_length, struct octets *answered, uint32_t *bad)
{
	int error;

	if (line < 0)
		return failed(ENODEV);
	pthread_mutex_lock(&turn);
	if (!is_ours(line, &ours)) {
		pthread_mutex_unlock(&turn);
		return failed(EIO);
	}
	error = exchange(line, word, node, ask, ask_length, asked, answer, answer_length, answered, bad);
	pthread_mutex_unlock(&turn);
	if (error == EIO)
		page_leave(); /* nobody looks into it */
	if (word != WORD_CLOCK && (word != WORD_POLL_CQ || (answered && answered->length)))
		page_called();
	return failed(error);
}

static int dial(void)
{
	struct sockaddr_un there = { .sun_family = AF_UNIX };
	const char *path = getenv("RDMALAB_SOCKET");
	int fd;

	if (!path || strlen(path) >= sizeof(there.sun_path)) {
		errno = ENODEV;
		return -1;
	}
	strcpy(there.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&there, sizeof(there))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int lab_stream(enum word word, uint16_t node, uint32_t *number)
{
	struct answer_create_comp_channel answer = {};
	int fd = dial();
	struct ask_create_comp_channel ask = { .fd = fd }; /* the same as of open_async */

	if (fd < 0) {
		if (line >= 0) /* the lab has ended */
			errno = EIO;
		return -1;
	}
	if (failed(exchange(fd, word, node, &ask, sizeof(ask), NULL, &answer, sizeof(answer), NULL, NULL))) {
		close(fd);
		return -1;
	}
	if (number)
		*number = answer.handle;
	return fd;
}

/* What was opened belongs to the parent, as it does with a real adapter. */
static void in_child(void)
{
	line = bell = -1;
	page_in_child();
	pthread_mutex_init(&turn, NULL);
}

static void greet(void)
{
	struct ask_hello ask = { .pid = getpid() };
	struct answer_hello answer;
	const char *node = getenv("RDMALAB_NODE");

	devices_count = 0;
	dl_iterate_phdr(is_own, (void *)(uintptr_t)greet);
	line = dial();
	if (line < 0 || fstat(line, &ours))
		return;
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* the lab reads registered memory */
	ask.node = node && *node ? (uint8_t)*node : 0;
	if (exchange(line, WORD_HELLO, 0, &ask, sizeof(ask), NULL, &answer, sizeof(answer), NULL, NULL)) {
		close(line);
		line = -1;
		return;
	}
	share_page();
	devices_first = answer.first;
	devices_count = answer.count;
}

uint32_t lab_devices(uint16_t *first)
{
	static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
	static pid_t greeted; /* a child that opens a device is a process of its own */

	pthread_mutex_lock(&once);
	if (greeted != getpid()) {
		if (!greeted)
			pthread_atfork(NULL, NULL, in_child);
		greeted = getpid();
		greet();
	}
	*first = devices_first;
	pthread_mutex_unlock(&once);
	return devices_count;
}

int lab_is_open(void)
{
	return line >= 0;
}

uint16_t lab_first(void)
{
	return devices_first;
}

/* For clock.c, which is an object of its own. connects: also before the program has opened the list of
 * devices. Without a lab UINT64_MAX, and errno stays. */
static int is_there(int connects, uint16_t *first)
{
	*first = lab_first();
	return connects ? lab_devices(first) > 0 : lab_is_open();
}

API uint64_t rdmalab_clock(uint64_t until_ns, int connects)
{
	struct ask_clock ask = { .until_ns = until_ns };
	struct answer_clock answer;
	int before = errno;
	uint16_t first;

	if (is_there(connects, &first) && !SAY(WORD_CLOCK, first, &ask, &answer))
		return answer.ns;
	errno = before;
	return UINT64_MAX;
}

API uint64_t rdmalab_pass(uint64_t ns, int connects)
{
	struct ask_pass ask = { .ns = ns };
	struct answer_pass answer;
	int before = errno;
	uint16_t first;

	if (is_there(connects, &first) && !SAY(WORD_PASS, first, &ask, &answer))
		return answer.until_ns;
	errno = before;
	return UINT64_MAX;
}

/* Parts of exported programs; each is written if the program uses it. */
/* part: head */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <arpa/inet.h>
#include <infiniband/verbs.h>

/* part: fail */
/* A call has done something else than in the lab. */
#define fail(what, value) failed(__LINE__, what, value)

static void failed(int line, const char *what, long value)
{
	fprintf(stderr, "line %d: %s: %ld (errno %d, %s)\n", line, what, value, errno,
		strerror(errno));
	exit(1);
}

/* part: opened */
static struct ibv_context *opened(struct ibv_device **list, int which)
{
	struct ibv_context *context = ibv_open_device(list[which]);

	if (!context)
		fail("ibv_open_device", errno);
	return context;
}

/* part: wait_ns */
/* So much time passed in the lab. A real device is slower: compile with -DLEAST_NS=20000000. */
#ifndef LEAST_NS
#define LEAST_NS 0
#endif

static void wait_ns(long long ns)
{
	long long wanted = ns > LEAST_NS ? ns : LEAST_NS;
	struct timespec time = { .tv_sec = wanted / 1000000000, .tv_nsec = wanted % 1000000000 };

	nanosleep(&time, NULL);
}

/* part: gid_of */
static union ibv_gid gid_of(struct ibv_context *context, int index)
{
	union ibv_gid gid;

	if (ibv_query_gid(context, 1, index, &gid))
		fail("ibv_query_gid", errno);
	return gid;
}

/* part: srq_number */
static uint32_t srq_number(struct ibv_srq *srq)
{
	uint32_t number;

	if (ibv_get_srq_num(srq, &number))
		fail("ibv_get_srq_num", errno);
	return number;
}

/* part: flow */
struct flow_rule {
	struct ibv_flow_attr attr;
	struct ibv_flow_spec_eth eth;
};

/* part: await */
/* Wait until a descriptor has an event, a second at most. */
static void await(int fd)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };

	if (poll(&one, 1, 1000) != 1)
		fail("poll", errno);
}

/* part: take */
/* A completion of the lab. has: which members have a meaning in it. */
enum { OPCODE = 1, BYTE_LEN = 2, IMM_DATA = 4, SRC_QP = 8 };

struct expected {
	uint64_t wr_id;
	enum ibv_wc_status status;
	struct ibv_qp *qp;
	int has;
	enum ibv_wc_opcode opcode;
	uint32_t byte_len, imm_data, src_qp;
	unsigned int wc_flags;
};

static void compare(const char *cq, const struct ibv_wc *wc, const struct expected *lab)
{
	const char *wrong = NULL;

	if (wc->wr_id != lab->wr_id)
		wrong = "wr_id";
	else if (wc->status != lab->status)
		wrong = "status";
	else if (lab->qp && wc->qp_num != lab->qp->qp_num)
		wrong = "qp_num";
	else if ((lab->has & OPCODE) && wc->opcode != lab->opcode)
		wrong = "opcode";
	else if ((lab->has & OPCODE) && wc->wc_flags != lab->wc_flags)
		wrong = "wc_flags";
	else if ((lab->has & BYTE_LEN) && wc->byte_len != lab->byte_len)
		wrong = "byte_len";
	else if ((lab->has & IMM_DATA) && wc->imm_data != lab->imm_data)
		wrong = "imm_data";
	else if ((lab->has & SRC_QP) && wc->src_qp != lab->src_qp)
		wrong = "src_qp";
	printf("%s wr_id=%llu %s\n", cq, (unsigned long long)wc->wr_id,
	       ibv_wc_status_str(wc->status));
	if (wrong)
		fail(wrong, wc->status);
}

/* Poll for up to `most` completions, and wait for those that the lab got, for a second at most. */
static void take(const char *name, struct ibv_cq *cq, int most, int count,
		 const struct expected *lab)
{
	struct timespec begin, now;
	int have = 0;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		struct ibv_wc wc[16];
		int room = most - have < 16 ? most - have : 16, at;
		int found = ibv_poll_cq(cq, room, wc);

		if (found < 0 || have + found > count)
			fail(name, found);
		for (at = 0; at < found; at++)
			compare(name, &wc[at], &lab[have++]);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (have < count && now.tv_sec - begin.tv_sec < 2);
	if (have != count)
		fail(name, have);
}

/* part: expect_state */
static void expect_state(const char *name, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(qp, &attr, IBV_QP_STATE, &init))
		fail(name, errno);
	if (attr.qp_state != state)
		fail(name, attr.qp_state);
}

/* part: expect_bytes */
/* Bytes of a region that are not 0. text: NULL, all of them are `byte`. */
struct run {
	size_t at, length;
	const char *text;
	uint8_t byte;
};

static void expect_bytes(const char *name, const void *region, size_t length, int count,
			 const struct run *runs)
{
	const uint8_t *bytes = region;
	size_t at = 0, next;
	int run;

	for (run = 0; run <= count; run++) {
		next = run < count ? runs[run].at : length;
		for (; at < next; at++)
			if (bytes[at])
				fail(name, (long)at);
		for (; run < count && at < next + runs[run].length; at++) {
			const char *text = runs[run].text;

			if (bytes[at] != (text ? (uint8_t)text[at - next] : runs[run].byte))
				fail(name, (long)at);
		}
	}
}

/* part: map */
/* The lab's addresses, so that a number of a work request means the same here. */
static void map(uintptr_t addr, size_t length)
{
	void *at = mmap((void *)addr, length, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (at != (void *)addr)
		fail("mmap", errno);
}

/* The page that is shared with the lab, see page.py: polls and posts without a message. */
#include "lab.h"
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#define LOAD(what) __atomic_load_n(&(what), __ATOMIC_SEQ_CST)
#define STORE(what, value) __atomic_store_n(&(what), value, __ATOMIC_SEQ_CST)
#define LONGEST_SEND (1u << 20)
/* The one element of a list, in an entry of either kind. */
#define FILL_SGE(entry, wr) do { \
	if ((wr)->num_sge) { \
		(entry).addr = (wr)->sg_list->addr; \
		(entry).length = (wr)->sg_list->length; \
		(entry).lkey = (wr)->sg_list->lkey; \
	} \
} while (0)
#define COUNT(what) __atomic_fetch_add(&(what), 1, __ATOMIC_SEQ_CST)

static struct page *page;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one thread at a time is inside */
static uint32_t in_vain; /* empty polls since the last other call */
static uint32_t has_told; /* since then: the lab knows that this program waits */
static uint32_t calls = 1, looked[SLOTS + 1]; /* how many, and at the last look into each queue */
static uint32_t sends[PAIRS + 1]; /* allowed by completions; 0: none */

void page_share(int fd)
{
	void *shared = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	STORE(page, shared == MAP_FAILED ? NULL : shared);
}

void page_leave(void)
{
	STORE(page, NULL);
}

void page_in_child(void)
{
	page = NULL;
	pthread_mutex_init(&lock, NULL);
}

void page_called(void)
{
	COUNT(calls);
	STORE(in_vain, 0);
	STORE(has_told, 0);
}

/* While this thread is inside the lab changes nothing that it sees, but for what is added. */
static struct page *enter(void)
{
	struct page *shared = LOAD(page);

	if (!shared)
		return NULL;
	pthread_mutex_lock(&lock);
	STORE(shared->inside, 1);
	if (!LOAD(shared->busy))
		return shared;
	STORE(shared->inside, 0);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void leave(struct page *shared)
{
	STORE(shared->inside, 0);
	pthread_mutex_unlock(&lock);
}

/* Whether there is room for one more entry; then it is the lab's. */
static int add(struct page *shared, enum word word, uint16_t node, const uint64_t sites[2],
	       const void *fields, size_t length)
{
	struct head head = { length, word, node, gettid(), { sites[0], sites[1] } };
	uint32_t made = shared->made;
	uint8_t *place = shared->entries[made % ENTRIES];

	if (made - LOAD(shared->seen) >= ENTRIES)
		return 0;
	memcpy(place, &head, sizeof(head));
	memcpy(place + sizeof(head), fields, length);
	STORE(shared->made, made + 1);
	return 1;
}

/* A completion that was polled has freed slots of the send queue. */
static void allow(const struct shown *cqe)
{
	if (cqe->sends && cqe->pair <= PAIRS)
		sends[cqe->pair] = cqe->sends;
}

/* Up to so many of the completions that are shown; 0: the queue is empty; -1: ask the lab. */
static int take(struct page *shared, struct ibv_cq *cq, uint32_t slot, uint32_t *taken, int entries,
		struct ibv_wc *wc)
{
	static const uint64_t nowhere[2]; /* polls are many */
	struct slot *queue = &shared->queues[slot - 1];
	int is_whole = LOAD(queue->is_whole); /* before `produced`, which the lab writes first */
	uint32_t there = LOAD(queue->produced) - *taken, at;
	struct wire_poll_entry entry = { .handle = cq->handle, .num_entries = entries };

	if (there > SHOWN || (!is_whole && there < (uint32_t)entries))
		return -1;
	if (!there && looked[slot] == LOAD(calls)) /* a second empty poll says nothing new */
		return 0;
	entry.taken = there < (uint32_t)entries ? there : (uint32_t)entries;
	for (at = 0; at < entry.taken; at++)
		wc_from_wire(&wc[at], &queue->cqes[(*taken + at) % SHOWN].wc);
	if (!add(shared, WORD_POLL_CQ, node_of(cq->context), nowhere, &entry, sizeof(entry)))
		return -1;
	for (at = 0; at < entry.taken; at++)
		allow(&queue->cqes[(*taken + at) % SHOWN]);
	*taken += entry.taken;
	if (!entry.taken)
		looked[slot] = LOAD(calls);
	return entry.taken;
}

/* Whether something may have come; from time to time the lab is asked whether it is still there. */
static int wait_for_news(struct page *shared, uint32_t seen, uint32_t polls)
{
	struct timespec most = { 0, HOLD_NS };

	if (polls % 32 == 31 || (LOAD(shared->wants) && !__atomic_exchange_n(&has_told, 1, __ATOMIC_SEQ_CST)))
		return -1;
	COUNT(shared->blocked);
	syscall(SYS_futex, &shared->news, FUTEX_WAIT, seen, &most, NULL, 0);
	__atomic_fetch_sub(&shared->blocked, 1, __ATOMIC_SEQ_CST);
	return 0;
}

int page_poll(struct ibv_cq *cq, uint32_t slot, uint32_t *taken, int entries, struct ibv_wc *wc)
{
	int tries, found = -1;
	struct page *shared;

	if (!slot || slot > SLOTS || entries <= 0)
		return -1;
	for (tries = 0; tries < 2; tries++) {
		uint32_t polls, news;

		shared = enter();
		if (!shared)
			return -1;
		news = LOAD(shared->news);
		found = take(shared, cq, slot, taken, entries, wc);
		leave(shared);
		if (found > 0)
			page_called();
		if (found || tries)
			return found;
		polls = COUNT(in_vain);
		if (!polls)
			return 0;
		if (wait_for_news(shared, news, polls))
			return -1;
	}
	return found;
}

int page_post_recv(struct ibv_qp *qp, uint32_t slot, uint32_t *posted, const struct ibv_recv_wr *wr)
{
	struct wire_receive_entry entry = { .handle = qp->handle, .num_sge = wr->num_sge, .wr_id = wr->wr_id };
	uint64_t sites[2] = {};
	struct page *shared;
	int is_done = 0;

	if (!slot || slot > PAIRS || wr->next || wr->num_sge < 0 || wr->num_sge > 1)
		return 0;
	FILL_SGE(entry, wr);
	lab_callers(sites);
	shared = enter();
	if (!shared)
		return 0;
	if ((int32_t)(LOAD(shared->receives[slot - 1]) - *posted) > 0)
		is_done = add(shared, WORD_POST_RECV, node_of(qp->context), sites, &entry, sizeof(entry));
	*posted += is_done;
	leave(shared);
	if (is_done)
		page_called();
	return is_done;
}

/* Whether the lab accepts one more send: nothing that it checks can be wrong with such a request. */
static int is_allowed(struct page *shared, uint32_t slot, uint32_t sent)
{
	uint32_t granted = LOAD(shared->sends[slot - 1]);

	if (!granted)
		sends[slot] = 0;
	if (sends[slot] && (int32_t)(sends[slot] - granted) > 0)
		granted = sends[slot];
	return granted && (int32_t)(granted - sent) > 0;
}

static int is_simple(const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_SEND: case IBV_WR_SEND_WITH_IMM: case IBV_WR_RDMA_READ:
	case IBV_WR_RDMA_WRITE: case IBV_WR_RDMA_WRITE_WITH_IMM:
		break;
	default:
		return 0;
	}
	if (wr->next || wr->send_flags & ~(IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_FENCE))
		return 0;
	return !wr->num_sge || (wr->num_sge == 1 && wr->sg_list->length - 1 < LONGEST_SEND);
}

int page_post_send(struct ibv_qp *qp, uint32_t slot, uint32_t *sent, const struct ibv_send_wr *wr)
{
	struct wire_send_entry entry = {
		.handle = qp->handle, .opcode = wr->opcode, .send_flags = wr->send_flags,
		.imm_data = wr->imm_data, .num_sge = wr->num_sge, .wr_id = wr->wr_id
	};
	uint64_t sites[2] = {};
	struct page *shared;
	int is_done = 0;

	if (!slot || slot > PAIRS || !is_simple(wr))
		return 0;
	if (wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_SEND_WITH_IMM) {
		entry.remote_addr = wr->wr.rdma.remote_addr;
		entry.rkey = wr->wr.rdma.rkey;
	}
	FILL_SGE(entry, wr);
	lab_callers(sites);
	shared = enter();
	if (!shared)
		return 0;
	if (is_allowed(shared, slot, *sent))
		is_done = add(shared, WORD_POST_SEND, node_of(qp->context), sites, &entry, sizeof(entry));
	*sent += is_done;
	if (is_done)
		COUNT(shared->rung);
	leave(shared);
	if (!is_done)
		return 0;
	page_called();
	if (LOAD(shared->asleep) && __atomic_exchange_n(&shared->asleep, 0, __ATOMIC_SEQ_CST))
		lab_ring();
	return 1;
}

void page_sends(uint32_t slot, uint32_t *sent, int count)
{
	pthread_mutex_lock(&lock);
	*sent += count;
	sends[slot] = 0; /* the lab promises more with its answer */
	pthread_mutex_unlock(&lock);
}

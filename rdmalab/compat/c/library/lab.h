/* What the files of this library share: messages to the lab, and the objects behind the handles.
 *
 * The library is compiled against the system's own <infiniband/verbs.h>, so its structures are those
 * with which programs were compiled. It is preloaded: its functions are found before those of the
 * real libibverbs, which stays loaded for whatever else needs it.
 */
#ifndef RDMALAB_LAB_H
#define RDMALAB_LAB_H
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <infiniband/verbs.h>
#include "wire.h"
#include "page.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_query_port

#define API __attribute__((visibility("default")))

/* message.c ------------------------------------------------------------------------------------ */

/* Bytes that grow. The first ones lie on the stack: most messages are short. */
struct octets {
	uint8_t *at;
	size_t length, room;
	uint8_t few[512];
};

void octets_begin(struct octets *o);
void octets_end(struct octets *o);
void *octets_add(struct octets *o, const void *from, size_t length);

/* Before each message. sites: the addresses to which the call and its caller return. */
struct head { uint32_t length; uint16_t word, node; uint64_t thread, sites[2]; };

void lab_callers(uint64_t sites[2]);

/* Wake the lab: there is a send in the page. */
void lab_ring(void);

/* One question and its answer. Returns 0 or an errno, which is also in errno; then *bad is the number
 * of the work request that was refused. asked and answered: the tails; NULL: none. */
int lab_say(enum word word, uint16_t node, const void *ask, size_t ask_length, struct octets *asked,
	    void *answer, size_t answer_length, struct octets *answered, uint32_t *bad);

#define SAY(WORD, node, ask, answer) \
	lab_say(WORD, node, ask, sizeof(*(ask)), NULL, answer, sizeof(*(answer)), NULL, NULL)
#define TELL(WORD, node, ask) lab_say(WORD, node, ask, sizeof(*(ask)), NULL, NULL, 0, NULL, NULL)

/* A second connection, on which the lab writes one byte for each event; -1 and errno. */
int lab_stream(enum word word, uint16_t node, uint32_t *number);

/* Connect, in each process once. Returns how many devices the process sees; *first: of which node. */
uint32_t lab_devices(uint16_t *first);

/* Whether this process is connected; the first node whose device it sees. */
int lab_is_open(void);
uint16_t lab_first(void);
uint64_t rdmalab_clock(uint64_t until_ns, int connects);
uint64_t rdmalab_pass(uint64_t ns, int connects);

/* page.c --------------------------------------------------------------------------------------- */

void page_share(int fd);
void page_leave(void);
void page_in_child(void);

/* A call was answered that may have changed something: the next empty poll says something new. */
void page_called(void);

/* How many completions of this queue are in wc now; -1: ask the lab. taken: how many ever were. */
int page_poll(struct ibv_cq *cq, uint32_t slot, uint32_t *taken, int entries, struct ibv_wc *wc);

/* Whether this receive is posted now; 0: ask the lab. posted: how many ever were. */
int page_post_recv(struct ibv_qp *qp, uint32_t slot, uint32_t *posted, const struct ibv_recv_wr *wr);

/* The same of a send. sent: how many ever were posted, also by messages, which `page_sends` counts. */
int page_post_send(struct ibv_qp *qp, uint32_t slot, uint32_t *sent, const struct ibv_send_wr *wr);
void page_sends(uint32_t slot, uint32_t *sent, int count);

/* objects.c ------------------------------------------------------------------------------------ */

enum noun { NOUN_CQ = 1, NOUN_QP, NOUN_SRQ, NOUN_CM_ID, NOUN_UNACKED_CQ };

void object_add(enum noun noun, uint16_t node, uint32_t number, void *object);
void *object_find(enum noun noun, uint16_t node, uint32_t number);
int object_number(const void *object, enum noun *noun, uint16_t *node, uint32_t *number);
void object_remove(const void *object);

uint16_t node_of(struct ibv_context *context);

/* Each file's functions that are called through pointers. */
void device_functions(struct verbs_context *verbs);
void memory_functions(struct verbs_context *verbs);
void completion_functions(struct verbs_context *verbs);
void pair_functions(struct verbs_context *verbs);
void post_functions(struct verbs_context *verbs);
void extended_post_functions(struct ibv_qp_ex *qp);

/* A queue pair: with the work requests that its builders have begun. */
struct pair {
	struct ibv_qp_ex ex; /* begins with struct ibv_qp */
	struct batch *batch;
	uint32_t slot, posted, sent; /* in the page that is shared with the lab; receives by it; sends */
};

void batch_free(struct batch *batch);

static inline int failed(int error)
{
	if (error)
		errno = error;
	return error;
}

#endif

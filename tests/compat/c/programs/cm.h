/* What the programs on rdma_cm share: an event channel, its next event, and a queue pair of an id. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/rdma_cma.h>

#define NEED(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #x, strerror(errno)); exit(2); } } while (0)

static struct rdma_event_channel *channel;

static inline struct rdma_cm_event *next_event(enum rdma_cm_event_type wanted)
{
	struct rdma_cm_event *event;

	NEED(!rdma_get_cm_event(channel, &event));
	NEED(event->event == wanted);
	return event;
}

static inline void queue_pair(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	struct ibv_pd *pd = ibv_alloc_pd(id->verbs);

	NEED(pd);
	NEED(attr.send_cq = attr.recv_cq = ibv_create_cq(id->verbs, 8, NULL, NULL, 0));
	NEED(!rdma_create_qp(id, pd, &attr));
}

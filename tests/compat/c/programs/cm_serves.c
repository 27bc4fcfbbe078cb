/* PROGRAM serve: a server without an end, one of whose threads waits for completions all the time.
 * PROGRAM ask: one SEND to it, and a disconnect.
 */
#include <pthread.h>
#include <rdma/rdma_verbs.h>
#include "cm.h"

static struct ibv_comp_channel *completions;
static struct ibv_cq *cq;
static char memory[64];

static struct rdma_cm_id *next(enum rdma_cm_event_type wanted)
{
	struct rdma_cm_event *event = next_event(wanted);
	struct rdma_cm_id *id = event->id;

	rdma_ack_cm_event(event);
	return id;
}

static void *polls(void *unused)
{
	struct ibv_cq *which;
	struct ibv_wc wc;
	void *context;

	for (;;) {
		NEED(!ibv_get_cq_event(completions, &which, &context));
		ibv_ack_cq_events(which, 1);
		NEED(!ibv_req_notify_cq(which, 0));
		while (ibv_poll_cq(which, 1, &wc))
			NEED(wc.status == IBV_WC_SUCCESS);
	}
	return unused;
}

static struct ibv_mr *serving_pair(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } };
	static struct ibv_pd *pd;
	struct ibv_mr *mr;
	pthread_t thread;

	if (!pd) {
		NEED(pd = ibv_alloc_pd(id->verbs));
		NEED(completions = ibv_create_comp_channel(id->verbs));
		NEED(cq = ibv_create_cq(id->verbs, 8, NULL, completions, 0));
		NEED(!ibv_req_notify_cq(cq, 0));
		NEED(!pthread_create(&thread, NULL, polls, NULL));
	}
	attr.send_cq = attr.recv_cq = cq;
	NEED(!rdma_create_qp(id, pd, &attr));
	NEED(mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));
	return mr;
}

int main(int argc, char **argv)
{
	struct rdma_conn_param offer = { .retry_count = 7, .rnr_retry_count = 7 };
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(7472) };
	struct rdma_cm_id *id, *peer;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	NEED(argc == 2);
	NEED(channel = rdma_create_event_channel());
	NEED(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	if (!strcmp(argv[1], "serve")) {
		NEED(!rdma_bind_addr(id, (struct sockaddr *)&at));
		NEED(!rdma_listen(id, 1));
		for (;;) {
			peer = next(RDMA_CM_EVENT_CONNECT_REQUEST);
			mr = serving_pair(peer);
			NEED(!rdma_post_recv(peer, NULL, memory, sizeof(memory), mr));
			NEED(!rdma_accept(peer, &offer));
			next(RDMA_CM_EVENT_ESTABLISHED);
			next(RDMA_CM_EVENT_DISCONNECTED);
			rdma_destroy_qp(peer);
			NEED(!ibv_dereg_mr(mr));
			NEED(!rdma_destroy_id(peer));
		}
	}
	inet_pton(AF_INET, "10.0.0.1", &at.sin_addr);
	NEED(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&at, 2000));
	next(RDMA_CM_EVENT_ADDR_RESOLVED);
	NEED(!rdma_resolve_route(id, 2000));
	next(RDMA_CM_EVENT_ROUTE_RESOLVED);
	NEED(!rdma_create_qp(id, NULL, &(struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RC, .cap = { 4, 4, 1, 1, 0 } }));
	NEED(mr = rdma_reg_msgs(id, memory, sizeof(memory)));
	NEED(!rdma_connect(id, &offer));
	next(RDMA_CM_EVENT_ESTABLISHED);
	NEED(!rdma_post_send(id, NULL, memory, 16, mr, IBV_SEND_SIGNALED));
	NEED(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	NEED(!rdma_disconnect(id));
	next(RDMA_CM_EVENT_DISCONNECTED);
	return 0;
}

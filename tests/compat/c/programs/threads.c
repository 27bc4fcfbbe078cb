/* One process on both nodes: each thread connects a pair of its own, and sends messages that it checks. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/verbs.h>

#define THREADS 64
#define MESSAGES 10
#define NEED(x) do { if (!(x)) { fprintf(stderr, "%d: %s\n", __LINE__, #x); exit(2); } } while (0)

static struct ibv_context *contexts[2];

struct end {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char memory[256];
};

static void create(struct end *end, struct ibv_context *context)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 }
	};

	NEED(end->pd = ibv_alloc_pd(context));
	NEED(end->cq = ibv_create_cq(context, 8, NULL, NULL, 0));
	NEED(end->mr = ibv_reg_mr(end->pd, end->memory, sizeof(end->memory), IBV_ACCESS_LOCAL_WRITE));
	init.send_cq = init.recv_cq = end->cq;
	NEED(end->qp = ibv_create_qp(end->pd, &init));
}

static void connect_to(struct end *end, struct end *other)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	union ibv_gid gid;

	NEED(!ibv_query_gid(other->qp->context, 1, 1, &gid));
	NEED(!ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = other->qp->qp_num,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = gid, .sgid_index = 1, .hop_limit = 64 } }
	};
	NEED(!ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1 };
	NEED(!ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static void wait_one(struct end *end)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(end->cq, 1, &wc))
		;
	NEED(wc.status == IBV_WC_SUCCESS);
}

static void *run(void *number)
{
	struct end *ends = aligned_alloc(64, 2 * sizeof(*ends));
	struct ibv_sge sge[2];
	int n;

	for (n = 0; n < 2; n++)
		create(&ends[n], contexts[n]);
	for (n = 0; n < 2; n++) {
		connect_to(&ends[n], &ends[1 - n]);
		sge[n] = (struct ibv_sge){ (uintptr_t)ends[n].memory, sizeof(ends[n].memory), ends[n].mr->lkey };
	}
	for (n = 0; n < MESSAGES; n++) {
		struct ibv_recv_wr receive = { .wr_id = n, .sg_list = &sge[1], .num_sge = 1 }, *bad_receive;
		struct ibv_send_wr send = {
			.wr_id = n, .sg_list = &sge[0], .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED
		}, *bad_send;

		NEED(!ibv_post_recv(ends[1].qp, &receive, &bad_receive));
		snprintf(ends[0].memory, sizeof(ends[0].memory), "message %d of thread %ld", n, (long)number);
		NEED(!ibv_post_send(ends[0].qp, &send, &bad_send));
		wait_one(&ends[0]);
		wait_one(&ends[1]);
		NEED(!strcmp(ends[0].memory, ends[1].memory));
	}
	for (n = 0; n < 2; n++) {
		NEED(!ibv_destroy_qp(ends[n].qp));
		NEED(!ibv_dereg_mr(ends[n].mr));
		NEED(!ibv_destroy_cq(ends[n].cq));
		NEED(!ibv_dealloc_pd(ends[n].pd));
	}
	return NULL;
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	pthread_t threads[THREADS];
	long n;

	NEED(list && list[0] && list[1]);
	for (n = 0; n < 2; n++)
		NEED(contexts[n] = ibv_open_device(list[n]));
	for (n = 0; n < THREADS; n++)
		NEED(!pthread_create(&threads[n], NULL, run, (void *)n));
	for (n = 0; n < THREADS; n++)
		NEED(!pthread_join(threads[n], NULL));
	printf("%d messages\n", THREADS * MESSAGES);
	return 0;
}

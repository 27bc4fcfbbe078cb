/* It posts a receive and a send from device to device, sleeps, and polls once: argv[1], in ns. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <infiniband/verbs.h>

static struct ibv_qp *pair(struct ibv_context *context, struct ibv_pd **pd, struct ibv_cq **cq)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };

	*pd = ibv_alloc_pd(context);
	*cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	init.send_cq = init.recv_cq = *cq;
	init.cap.max_send_wr = init.cap.max_recv_wr = init.cap.max_send_sge = init.cap.max_recv_sge = 1;
	return ibv_create_qp(*pd, &init);
}

static void connect_to(struct ibv_qp *qp, struct ibv_context *there, uint32_t number)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;

	if (ibv_modify_qp(qp, &attr, mask))
		exit(2);
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_1024;
	attr.dest_qp_num = number;
	attr.max_dest_rd_atomic = 1;
	attr.min_rnr_timer = 12;
	attr.ah_attr = (struct ibv_ah_attr){ .is_global = 1, .port_num = 1 };
	attr.ah_attr.grh.sgid_index = 1;
	attr.ah_attr.grh.hop_limit = 64;
	if (ibv_query_gid(there, 1, 1, &attr.ah_attr.grh.dgid))
		exit(2);
	mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (ibv_modify_qp(qp, &attr, mask | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		exit(2);
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
	if (ibv_modify_qp(qp, &attr, mask | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		exit(2);
}

int main(int argc, char **argv)
{
	long ns = argc > 1 ? atol(argv[1]) : 0;
	struct timespec time = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad_send;
	struct ibv_recv_wr receive = { .wr_id = 1 }, *bad_receive;
	int count;
	struct ibv_device **list = ibv_get_device_list(&count);
	struct ibv_context *a, *b;
	struct ibv_pd *pd_a, *pd_b;
	struct ibv_cq *cq_a, *cq_b;
	struct ibv_qp *qp_a, *qp_b;
	struct ibv_wc wc;

	printf("%d devices\n", count);
	if (count < 2)
		return 2;
	a = ibv_open_device(list[0]);
	b = ibv_open_device(list[1]);
	qp_a = pair(a, &pd_a, &cq_a);
	qp_b = pair(b, &pd_b, &cq_b);
	connect_to(qp_a, b, qp_b->qp_num);
	connect_to(qp_b, a, qp_a->qp_num);
	if (ibv_post_recv(qp_b, &receive, &bad_receive) || ibv_post_send(qp_a, &send, &bad_send))
		return 2;
	nanosleep(&time, NULL);
	printf("%d at the receiver\n", ibv_poll_cq(cq_b, 1, &wc));
	printf("%d at the sender\n", ibv_poll_cq(cq_a, 1, &wc));
	return 0;
}

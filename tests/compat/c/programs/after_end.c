/* It makes one object of each kind, waits until the lab has ended, and prints the errno of every verb. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#define NEED(x) do { if (!(x)) { fprintf(stderr, "%d: %s\n", __LINE__, #x); exit(2); } } while (0)
/* A verb that returns an errno, or -1 with errno; or a pointer. */
#define CODE(verb) do { errno = 0; int code = verb; tell(#verb, code < 0 ? errno : code); } while (0)
#define MADE(verb) do { errno = 0; tell(#verb, (verb) ? 0 : errno); } while (0)

static void tell(const char *verb, int error)
{
	printf("%.*s: %s\n", (int)strcspn(verb, "("), verb, strerror(error));
}

int main(void)
{
	static char memory[4096];
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 }
	};
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_ah_attr to = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = 1, .hop_limit = 64 } };
	struct ibv_sge sge = { (uintptr_t)memory, 64, 0 };
	struct ibv_send_wr send = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_recv_wr receive = { .sg_list = &sge, .num_sge = 1 }, *bad_receive;
	struct rdma_event_channel *events;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id, *other;
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	struct ibv_srq_attr srq_attr = { .srq_limit = 1 };
	struct ibv_async_event async;
	struct ibv_cq *found;
	struct ibv_wc wc;
	union ibv_gid gid;
	__be16 pkey;
	void *mine;

	NEED(context);
	NEED(pd = ibv_alloc_pd(context));
	NEED(channel = ibv_create_comp_channel(context));
	NEED(cq = ibv_create_cq(context, 8, NULL, channel, 0));
	NEED(mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));
	NEED(srq = ibv_create_srq(pd, &srq_init));
	init.send_cq = init.recv_cq = cq;
	NEED(qp = ibv_create_qp(pd, &init));
	NEED(!ibv_query_gid(context, 1, 1, &to.grh.dgid));
	NEED(ah = ibv_create_ah(pd, &to));
	NEED(events = rdma_create_event_channel());
	NEED(!rdma_create_id(events, &id, NULL, RDMA_PS_TCP));
	sge.lkey = mr->lkey;
	printf("ready\n");
	fflush(stdout);
	while (!ibv_query_gid(context, 1, 1, &gid))
		usleep(1000);
	CODE(ibv_query_gid(context, 1, 1, &gid));
	CODE(ibv_query_pkey(context, 1, 0, &pkey));
	CODE(ibv_query_device(context, &device));
	CODE(ibv_query_port(context, 1, &port));
	MADE(ibv_alloc_pd(context));
	MADE(ibv_create_comp_channel(context));
	MADE(ibv_create_cq(context, 8, NULL, NULL, 0));
	CODE(ibv_resize_cq(cq, 16));
	CODE(ibv_req_notify_cq(cq, 0));
	CODE(ibv_poll_cq(cq, 1, &wc));
	CODE(ibv_get_cq_event(channel, &found, &mine));
	CODE(ibv_get_async_event(context, &async));
	MADE(ibv_reg_mr(pd, memory, 64, 0));
	MADE(ibv_create_srq(pd, &srq_init));
	CODE(ibv_modify_srq(srq, &srq_attr, IBV_SRQ_LIMIT));
	CODE(ibv_query_srq(srq, &srq_attr));
	CODE(ibv_post_srq_recv(srq, &receive, &bad_receive));
	MADE(ibv_create_qp(pd, &init));
	CODE(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	CODE(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	CODE(ibv_post_recv(qp, &receive, &bad_receive));
	CODE(ibv_post_send(qp, &send, &bad_send));
	CODE(ibv_attach_mcast(qp, &to.grh.dgid, 0));
	CODE(ibv_detach_mcast(qp, &to.grh.dgid, 0));
	MADE(ibv_create_ah(pd, &to));
	CODE(ibv_destroy_ah(ah));
	CODE(ibv_destroy_qp(qp));
	CODE(ibv_destroy_srq(srq));
	CODE(ibv_dereg_mr(mr));
	CODE(ibv_destroy_cq(cq));
	CODE(ibv_dealloc_pd(pd));
	CODE(rdma_get_cm_event(events, &event));
	CODE(rdma_create_id(events, &other, NULL, RDMA_PS_TCP));
	CODE(rdma_listen(id, 1));
	CODE(rdma_disconnect(id));
	return 0;
}

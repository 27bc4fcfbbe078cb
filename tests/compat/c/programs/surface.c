/* One device, one process: what no data path needs. PROGRAM checks itself; RDMALAB must be there. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>

#define NEED(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #x, strerror(errno)); exit(2); } } while (0)
#define REFUSES(x) do { errno = 0; NEED(!(x) && errno == EOPNOTSUPP); } while (0)
#define SAYS(x, error) NEED((x) == (error))

/* They are those of the real library, whatever else is preloaded. */
static void names_and_rates(void)
{
	NEED(!strcmp(ibv_wc_status_str(IBV_WC_RETRY_EXC_ERR), "transport retry counter exceeded"));
	NEED(!strcmp(ibv_event_type_str(IBV_EVENT_SRQ_ERR), "SRQ catastrophic error"));
	NEED(!strcmp(ibv_port_state_str(IBV_PORT_ACTIVE), "active"));
	NEED(!strcmp(ibv_node_type_str(IBV_NODE_RNIC), "iWARP NIC"));
	NEED(!strcmp(rdma_event_str(RDMA_CM_EVENT_ESTABLISHED), "RDMA_CM_EVENT_ESTABLISHED"));
	SAYS(ibv_rate_to_mbps(IBV_RATE_25_GBPS), 25781);
	SAYS(ibv_rate_to_mult(IBV_RATE_10_GBPS), 4);
}

static void what_is_not_there_refuses(struct ibv_context *context, struct ibv_pd *pd, struct ibv_qp *qp)
{
	struct ibv_ece ece = { .vendor_id = 0x15b3 };
	struct ibv_modify_cq_attr moderation = {};
	struct ibv_alloc_dm_attr dm = { .length = 64 };
	struct ibv_wq_init_attr wq = {};
	struct ibv_counters_init_attr counters = {};

	REFUSES(ibv_import_device(0));
	REFUSES(ibv_import_pd(context, 0));
	REFUSES(ibv_import_mr(pd, 0));
	REFUSES(ibv_reg_dmabuf_mr(pd, 0, 64, 0, 0, 0));
	REFUSES(ibv_alloc_dm(context, &dm));
	REFUSES(ibv_create_wq(context, &wq));
	REFUSES(ibv_create_counters(context, &counters));
	REFUSES(ibv_alloc_null_mr(pd));
	SAYS(ibv_query_ece(qp, &ece), EOPNOTSUPP);
	SAYS(ibv_set_ece(qp, &ece), EOPNOTSUPP);
	SAYS(ibv_advise_mr(pd, 0, 0, NULL, 0), EOPNOTSUPP);
	SAYS(ibv_modify_cq(qp->send_cq, &moderation), EOPNOTSUPP);
	NEED(rsocket(AF_INET, SOCK_STREAM, 0) == -1 && errno == EOPNOTSUPP);
	SAYS(ibv_query_qp_data_in_order(qp, IBV_WR_RDMA_WRITE, 0), 0);
}

static void queries(struct ibv_context *context)
{
	struct ibv_gid_entry entry, table[8];
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_port_attr port;
	__be16 pkey;
	long before;

	NEED(!ibv_query_port(context, 1, &port));
	NEED(!ibv_query_gid_ex(context, 1, 1, &entry, 0));
	SAYS(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
	NEED(ibv_query_gid_ex(context, 1, port.gid_tbl_len, &entry, 0));
	NEED(ibv_query_gid_table(context, table, 8, 0) >= 2);
	NEED(!memcmp(&table[1].gid, &table[1].gid, 16));
	NEED(!ibv_query_pkey(context, 1, 0, &pkey));
	SAYS(ibv_get_pkey_index(context, 1, pkey), 0);
	NEED(!ibv_query_rt_values_ex(context, &values));
	before = values.raw_clock.tv_nsec;
	NEED(values.comp_mask == IBV_VALUES_MASK_RAW_CLOCK && !ibv_query_rt_values_ex(context, &values));
	NEED(values.raw_clock.tv_nsec > before);
	values.comp_mask = 0;
	SAYS(ibv_query_rt_values_ex(context, &values), EINVAL);
}

static void domains(struct ibv_context *context, struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_td_init_attr none = {};
	struct ibv_td *td = ibv_alloc_td(context, &none);
	struct ibv_parent_domain_init_attr attr = { .pd = pd, .td = td };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 }
	};
	struct ibv_pd *parent;
	struct ibv_qp *qp;

	NEED(td && (parent = ibv_alloc_parent_domain(context, &attr)));
	SAYS(ibv_dealloc_td(td), EBUSY);
	NEED((qp = ibv_create_qp(parent, &init)));
	SAYS(ibv_dealloc_pd(parent), EBUSY);
	NEED(!ibv_destroy_qp(qp) && !ibv_dealloc_pd(parent) && !ibv_dealloc_td(td));
	attr.pd = NULL;
	NEED(!ibv_alloc_parent_domain(context, &attr) && errno == EINVAL);
}

static void shared_receive_side(struct ibv_context *context, struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_xrcd_init_attr attr = {
		.fd = -1, .oflags = O_CREAT, .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS
	};
	struct ibv_xrcd *xrcd = ibv_open_xrcd(context, &attr);
	struct ibv_srq_init_attr_ex srq_attr = {
		.attr = { .max_wr = 4, .max_sge = 1 }, .srq_type = IBV_SRQT_XRC, .pd = pd, .xrcd = xrcd, .cq = cq,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ
	};
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd
	};
	struct ibv_qp_open_attr open = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.xrcd = xrcd, .qp_type = IBV_QPT_XRC_RECV
	};
	struct ibv_qp_attr got;
	struct ibv_qp_init_attr got_init;
	struct ibv_qp *qp, *again;
	struct ibv_srq *srq;
	uint32_t number;

	NEED(xrcd && (srq = ibv_create_srq_ex(context, &srq_attr)) && !ibv_get_srq_num(srq, &number) && number);
	NEED((qp = ibv_create_qp_ex(context, &init)));
	open.qp_num = qp->qp_num;
	NEED((again = ibv_open_qp(context, &open)));
	NEED(again != qp && again->qp_num == qp->qp_num);
	NEED(!ibv_destroy_qp(qp)); /* it lives on: another has it */
	NEED(!ibv_query_qp(again, &got, IBV_QP_STATE, &got_init) && got.qp_state == IBV_QPS_RESET);
	NEED(!ibv_destroy_qp(again));
	NEED(!ibv_open_qp(context, &open) && errno == EINVAL);
	NEED(!ibv_destroy_srq(srq) && !ibv_close_xrcd(xrcd));
}

static void flow_rules(struct ibv_pd *pd, struct ibv_cq *cq, struct ibv_qp *connected)
{
	struct {
		struct ibv_flow_attr attr;
		struct ibv_flow_spec_eth eth;
		struct ibv_flow_spec_tcp_udp udp;
	} rule = {
		.attr = { .type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(rule), .num_of_specs = 2, .port = 1 },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth),
			 .val = { .dst_mac = { 2, 0, 0, 0, 0, 9 } }, .mask = { .dst_mac = { 255, 255, 255, 255, 255, 255 } } },
		.udp = { .type = IBV_FLOW_SPEC_UDP, .size = sizeof(rule.udp), .val = { .dst_port = htobe16(4791) },
			 .mask = { .dst_port = 0xffff } }
	};
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RAW_PACKET, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 }
	};
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_flow *flow;

	NEED(qp && (flow = ibv_create_flow(qp, &rule.attr)));
	SAYS(ibv_destroy_qp(qp), EBUSY);
	NEED(!ibv_destroy_flow(flow));
	NEED(!ibv_create_flow(connected, &rule.attr) && errno == EINVAL);
	rule.eth.mask.dst_mac[0] = 1; /* a part of the address */
	REFUSES(ibv_create_flow(qp, &rule.attr));
	rule.attr.num_of_specs = 3; /* more than there are */
	NEED(!ibv_create_flow(qp, &rule.attr) && errno);
	NEED(!ibv_destroy_qp(qp));
}

static void memory(struct ibv_context *context, struct ibv_pd *pd)
{
	static char bytes[8192] __attribute__((aligned(4096)));
	struct ibv_mr *mr = ibv_reg_mr(pd, bytes, 4096, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_pd *other = ibv_alloc_pd(context);

	NEED(mr && other);
	NEED(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD, other, bytes, 8192, 0));
	NEED(mr->length == 8192 && mr->pd == other);
	SAYS(ibv_dealloc_pd(other), EBUSY);
	SAYS(ibv_rereg_mr(mr, 1 << 9, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	SAYS(ibv_rereg_mr(mr, 0, NULL, NULL, 0, IBV_ACCESS_REMOTE_READ), IBV_REREG_MR_ERR_INPUT);
	NEED(!ibv_dereg_mr(mr) && !ibv_dealloc_pd(other));
	NEED((mr = ibv_reg_mr_iova(pd, bytes, 64, 0x1000, IBV_ACCESS_LOCAL_WRITE)) && !ibv_dereg_mr(mr));
	NEED(!ibv_reg_mr(pd, NULL, 64, IBV_ACCESS_LOCAL_WRITE) && errno == EFAULT);
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 }
	};
	struct ibv_qp *qp;

	names_and_rates();
	NEED(list && list[0] && (context = ibv_open_device(list[0])));
	ibv_free_device_list(list);
	NEED((pd = ibv_alloc_pd(context)) && (cq = ibv_create_cq(context, 4, NULL, NULL, 0)));
	init.send_cq = init.recv_cq = cq;
	NEED((qp = ibv_create_qp(pd, &init)));
	what_is_not_there_refuses(context, pd, qp);
	queries(context);
	domains(context, pd, cq);
	shared_receive_side(context, pd, cq);
	flow_rules(pd, cq, qp);
	memory(context, pd);
	NEED(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq) && !ibv_dealloc_pd(pd) && !ibv_close_device(context));
	puts("all of it");
	return 0;
}

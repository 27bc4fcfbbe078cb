/* Queue pairs, shared receive queues, XRC domains, address handles, multicast. */
#include "lab.h"

/* struct ibv_xrcd has nothing but its context: the handle lies behind it. */
struct domain {
	struct ibv_xrcd ibv;
	uint32_t handle;
};

struct shared {
	struct ibv_srq ibv;
	uint32_t number;
};

static struct pair *new_pair(struct ibv_context *context, enum ibv_qp_type type, uint32_t handle,
			     uint32_t number)
{
	struct pair *pair = calloc(1, sizeof(*pair));
	struct ibv_qp *qp;

	if (!pair)
		abort();
	qp = &pair->ex.qp_base;
	qp->context = context;
	qp->handle = handle;
	qp->qp_num = number;
	qp->state = IBV_QPS_RESET;
	qp->qp_type = type;
	pthread_mutex_init(&qp->mutex, NULL);
	pthread_cond_init(&qp->cond, NULL);
	object_add(NOUN_QP, node_of(context), number, pair);
	return pair;
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	int has_pd = attr->comp_mask & IBV_QP_INIT_ATTR_PD && attr->pd;
	int has_xrcd = attr->comp_mask & IBV_QP_INIT_ATTR_XRCD && attr->xrcd;
	int is_extended = !!(attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
	struct ask_create_qp ask = {
		.pd = has_pd ? attr->pd->handle : 0, .qp_type = attr->qp_type,
		.send_cq = attr->send_cq ? attr->send_cq->handle : 0,
		.recv_cq = attr->recv_cq ? attr->recv_cq->handle : 0,
		.srq = attr->srq ? attr->srq->handle : 0,
		.xrcd = has_xrcd ? ((struct domain *)attr->xrcd)->handle : 0,
		.sq_sig_all = attr->sq_sig_all,
		.max_tso_header = attr->comp_mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER ? attr->max_tso_header : 0,
		.is_extended = is_extended,
		.send_ops_flags = is_extended ? attr->send_ops_flags : 0
	};
	struct answer_create_qp answer;
	struct pair *pair;
	struct ibv_qp *qp;

	if (attr->comp_mask & (IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH) ||
	    (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	qp_cap_to_wire(&ask.cap, &attr->cap);
	if (SAY(WORD_CREATE_QP, node_of(context), &ask, &answer))
		return NULL;
	pair = new_pair(context, attr->qp_type, answer.handle, answer.handle);
	pair->slot = answer.slot;
	qp = &pair->ex.qp_base;
	qp->qp_context = attr->qp_context;
	qp->pd = has_pd ? attr->pd : NULL;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->srq = attr->srq;
	qp_cap_from_wire(&attr->cap, &answer.cap); /* what was granted */
	if (is_extended)
		extended_post_functions(&pair->ex);
	return qp;
}

static struct ibv_qp *open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	static const uint32_t needed = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	struct ask_open_qp ask = { .qp_num = attr->qp_num, .qp_type = attr->qp_type };
	struct answer_open_qp answer;
	struct ibv_qp *qp;

	if ((attr->comp_mask & needed) != needed || attr->comp_mask >= IBV_QP_OPEN_ATTR_RESERVED || !attr->xrcd) {
		errno = EINVAL;
		return NULL;
	}
	ask.xrcd = ((struct domain *)attr->xrcd)->handle;
	if (SAY(WORD_OPEN_QP, node_of(context), &ask, &answer))
		return NULL;
	qp = &new_pair(context, attr->qp_type, answer.handle, attr->qp_num)->ex.qp_base;
	if (attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT)
		qp->qp_context = attr->qp_context;
	return qp;
}

API struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = attr->qp_context, .send_cq = attr->send_cq, .recv_cq = attr->recv_cq,
		.srq = attr->srq, .cap = attr->cap, .qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all, .comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pd
	};
	struct ibv_qp *qp = create_qp_ex(pd->context, &ex);

	if (qp)
		attr->cap = ex.cap;
	return qp;
}

API struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	struct ibv_qp_ex *ex = &((struct pair *)qp)->ex;

	if (ex->wr_start)
		return ex;
	errno = EOPNOTSUPP;
	return NULL;
}

API int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct ask_modify_qp ask = { .handle = qp->handle, .mask = mask };
	int error;

	qp_attr_to_wire(&ask.attr, attr);
	error = TELL(WORD_MODIFY_QP, node_of(qp->context), &ask);
	if (!error && mask & IBV_QP_STATE)
		qp->state = attr->qp_state;
	return error;
}

API int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
		     struct ibv_qp_init_attr *init)
{
	struct ask_query_qp ask = { .handle = qp->handle };
	struct answer_query_qp answer;
	int error = SAY(WORD_QUERY_QP, node_of(qp->context), &ask, &answer);

	(void)mask; /* devices fill in everything */
	if (error)
		return error;
	memset(attr, 0, sizeof(*attr));
	qp_attr_from_wire(attr, &answer.attr);
	qp->state = attr->qp_state;
	memset(init, 0, sizeof(*init));
	init->qp_context = qp->qp_context;
	init->send_cq = qp->send_cq;
	init->recv_cq = qp->recv_cq;
	init->srq = qp->srq;
	init->qp_type = qp->qp_type;
	init->cap = attr->cap;
	init->sq_sig_all = answer.sq_sig_all;
	return 0;
}

API int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct ask_destroy_qp ask = { .handle = qp->handle };
	int error = TELL(WORD_DESTROY_QP, node_of(qp->context), &ask);

	if (!error) {
		object_remove(qp);
		batch_free(((struct pair *)qp)->batch);
		free(qp);
	}
	return error;
}

API int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp, (void)op, (void)flags;
	return 0;
}

static struct ibv_srq *create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	uint32_t mask = attr->comp_mask;
	struct ask_create_srq ask = {
		.pd = mask & IBV_SRQ_INIT_ATTR_PD && attr->pd ? attr->pd->handle : 0,
		.srq_type = mask & IBV_SRQ_INIT_ATTR_TYPE ? attr->srq_type : IBV_SRQT_BASIC,
		.xrcd = mask & IBV_SRQ_INIT_ATTR_XRCD && attr->xrcd ? ((struct domain *)attr->xrcd)->handle : 0,
		.cq = mask & IBV_SRQ_INIT_ATTR_CQ && attr->cq ? attr->cq->handle : 0
	};
	struct answer_create_srq answer;
	struct shared *made;

	if (ask.srq_type != IBV_SRQT_BASIC && ask.srq_type != IBV_SRQT_XRC) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	srq_attr_to_wire(&ask.attr, &attr->attr);
	if (SAY(WORD_CREATE_SRQ, node_of(context), &ask, &answer))
		return NULL;
	made = calloc(1, sizeof(*made) + 64); /* rdma-core keeps a larger structure around it */
	if (!made)
		abort();
	made->ibv.context = context;
	made->ibv.srq_context = attr->srq_context;
	made->ibv.pd = mask & IBV_SRQ_INIT_ATTR_PD ? attr->pd : NULL;
	made->ibv.handle = answer.handle;
	made->number = answer.number;
	srq_attr_from_wire(&attr->attr, &answer.attr);
	pthread_mutex_init(&made->ibv.mutex, NULL);
	pthread_cond_init(&made->ibv.cond, NULL);
	object_add(NOUN_SRQ, node_of(context), answer.handle, made);
	return &made->ibv;
}

API struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = {
		.srq_context = attr->srq_context, .attr = attr->attr, .comp_mask = IBV_SRQ_INIT_ATTR_PD, .pd = pd
	};
	struct ibv_srq *srq = create_srq_ex(pd->context, &ex);

	if (srq)
		attr->attr = ex.attr;
	return srq;
}

API int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	struct ask_modify_srq ask = {
		.handle = srq->handle, .mask = mask, .max_wr = attr->max_wr, .srq_limit = attr->srq_limit
	};

	return TELL(WORD_MODIFY_SRQ, node_of(srq->context), &ask);
}

API int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct ask_query_srq ask = { .handle = srq->handle };
	struct answer_query_srq answer;
	int error = SAY(WORD_QUERY_SRQ, node_of(srq->context), &ask, &answer);

	if (!error)
		srq_attr_from_wire(attr, &answer.attr);
	return error;
}

static int get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
	*number = ((struct shared *)srq)->number;
	return 0;
}

API int ibv_destroy_srq(struct ibv_srq *srq)
{
	struct ask_destroy_srq ask = { .handle = srq->handle };
	int error = TELL(WORD_DESTROY_SRQ, node_of(srq->context), &ask);

	if (!error) {
		object_remove(srq);
		free(srq);
	}
	return error;
}

static struct ibv_xrcd *open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	struct ask_open_xrcd ask = {
		.fd = attr->comp_mask & IBV_XRCD_INIT_ATTR_FD ? attr->fd : -1,
		.oflag = attr->comp_mask & IBV_XRCD_INIT_ATTR_OFLAGS ? attr->oflags : 0
	};
	struct answer_open_xrcd answer;
	struct domain *domain;

	if (SAY(WORD_OPEN_XRCD, node_of(context), &ask, &answer))
		return NULL;
	domain = calloc(1, sizeof(*domain));
	if (!domain)
		abort();
	domain->ibv.context = context;
	domain->handle = answer.handle;
	return &domain->ibv;
}

static int close_xrcd(struct ibv_xrcd *xrcd)
{
	struct ask_close_xrcd ask = { .handle = ((struct domain *)xrcd)->handle };
	int error = TELL(WORD_CLOSE_XRCD, node_of(xrcd->context), &ask);

	if (!error)
		free(xrcd);
	return error;
}

API struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ask_create_ah ask = { .pd = pd->handle };
	struct answer_create_ah answer;
	struct ibv_ah *ah;

	ah_attr_to_wire(&ask.attr, attr);
	if (SAY(WORD_CREATE_AH, node_of(pd->context), &ask, &answer))
		return NULL;
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		abort();
	ah->context = pd->context;
	ah->pd = pd;
	ah->handle = answer.handle;
	return ah;
}

API int ibv_destroy_ah(struct ibv_ah *ah)
{
	struct ask_destroy_ah ask = { .handle = ah->handle };
	int error = TELL(WORD_DESTROY_AH, node_of(ah->context), &ask);

	if (!error)
		free(ah);
	return error;
}

/* Where a datagram came from, by the GRH in front of it: RoCE v2 over IPv4 has the IPv4 header in the
 * last 20 of its 40 bytes. */
API int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc,
			    struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	const uint8_t *octets = (const uint8_t *)grh;
	uint32_t first;

	(void)context;
	memset(attr, 0, sizeof(*attr));
	attr->port_num = port_num;
	attr->sl = wc->sl;
	attr->dlid = wc->slid;
	attr->src_path_bits = wc->dlid_path_bits;
	if (!(wc->wc_flags & IBV_WC_GRH))
		return 0;
	attr->is_global = 1;
	attr->grh.hop_limit = 0xff;
	attr->grh.sgid_index = 1;
	if (octets[20] >> 4 == 4 && octets[0] >> 4 != 6) {
		attr->grh.dgid.raw[10] = attr->grh.dgid.raw[11] = 0xff;
		memcpy(attr->grh.dgid.raw + 12, octets + 32, 4);
		attr->grh.traffic_class = octets[21];
		return 0;
	}
	memcpy(attr->grh.dgid.raw, octets + 8, 16);
	memcpy(&first, octets, 4);
	first = be32toh(first);
	attr->grh.flow_label = first & 0xfffff;
	attr->grh.traffic_class = first >> 20;
	return 0;
}

API struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
					 uint8_t port_num)
{
	struct ibv_ah_attr attr;

	ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr);
	return ibv_create_ah(pd, &attr);
}

API int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct ask_attach_mcast ask = { .qp = qp->handle };

	(void)lid;
	memcpy(ask.gid, gid->raw, sizeof(ask.gid));
	return TELL(WORD_ATTACH_MCAST, node_of(qp->context), &ask);
}

API int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct ask_detach_mcast ask = { .qp = qp->handle };

	(void)lid;
	memcpy(ask.gid, gid->raw, sizeof(ask.gid));
	return TELL(WORD_DETACH_MCAST, node_of(qp->context), &ask);
}

/* ---------------------------------------------------------------------------------- flow rules */
enum { DST_MAC, SRC_MAC, ETHER_TYPE, SRC_IP, DST_IP, PROTOCOL, SRC_PORT, DST_PORT }; /* bits of given */

/* Whether all bits of a field count: 1, none: 0, some: -1, which the device cannot match. */
static int counts(const void *mask, size_t length)
{
	const uint8_t *octets = mask;
	size_t at;

	for (at = 1; at < length; at++)
		if (octets[at] != octets[0])
			return -1;
	return octets[0] == 0xff ? 1 : octets[0] ? -1 : 0;
}

static uint64_t big_endian(const void *from, size_t length)
{
	const uint8_t *octets = from;
	uint64_t value = 0;

	while (length--)
		value = value << 8 | *octets++;
	return value;
}

static int note(struct ask_create_flow *ask, unsigned int bit, const void *mask, size_t length)
{
	int found = counts(mask, length);

	if (found > 0)
		ask->given |= 1u << bit;
	return found < 0 ? EOPNOTSUPP : 0;
}

#define NUMBER(bit, to, field) \
	(ask->to = big_endian(&spec->val.field, sizeof(spec->val.field)), \
	 note(ask, bit, &spec->mask.field, sizeof(spec->mask.field)))

static int ethernet(struct ask_create_flow *ask, const struct ibv_flow_spec_eth *spec)
{
	if (counts(&spec->mask.vlan_tag, sizeof(spec->mask.vlan_tag)))
		return EOPNOTSUPP;
	return NUMBER(DST_MAC, dst_mac, dst_mac) ?: NUMBER(SRC_MAC, src_mac, src_mac) ?:
	       NUMBER(ETHER_TYPE, ether_type, ether_type);
}

static void put_ipv4(uint8_t *to, uint32_t address)
{
	memset(to, 0, 16);
	to[10] = to[11] = 0xff;
	memcpy(to + 12, &address, 4);
}

static int ipv4(struct ask_create_flow *ask, const struct ibv_flow_spec_ipv4_ext *spec, int is_extended)
{
	put_ipv4(ask->src_ip, spec->val.src_ip);
	put_ipv4(ask->dst_ip, spec->val.dst_ip);
	if (note(ask, SRC_IP, &spec->mask.src_ip, 4) || note(ask, DST_IP, &spec->mask.dst_ip, 4))
		return EOPNOTSUPP;
	if (!is_extended)
		return 0;
	if (spec->mask.tos || spec->mask.ttl || spec->mask.flags)
		return EOPNOTSUPP;
	return NUMBER(PROTOCOL, protocol, proto);
}

static int ipv6(struct ask_create_flow *ask, const struct ibv_flow_spec_ipv6 *spec)
{
	memcpy(ask->src_ip, spec->val.src_ip, 16);
	memcpy(ask->dst_ip, spec->val.dst_ip, 16);
	if (spec->mask.flow_label || spec->mask.traffic_class || spec->mask.hop_limit)
		return EOPNOTSUPP;
	return note(ask, SRC_IP, spec->mask.src_ip, 16) ?: note(ask, DST_IP, spec->mask.dst_ip, 16) ?:
	       NUMBER(PROTOCOL, protocol, next_hdr);
}

static int transport(struct ask_create_flow *ask, const struct ibv_flow_spec_tcp_udp *spec, uint32_t protocol)
{
	ask->protocol = protocol;
	ask->given |= 1u << PROTOCOL;
	return NUMBER(DST_PORT, dst_port, dst_port) ?: NUMBER(SRC_PORT, src_port, src_port);
}

static int add_spec(struct ask_create_flow *ask, const struct ibv_flow_spec *spec)
{
	enum { TCP = 6, UDP = 17 };

	switch (spec->hdr.type) {
	case IBV_FLOW_SPEC_ETH:
		return ethernet(ask, &spec->eth);
	case IBV_FLOW_SPEC_IPV4:
	case IBV_FLOW_SPEC_IPV4_EXT:
		return ipv4(ask, &spec->ipv4_ext, spec->hdr.type == IBV_FLOW_SPEC_IPV4_EXT);
	case IBV_FLOW_SPEC_IPV6:
		return ipv6(ask, &spec->ipv6);
	case IBV_FLOW_SPEC_TCP:
		return transport(ask, &spec->tcp_udp, TCP);
	case IBV_FLOW_SPEC_UDP:
		return transport(ask, &spec->tcp_udp, UDP);
	default:
		return EOPNOTSUPP;
	}
}

static struct ibv_flow *create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
	struct ask_create_flow ask = {
		.qp = qp->handle, .type = attr->type, .priority = attr->priority, .port = attr->port,
		.flags = attr->flags
	};
	const uint8_t *at = (const uint8_t *)(attr + 1), *stop = (const uint8_t *)attr + attr->size;
	struct answer_create_flow answer;
	struct ibv_flow *flow;
	int count, error = 0;

	for (count = 0; !error && count < attr->num_of_specs; count++) {
		const struct ibv_flow_spec *spec = (const struct ibv_flow_spec *)at;

		if (at + sizeof(spec->hdr) > stop || !spec->hdr.size || at + spec->hdr.size > stop)
			error = EINVAL;
		else
			error = add_spec(&ask, spec);
		at += error ? 0 : spec->hdr.size;
	}
	if (failed(error) || SAY(WORD_CREATE_FLOW, node_of(qp->context), &ask, &answer))
		return NULL;
	flow = calloc(1, sizeof(*flow));
	if (!flow)
		abort();
	flow->context = qp->context;
	flow->handle = answer.handle;
	return flow;
}

static int destroy_flow(struct ibv_flow *flow)
{
	struct ask_destroy_flow ask = { .handle = flow->handle };
	int error = TELL(WORD_DESTROY_FLOW, node_of(flow->context), &ask);

	if (!error)
		free(flow);
	return error;
}

void pair_functions(struct verbs_context *verbs)
{
	verbs->ibv_create_flow = create_flow;
	verbs->ibv_destroy_flow = destroy_flow;
	verbs->open_qp = open_qp;
	verbs->create_qp_ex = create_qp_ex;
	verbs->create_srq_ex = create_srq_ex;
	verbs->get_srq_num = get_srq_num;
	verbs->open_xrcd = open_xrcd;
	verbs->close_xrcd = close_xrcd;
}

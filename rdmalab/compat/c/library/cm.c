/* librdmacm's functions. Who is connected with whom is known by the lab; the queue pairs are moved from
 * here by ibv_modify_qp, as librdmacm does it, so that their moves are calls of the program.
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include "lab.h"

enum { NO_NODE = 0xff, TTL = 64 };
enum { CONSUMER_DEFINED = 28, VENDOR_OPTION_NOT_SUPPORTED = 35 }; /* ib_cm_rej_reason */

struct channel {
	struct rdma_event_channel cm;
	uint32_t number;
};

struct conn {
	struct rdma_cm_id cm;
	uint32_t number;
	int waits; /* made without a channel: each call waits for its event */
	int unacked; /* events that were read and not acknowledged */
	struct wire_promise own, peer;
	uint8_t tos, timeout, is_timeout_set; /* of rdma_set_option */
	uint8_t ack_timeout, traffic_class; /* of the path */
	union ibv_gid peer_gid;
	struct ibv_qp_init_attr *template; /* of a listener of rdma_create_ep: for the ids it will give */
	struct ibv_pd *template_pd;
	void *data; /* private data of rdma_getaddrinfo, for rdma_connect */
	size_t data_length;
};

struct event {
	struct rdma_cm_event cm;
	struct conn *owner; /* of a connect request the listener, as in librdmacm */
	uint8_t private_data[256];
};

static struct ibv_context *contexts[8];
static struct ibv_pd *domains[8];
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER; /* of `unacked` */
static pthread_cond_t acked = PTHREAD_COND_INITIALIZER;

static int result(int error)
{
	if (!error)
		return 0;
	errno = error;
	return -1;
}

static uint16_t first_node(void)
{
	uint16_t first;

	lab_devices(&first);
	return first;
}

static struct ibv_context *context_at(uint32_t node)
{
	pthread_mutex_lock(&opening);
	if (!contexts[node]) {
		struct ibv_device **list = ibv_get_device_list(NULL);

		if (list && list[node - first_node()])
			contexts[node] = ibv_open_device(list[node - first_node()]);
		ibv_free_device_list(list);
	}
	pthread_mutex_unlock(&opening);
	return contexts[node];
}

/* ------------------------------------------------------------------------------------ addresses */
static void address_to_wire(struct wire_address *w, const struct sockaddr *a)
{
	memset(w, 0, sizeof(*w));
	if (a && a->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)a;

		w->family = AF_INET;
		w->port = ntohs(in->sin_port);
		w->ip[10] = w->ip[11] = 0xff;
		memcpy(w->ip + 12, &in->sin_addr, 4);
	} else if (a && a->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)a;

		w->family = AF_INET6;
		w->port = ntohs(in->sin6_port);
		memcpy(w->ip, &in->sin6_addr, 16);
	}
}

static void address_from_wire(struct sockaddr_storage *a, const struct wire_address *w)
{
	memset(a, 0, sizeof(*a));
	if (w->family == AF_INET) {
		struct sockaddr_in *in = (struct sockaddr_in *)a;

		in->sin_family = AF_INET;
		in->sin_port = htons(w->port);
		memcpy(&in->sin_addr, w->ip + 12, 4);
	} else if (w->family == AF_INET6) {
		struct sockaddr_in6 *in = (struct sockaddr_in6 *)a;

		in->sin6_family = AF_INET6;
		in->sin6_port = htons(w->port);
		memcpy(&in->sin6_addr, w->ip, 16);
	}
}

API __be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return id->route.addr.src_sin.sin_port; /* in both families at the same place */
}

API __be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return id->route.addr.dst_sin.sin_port;
}

/* ------------------------------------------------------------------------------ channels and ids */
API struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct channel *channel = calloc(1, sizeof(*channel));

	if (!channel)
		return NULL;
	channel->cm.fd = lab_stream(WORD_CM_OPEN_CHANNEL, first_node(), &channel->number);
	if (channel->cm.fd < 0) {
		free(channel);
		errno = ENODEV;
		return NULL;
	}
	return &channel->cm;
}

API void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	close(channel->fd);
	free(channel);
}

static int of_id(enum word word, struct rdma_cm_id *id)
{
	struct ask_cm_destroy_id ask = { .handle = ((struct conn *)id)->number };

	return result(TELL(word, first_node(), &ask));
}

static int create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		     enum rdma_port_space space, enum ibv_qp_type type)
{
	struct ask_cm_create_id ask = { .port_space = space };
	struct answer_cm_create_id answer;
	struct conn *made = calloc(1, sizeof(*made));

	if (!made)
		return -1;
	made->waits = !channel;
	if (!channel)
		channel = rdma_create_event_channel();
	if (!channel) {
		free(made);
		return -1;
	}
	ask.channel = ((struct channel *)channel)->number;
	if (SAY(WORD_CM_CREATE_ID, first_node(), &ask, &answer)) {
		if (made->waits)
			rdma_destroy_event_channel(channel);
		free(made);
		return -1;
	}
	made->number = answer.handle;
	made->cm.channel = channel;
	made->cm.context = context;
	made->cm.ps = space;
	made->cm.qp_type = type;
	object_add(NOUN_CM_ID, 0, made->number, made);
	*id = &made->cm;
	return 0;
}

API int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		       enum rdma_port_space space)
{
	int is_datagram = space == RDMA_PS_UDP || space == RDMA_PS_IPOIB;

	return create_id(channel, id, context, space, is_datagram ? IBV_QPT_UD : IBV_QPT_RC);
}

static void count(struct event *event, int step)
{
	pthread_mutex_lock(&counting);
	event->owner->unacked += step;
	pthread_cond_broadcast(&acked);
	pthread_mutex_unlock(&counting);
}

API int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	if (!event)
		return result(EINVAL);
	count((struct event *)event, -1);
	free(event);
	return 0;
}

/* rdma_destroy_id(3): it blocks until the events of the id are acknowledged, by whatever thread. */
static void await_acks(struct conn *conn)
{
	struct ask_sleep ask = { .noun = NOUN_CM_ID, .number = conn->number };

	pthread_mutex_lock(&counting);
	if (conn->unacked)
		TELL(WORD_SLEEP, first_node(), &ask);
	while (conn->unacked)
		pthread_cond_wait(&acked, &counting);
	pthread_mutex_unlock(&counting);
}

API int rdma_destroy_id(struct rdma_cm_id *id)
{
	struct conn *conn = (struct conn *)id;

	if (of_id(WORD_CM_DESTROY_ID, id))
		return -1;
	object_remove(id);
	if (id->event)
		rdma_ack_cm_event(id->event);
	await_acks(conn);
	if (conn->waits)
		rdma_destroy_event_channel(id->channel);
	free(conn->template);
	free(conn->data);
	free(conn);
	return 0;
}

API int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel)
{
	struct conn *conn = (struct conn *)id;
	int waits = !channel;
	struct ask_cm_migrate ask = { .handle = conn->number };

	if (waits && !(channel = rdma_create_event_channel()))
		return -1;
	ask.channel = ((struct channel *)channel)->number;
	if (TELL(WORD_CM_MIGRATE, first_node(), &ask))
		return -1;
	if (conn->waits && id->channel)
		rdma_destroy_event_channel(id->channel);
	conn->waits = waits;
	id->channel = channel;
	return 0;
}

/* The id belongs to a device from now on, and has its default protection domain. */
static int bind_device(struct rdma_cm_id *id, uint32_t node)
{
	if (node == NO_NODE || node >= sizeof(contexts) / sizeof(*contexts))
		return 0;
	id->verbs = context_at(node);
	id->port_num = 1;
	if (!id->verbs)
		return -1;
	if (!domains[node])
		domains[node] = ibv_alloc_pd(id->verbs);
	id->pd = domains[node];
	return id->pd ? 0 : -1;
}

/* An id without a channel of its own waits for what its call brings about. */
static int complete(struct rdma_cm_id *id)
{
	if (!((struct conn *)id)->waits)
		return 0;
	if (id->event) {
		rdma_ack_cm_event(id->event);
		id->event = NULL;
	}
	if (rdma_get_cm_event(id->channel, &id->event))
		return -1;
	if (!id->event->status)
		return 0;
	return result(id->event->event == RDMA_CM_EVENT_REJECTED ? ECONNREFUSED : abs(id->event->status));
}

static int place(struct rdma_cm_id *id, const struct answer_cm_bind_addr *answer)
{
	address_from_wire(&id->route.addr.src_storage, &answer->source);
	address_from_wire(&id->route.addr.dst_storage, &answer->destination);
	return bind_device(id, answer->node);
}

API int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	struct ask_cm_bind_addr ask = { .handle = ((struct conn *)id)->number };
	struct answer_cm_bind_addr answer;

	address_to_wire(&ask.source, addr);
	return SAY(WORD_CM_BIND_ADDR, first_node(), &ask, &answer) ? -1 : place(id, &answer);
}

API int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *source, struct sockaddr *destination,
			  int timeout_ms)
{
	struct ask_cm_resolve_addr ask = { .handle = ((struct conn *)id)->number };
	struct answer_cm_bind_addr answer;

	ask.timeout_ms = timeout_ms;
	address_to_wire(&ask.source, source);
	address_to_wire(&ask.destination, destination);
	if (SAY(WORD_CM_RESOLVE_ADDR, first_node(), &ask, &answer) || place(id, &answer))
		return -1;
	return complete(id);
}

API int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	struct conn *conn = (struct conn *)id;

	(void)timeout_ms; /* of a query to the subnet manager: RoCE asks none */
	conn->traffic_class = conn->own.traffic_class = conn->tos;
	conn->own.ack_timeout = conn->timeout;
	return of_id(WORD_CM_RESOLVE_ROUTE, id) ? -1 : complete(id);
}

API int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	struct ask_cm_listen ask = { .handle = ((struct conn *)id)->number, .backlog = backlog };

	return result(TELL(WORD_CM_LISTEN, first_node(), &ask));
}

/* ---------------------------------------------------------------------------------- queue pairs */
static int init_attr(struct conn *conn, struct ibv_qp_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = IBV_QPS_INIT;
	attr->port_num = 1;
	if (conn->cm.qp_type == IBV_QPT_UD) {
		attr->qkey = RDMA_UDP_QKEY;
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	}
	if (conn->peer.qp_num) { /* before the connection it has no rights */
		attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
		if (conn->own.responder_resources)
			attr->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	}
	return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
}

static int rtr_attr(struct conn *conn, struct ibv_qp_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = IBV_QPS_RTR;
	attr->path_mtu = IBV_MTU_1024;
	attr->dest_qp_num = conn->peer.qp_num;
	attr->rq_psn = conn->peer.psn;
	attr->max_dest_rd_atomic = conn->own.responder_resources;
	attr->ah_attr.is_global = 1;
	attr->ah_attr.port_num = 1;
	attr->ah_attr.grh.dgid = conn->peer_gid;
	attr->ah_attr.grh.sgid_index = 1;
	attr->ah_attr.grh.hop_limit = TTL;
	attr->ah_attr.grh.traffic_class = conn->traffic_class;
	return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
}

static int rts_attr(struct conn *conn, struct ibv_qp_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = IBV_QPS_RTS;
	attr->sq_psn = conn->own.psn;
	if (conn->cm.qp_type == IBV_QPT_UD)
		return IBV_QP_STATE | IBV_QP_SQ_PSN;
	attr->timeout = conn->is_timeout_set ? conn->timeout : conn->ack_timeout;
	attr->retry_cnt = conn->own.retry_count;
	attr->rnr_retry = conn->peer.rnr_retry_count; /* each side says it for the other (cm.c of Linux) */
	attr->max_rd_atomic = conn->own.initiator_depth;
	return IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
	       IBV_QP_MAX_QP_RD_ATOMIC;
}

API int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	struct conn *conn = (struct conn *)id;

	switch (attr->qp_state) {
	case IBV_QPS_INIT:
		*mask = init_attr(conn, attr);
		return 0;
	case IBV_QPS_RTR:
		*mask = rtr_attr(conn, attr);
		return 0;
	case IBV_QPS_RTS:
		*mask = rts_attr(conn, attr);
		return 0;
	default:
		return result(EINVAL);
	}
}

static int move(struct rdma_cm_id *id, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	if (rdma_init_qp_attr(id, &attr, &mask))
		return -1;
	return result(ibv_modify_qp(id->qp, &attr, mask));
}

static int move_to_err(struct rdma_cm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	return id->qp ? result(ibv_modify_qp(id->qp, &attr, IBV_QP_STATE)) : 0;
}

/* From INIT to RTS, when both sides have told what they promise. */
static int bring_up(struct rdma_cm_id *id)
{
	if (!id->qp || id->qp_type == IBV_QPT_UD)
		return 0;
	if (move(id, IBV_QPS_INIT) || move(id, IBV_QPS_RTR))
		return -1;
	return move(id, IBV_QPS_RTS);
}

static int begin(struct rdma_cm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };

	if (move(id, IBV_QPS_INIT))
		return -1;
	if (id->qp_type != IBV_QPT_UD)
		return 0;
	if (ibv_modify_qp(id->qp, &attr, IBV_QP_STATE))
		return -1;
	return move(id, IBV_QPS_RTS);
}

static int own_queue(struct rdma_cm_id *id, uint32_t entries, struct ibv_comp_channel **channel,
		     struct ibv_cq **cq)
{
	*channel = ibv_create_comp_channel(id->verbs);
	if (!*channel)
		return -1;
	*cq = ibv_create_cq(id->verbs, entries ? entries : 1, id, *channel, 0);
	return *cq ? 0 : -1;
}

static void destroy_queues(struct rdma_cm_id *id)
{
	if (id->recv_cq_channel) {
		if (id->recv_cq)
			ibv_destroy_cq(id->recv_cq);
		ibv_destroy_comp_channel(id->recv_cq_channel);
	}
	if (id->send_cq_channel) {
		if (id->send_cq)
			ibv_destroy_cq(id->send_cq);
		ibv_destroy_comp_channel(id->send_cq_channel);
	}
	id->send_cq_channel = id->recv_cq_channel = NULL;
	id->send_cq = id->recv_cq = NULL;
}

/* The domain of a process for the XRC queues of one device. */
static struct ibv_xrcd *xrc_domain(struct rdma_cm_id *id)
{
	static struct ibv_xrcd *opened[sizeof(contexts) / sizeof(*contexts)];
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT
	};
	struct ibv_xrcd **here = &opened[node_of(id->verbs)];

	pthread_mutex_lock(&opening);
	if (!*here)
		*here = ibv_open_xrcd(id->verbs, &attr);
	pthread_mutex_unlock(&opening);
	return *here;
}

API int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	if (!id->verbs || id->qp)
		return result(EINVAL);
	if (id->qp_type == IBV_QPT_XRC_RECV && (!(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) || !attr->xrcd)) {
		attr->xrcd = xrc_domain(id);
		if (!attr->xrcd)
			return -1;
		attr->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
	}
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd) {
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
		attr->pd = id->pd;
	} else {
		id->pd = attr->pd;
	}
	if (attr->pd->context != id->verbs)
		return result(EINVAL);
	if (!attr->recv_cq && own_queue(id, attr->cap.max_recv_wr, &id->recv_cq_channel, &id->recv_cq))
		goto failed;
	if (!attr->send_cq && own_queue(id, attr->cap.max_send_wr, &id->send_cq_channel, &id->send_cq))
		goto failed;
	if (attr->recv_cq)
		id->recv_cq = attr->recv_cq;
	if (attr->send_cq)
		id->send_cq = attr->send_cq;
	attr->recv_cq = id->recv_cq;
	attr->send_cq = id->send_cq;
	if (id->srq && !attr->srq)
		attr->srq = id->srq;
	id->qp = ibv_create_qp_ex(id->verbs, attr);
	if (!id->qp)
		goto failed;
	id->qp_type = attr->qp_type;
	if (!begin(id))
		return 0;
	ibv_destroy_qp(id->qp);
	id->qp = NULL;
failed:
	destroy_queues(id);
	return -1;
}

API int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = attr->qp_context, .send_cq = attr->send_cq, .recv_cq = attr->recv_cq,
		.srq = attr->srq, .cap = attr->cap, .qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all, .comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pd ? pd : id->pd
	};

	if (rdma_create_qp_ex(id, &ex))
		return -1;
	attr->cap = ex.cap;
	attr->send_cq = ex.send_cq;
	attr->recv_cq = ex.recv_cq;
	return 0;
}

API void rdma_destroy_qp(struct rdma_cm_id *id)
{
	ibv_destroy_qp(id->qp);
	id->qp = NULL;
	destroy_queues(id);
}

API int rdma_create_srq_ex(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd) {
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
		attr->pd = id->pd;
	}
	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type == IBV_SRQT_XRC) {
		if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) || !attr->xrcd)
			attr->xrcd = xrc_domain(id);
		if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ) || !attr->cq) {
			if (!id->recv_cq && own_queue(id, attr->attr.max_wr, &id->recv_cq_channel, &id->recv_cq))
				goto failed;
			attr->cq = id->recv_cq;
		}
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	}
	id->srq = ibv_create_srq_ex(id->verbs, attr);
	if (id->srq)
		return 0;
failed:
	destroy_queues(id);
	return -1;
}

API int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = {
		.srq_context = attr->srq_context, .attr = attr->attr, .pd = pd,
		.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE,
		.srq_type = id->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC
	};

	if (rdma_create_srq_ex(id, &ex))
		return -1;
	attr->attr = ex.attr;
	return 0;
}

API void rdma_destroy_srq(struct rdma_cm_id *id)
{
	ibv_destroy_srq(id->srq);
	id->srq = NULL;
	destroy_queues(id);
}

/* ---------------------------------------------------------------------------------- connections */
/* READs and atomics in flight, at most. RDMA_MAX_RESP_RES and RDMA_MAX_INIT_DEPTH, and NULL: of an answer what
 * was asked for, else what the device has. Only in RDMA_PS_TCP more than that is refused (ucma_valid_param).
 */
static int promise_reads(struct conn *conn, const struct rdma_conn_param *param, int is_answer)
{
	uint8_t serve = param ? param->responder_resources : RDMA_MAX_RESP_RES;
	uint8_t ask = param ? param->initiator_depth : RDMA_MAX_INIT_DEPTH;
	int is_checked = conn->cm.ps == RDMA_PS_TCP;
	struct ibv_device_attr most;

	if (!conn->cm.verbs || ibv_query_device(conn->cm.verbs, &most) || (is_checked && !param && !conn->cm.qp))
		return result(EINVAL);
	if (is_checked && serve != RDMA_MAX_RESP_RES && serve > most.max_qp_rd_atom)
		return result(EINVAL);
	if (is_checked && ask != RDMA_MAX_INIT_DEPTH && ask > most.max_qp_init_rd_atom)
		return result(EINVAL);
	if (serve != RDMA_MAX_RESP_RES)
		conn->own.responder_resources = serve;
	else if (!is_answer || conn->own.responder_resources > (uint32_t)most.max_qp_rd_atom)
		conn->own.responder_resources = most.max_qp_rd_atom;
	if (ask != RDMA_MAX_INIT_DEPTH)
		conn->own.initiator_depth = ask;
	else if (!is_answer || conn->own.initiator_depth > (uint32_t)most.max_qp_init_rd_atom)
		conn->own.initiator_depth = most.max_qp_init_rd_atom;
	return 0;
}

static uint8_t at_most_7(uint8_t count) /* as cma.c of Linux sends it */
{
	return count < 7 ? count : 7;
}

static int promise(struct conn *conn, const struct rdma_conn_param *param, int is_answer)
{
	if (promise_reads(conn, param, is_answer))
		return -1;
	conn->own.flow_control = param ? param->flow_control : 0;
	conn->own.rnr_retry_count = at_most_7(param ? param->rnr_retry_count : 7);
	if (param && !conn->cm.qp) {
		conn->own.qp_num = param->qp_num;
		conn->own.srq = param->srq;
	}
	return 0;
}

static int converse(enum word word, struct rdma_cm_id *id, const void *private_data, size_t length,
		    uint32_t reason)
{
	struct conn *conn = (struct conn *)id;
	struct ask_cm_connect ask = { .handle = conn->number, .reason = reason };
	struct answer_cm_connect answer;
	struct octets tail;
	int error;

	if (id->qp) {
		conn->own.qp_num = id->qp->qp_num;
		conn->own.srq = !!id->qp->srq;
	}
	ask.promise = conn->own;
	octets_begin(&tail);
	if (private_data)
		octets_add(&tail, private_data, length);
	error = lab_say(word, first_node(), &ask, sizeof(ask), &tail, &answer, sizeof(answer), NULL, NULL);
	octets_end(&tail);
	if (!error)
		conn->own.psn = answer.psn;
	return result(error);
}

API int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	struct conn *conn = (struct conn *)id;
	int error;

	if (promise(conn, param, 0))
		return -1;
	conn->own.retry_count = at_most_7(param ? param->retry_count : 7);
	if (param && param->private_data_len) /* else what rdma_getaddrinfo was given */
		error = converse(WORD_CM_CONNECT, id, param->private_data, param->private_data_len, 0);
	else
		error = converse(WORD_CM_CONNECT, id, conn->data, conn->data_length, 0);
	return error ? -1 : complete(id);
}

API int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	struct conn *conn = (struct conn *)id;

	if (promise(conn, param, 1))
		return -1;
	conn->own.retry_count = conn->peer.retry_count;
	if (bring_up(id))
		return -1;
	if (converse(WORD_CM_ACCEPT, id, param ? param->private_data : NULL,
		     param ? param->private_data_len : 0, 0))
		return -1;
	return id->qp_type == IBV_QPT_UD ? 0 : complete(id);
}

API int rdma_establish(struct rdma_cm_id *id)
{
	return of_id(WORD_CM_ESTABLISH, id);
}

API int rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t length)
{
	return converse(WORD_CM_REJECT, id, private_data, length, CONSUMER_DEFINED);
}

/* -------------------------------------------------------------- options of the vendors' devices */
API int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	struct conn *conn = (struct conn *)id;

	if (!id || id->qp || !ece || !ece->vendor_id || ece->comp_mask)
		return result(EINVAL);
	conn->own.ece_vendor_id = ece->vendor_id;
	conn->own.ece_options = ece->options;
	return 0;
}

API int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	const struct conn *conn = (const struct conn *)id;

	if (!id || id->qp || !ece)
		return result(EINVAL);
	ece->vendor_id = conn->peer.ece_vendor_id;
	ece->options = conn->peer.ece_options;
	ece->comp_mask = 0;
	return 0;
}

API int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data, uint8_t length)
{
	return converse(WORD_CM_REJECT, id, private_data, length, VENDOR_OPTION_NOT_SUPPORTED);
}

API int rdma_disconnect(struct rdma_cm_id *id)
{
	if (move_to_err(id) || of_id(WORD_CM_DISCONNECT, id))
		return -1;
	return complete(id);
}

API int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	(void)id, (void)event; /* the lab tells both sides that a connection is there by itself */
	return 0;
}

/* ucma_set_option_id of Linux. A port that another id listens at is taken with REUSEADDR, too. */
API int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t length)
{
	int is_byte = name == RDMA_OPTION_ID_TOS || name == RDMA_OPTION_ID_ACK_TIMEOUT;
	struct conn *conn = (struct conn *)id;

	if (level == RDMA_OPTION_IB)
		return result(EOPNOTSUPP);
	if (level != RDMA_OPTION_ID || name < RDMA_OPTION_ID_TOS || name > RDMA_OPTION_ID_ACK_TIMEOUT)
		return result(ENOSYS);
	if (length != (is_byte ? sizeof(uint8_t) : sizeof(int)))
		return result(EINVAL);
	if (name == RDMA_OPTION_ID_TOS)
		conn->tos = *(uint8_t *)value;
	if (name != RDMA_OPTION_ID_ACK_TIMEOUT)
		return 0;
	if (id->qp_type != IBV_QPT_RC && id->qp_type != IBV_QPT_XRC_SEND)
		return result(EINVAL);
	conn->timeout = *(uint8_t *)value;
	conn->is_timeout_set = 1;
	return 0;
}

API int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
	struct ask_cm_join ask = { .handle = ((struct conn *)id)->number };

	(void)context;
	address_to_wire(&ask.group, attr->addr);
	if (TELL(WORD_CM_JOIN, first_node(), &ask))
		return -1;
	return complete(id);
}

API int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	struct rdma_cm_join_mc_attr_ex attr = { .addr = addr };

	return rdma_join_multicast_ex(id, &attr, context);
}

static void group_of(union ibv_gid *gid, const struct sockaddr *addr)
{
	struct wire_address group;

	address_to_wire(&group, addr);
	memcpy(gid->raw, group.ip, 16);
}

API int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr)
{
	struct ask_cm_leave ask = { .handle = ((struct conn *)id)->number };
	union ibv_gid gid;

	address_to_wire(&ask.group, addr);
	group_of(&gid, addr);
	if (TELL(WORD_CM_LEAVE, first_node(), &ask))
		return -1;
	return id->qp ? result(ibv_detach_mcast(id->qp, &gid, 0)) : 0;
}

/* ---------------------------------------------------------------------------------------- events */
static int take_byte(struct channel *channel)
{
	uint8_t byte;
	ssize_t count;

	if (!(fcntl(channel->cm.fd, F_GETFL) & O_NONBLOCK)) {
		struct pollfd ready = { channel->cm.fd, POLLIN, 0 };

		if (!poll(&ready, 1, 0)) {
			struct ask_sleep ask = { .noun = NOUN_CM_ID };

			TELL(WORD_SLEEP, first_node(), &ask);
		}
	}
	count = read(channel->cm.fd, &byte, 1);
	if (!count)
		errno = EIO;
	return count == 1 ? 0 : -1;
}

static struct conn *requested(struct rdma_event_channel *channel, struct conn *listener,
			      const struct answer_cm_get_event *told)
{
	struct conn *made = calloc(1, sizeof(*made));

	if (!made)
		abort();
	made->number = told->id;
	made->cm.channel = channel;
	made->cm.context = listener->cm.context;
	made->cm.ps = listener->cm.ps;
	made->cm.qp_type = listener->cm.qp_type;
	address_from_wire(&made->cm.route.addr.src_storage, &told->source);
	address_from_wire(&made->cm.route.addr.dst_storage, &told->destination);
	bind_device(&made->cm, told->node);
	object_add(NOUN_CM_ID, 0, made->number, made);
	return made;
}

static void fill(struct event *event, const struct answer_cm_get_event *told, size_t length)
{
	const struct wire_promise *peer = &told->promise;

	if (told->is_datagram) {
		struct rdma_ud_param *ud = &event->cm.param.ud;

		ud->private_data = length ? event->private_data : NULL;
		ud->private_data_len = length;
		ud->qp_num = peer->qp_num;
		ud->qkey = told->qkey;
		ud->ah_attr.is_global = 1;
		ud->ah_attr.port_num = 1;
		memcpy(ud->ah_attr.grh.dgid.raw, told->gid, 16);
		ud->ah_attr.grh.sgid_index = 1;
		ud->ah_attr.grh.hop_limit = TTL;
		ud->ah_attr.grh.traffic_class = ((struct conn *)event->cm.id)->traffic_class;
		return;
	}
	event->cm.param.conn = (struct rdma_conn_param){
		.private_data = length ? event->private_data : NULL, .private_data_len = length,
		.responder_resources = peer->initiator_depth, .initiator_depth = peer->responder_resources,
		.flow_control = peer->flow_control, .retry_count = peer->retry_count,
		.rnr_retry_count = peer->rnr_retry_count, .srq = peer->srq, .qp_num = peer->qp_num
	};
}

/* As many READs in flight as the peer has said, as cm_req_handler and cm_rep_handler of Linux take it. */
static void meet(struct conn *conn)
{
	conn->own.responder_resources = conn->peer.initiator_depth;
	conn->own.initiator_depth = conn->peer.responder_resources;
}

/* What the library does before the program sees the event. */
static void react(struct conn *conn, struct event *event, const struct answer_cm_get_event *told)
{
	struct rdma_cm_id *id = &conn->cm;

	switch (told->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		conn->peer = told->promise;
		conn->ack_timeout = told->ack_timeout;
		conn->traffic_class = told->promise.traffic_class;
		conn->own.psn = told->own_psn;
		meet(conn);
		memcpy(conn->peer_gid.raw, told->gid, 16);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		conn->peer = told->promise;
		conn->ack_timeout = told->ack_timeout;
		meet(conn);
		memcpy(conn->peer_gid.raw, told->gid, 16);
		if (!id->qp)
			break; /* the program moves its queue pair, and calls rdma_establish */
		if (bring_up(id) || rdma_establish(id)) {
			event->cm.event = RDMA_CM_EVENT_CONNECT_ERROR;
			event->cm.status = -errno;
		} else {
			event->cm.event = RDMA_CM_EVENT_ESTABLISHED;
		}
		break;
	case RDMA_CM_EVENT_REJECTED:
		move_to_err(id);
		break;
	case RDMA_CM_EVENT_MULTICAST_JOIN:
		if (id->qp && ibv_attach_mcast(id->qp, &event->cm.param.ud.ah_attr.grh.dgid, 0)) {
			event->cm.event = RDMA_CM_EVENT_MULTICAST_ERROR;
			event->cm.status = -errno;
		}
		break;
	default:
		break;
	}
}

/* The next event of a channel; 1: it was of an id that is destroyed, for which nobody waits. */
static int take_event(struct rdma_event_channel *channel, struct rdma_cm_event **found)
{
	struct ask_cm_get_event ask = { .handle = ((struct channel *)channel)->number };
	struct answer_cm_get_event told;
	struct conn *conn, *listener = NULL;
	struct event *event;
	struct octets tail;
	size_t length;

	if (take_byte((struct channel *)channel))
		return -1;
	octets_begin(&tail);
	if (lab_say(WORD_CM_GET_EVENT, first_node(), &ask, sizeof(ask), NULL, &told, sizeof(told), &tail, NULL)) {
		octets_end(&tail);
		return -1;
	}
	event = calloc(1, sizeof(*event));
	if (!event)
		abort();
	length = tail.length < sizeof(event->private_data) ? tail.length : sizeof(event->private_data);
	memcpy(event->private_data, tail.at, length);
	octets_end(&tail);
	if (told.listen_id)
		listener = object_find(NOUN_CM_ID, 0, told.listen_id);
	if (listener)
		conn = requested(channel, listener, &told);
	else
		conn = object_find(NOUN_CM_ID, 0, told.id);
	if (!conn) {
		free(event);
		return 1;
	}
	event->owner = listener ? listener : conn;
	count(event, 1);
	event->cm.id = &conn->cm;
	event->cm.listen_id = listener ? &listener->cm : NULL;
	event->cm.event = told.event;
	event->cm.status = told.status;
	fill(event, &told, length);
	react(conn, event, &told);
	*found = &event->cm;
	return 0;
}

API int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **found)
{
	int error;

	do
		error = take_event(channel, found);
	while (error > 0);
	return error;
}

/* ------------------------------------------------------------------------------------- endpoints */
API int rdma_create_ep(struct rdma_cm_id **id, struct rdma_addrinfo *info, struct ibv_pd *pd,
		       struct ibv_qp_init_attr *attr)
{
	struct rdma_cm_id *made;
	struct conn *conn;

	if (create_id(NULL, &made, NULL, info->ai_port_space, info->ai_qp_type))
		return -1;
	conn = (struct conn *)made;
	if (info->ai_flags & RAI_PASSIVE) {
		if (rdma_bind_addr(made, info->ai_src_addr))
			goto failed;
		if (attr) { /* for the ids of rdma_get_request */
			conn->template = malloc(sizeof(*attr));
			if (!conn->template)
				goto failed;
			*conn->template = *attr;
			conn->template->qp_type = info->ai_qp_type;
			conn->template_pd = pd;
		}
		*id = made;
		return 0;
	}
	if (rdma_resolve_addr(made, info->ai_src_addr, info->ai_dst_addr, 2000) ||
	    rdma_resolve_route(made, 2000))
		goto failed;
	if (attr) {
		attr->qp_type = info->ai_qp_type; /* programs rely on it */
		if (rdma_create_qp(made, pd, attr))
			goto failed;
	}
	if (info->ai_connect_len) {
		conn->data = malloc(info->ai_connect_len);
		if (!conn->data)
			goto failed;
		memcpy(conn->data, info->ai_connect, info->ai_connect_len);
		conn->data_length = info->ai_connect_len;
	}
	*id = made;
	return 0;
failed:
	rdma_destroy_ep(made);
	return -1;
}

API int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id)
{
	struct conn *listener = (struct conn *)listen;
	struct rdma_cm_event *event;
	struct rdma_cm_id *made;

	if (!listener->waits)
		return result(EINVAL);
	if (rdma_get_cm_event(listen->channel, &event))
		return -1;
	if (event->status || event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		int error = event->status ? abs(event->status) : EINVAL;

		rdma_ack_cm_event(event);
		return result(error);
	}
	made = event->id;
	made->channel = NULL;
	if (rdma_migrate_id(made, NULL))
		return -1;
	made->event = event;
	if (listener->template) {
		struct ibv_qp_init_attr attr = *listener->template;

		if (rdma_create_qp(made, listener->template_pd, &attr)) {
			rdma_destroy_id(made);
			return -1;
		}
	}
	*id = made;
	return 0;
}

API void rdma_destroy_ep(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	if (id->srq)
		rdma_destroy_srq(id);
	rdma_destroy_id(id);
}

/* -------------------------------------------------------------------------------------- the rest */
API struct ibv_context **rdma_get_devices(int *count)
{
	uint16_t first;
	uint32_t number = lab_devices(&first), at;
	struct ibv_context **list = calloc(number + 1, sizeof(*list));

	if (!list)
		return NULL;
	for (at = 0; at < number; at++)
		list[at] = context_at(first + at);
	if (count)
		*count = number;
	return list;
}

API void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}

static struct sockaddr *copied(const struct sockaddr *from, socklen_t length)
{
	struct sockaddr *made = from && length ? malloc(length) : NULL;

	return made ? memcpy(made, from, length) : NULL;
}

/* What a name stands for: the source where a program listens, else the destination. */
static int look_up(const char *node, const char *service, const struct rdma_addrinfo *hints,
		   struct rdma_addrinfo *made)
{
	struct addrinfo ask = { .ai_family = hints->ai_family, .ai_socktype = SOCK_STREAM };
	int is_passive = !!(hints->ai_flags & RAI_PASSIVE), error;
	struct addrinfo *given;

	ask.ai_flags = is_passive ? AI_PASSIVE : 0;
	if (hints->ai_flags & RAI_NUMERICHOST)
		ask.ai_flags |= AI_NUMERICHOST;
	if (!ask.ai_family)
		ask.ai_family = AF_INET;
	error = getaddrinfo(node, service, &ask, &given);
	if (error)
		return error;
	made->ai_family = given->ai_family;
	if (is_passive) {
		made->ai_src_addr = copied(given->ai_addr, given->ai_addrlen);
		made->ai_src_len = given->ai_addrlen;
	} else {
		made->ai_dst_addr = copied(given->ai_addr, given->ai_addrlen);
		made->ai_dst_len = given->ai_addrlen;
	}
	freeaddrinfo(given);
	return 0;
}

API int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
			 struct rdma_addrinfo **found)
{
	static const struct rdma_addrinfo none;
	struct rdma_addrinfo *made;
	int error;

	if (!node && !service && !hints)
		return result(EINVAL);
	if (!hints)
		hints = &none;
	made = calloc(1, sizeof(*made));
	if (!made)
		return EAI_MEMORY;
	made->ai_flags = hints->ai_flags;
	made->ai_family = hints->ai_family;
	made->ai_port_space = hints->ai_port_space ? hints->ai_port_space : RDMA_PS_TCP;
	made->ai_qp_type = made->ai_port_space == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
	if (hints->ai_qp_type)
		made->ai_qp_type = hints->ai_qp_type;
	if (node || service) {
		error = look_up(node, service, hints, made);
		if (error) {
			free(made);
			return error;
		}
	} else if (hints->ai_dst_len) {
		made->ai_dst_addr = copied(hints->ai_dst_addr, hints->ai_dst_len);
		made->ai_dst_len = hints->ai_dst_len;
	}
	if (!made->ai_src_len && hints->ai_src_len) {
		made->ai_src_addr = copied(hints->ai_src_addr, hints->ai_src_len);
		made->ai_src_len = hints->ai_src_len;
	}
	*found = made;
	return 0;
}

API void rdma_freeaddrinfo(struct rdma_addrinfo *info)
{
	free(info->ai_src_addr);
	free(info->ai_dst_addr);
	free(info);
}

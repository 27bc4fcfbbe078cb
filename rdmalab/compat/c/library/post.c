/* Work requests: posted as lists, or built one by one between wr_start and wr_complete. */
#include "lab.h"

static void add_sges(struct octets *o, const struct ibv_sge *sg, int count)
{
	int at;

	for (at = 0; at < count; at++) {
		struct wire_sge sge;

		sge_to_wire(&sge, &sg[at]);
		octets_add(o, &sge, sizeof(sge));
	}
}

/* The bytes of INLINE: the processor copies them, from the stack or from constants as well. */
static void add_inline(struct octets *o, const struct ibv_sge *sg, int count)
{
	int at;

	for (at = 0; at < count; at++)
		octets_add(o, (const void *)(uintptr_t)sg[at].addr, sg[at].length);
}

static void add_header(struct octets *o, const struct wire_send *send)
{
	octets_add(o, (const void *)(uintptr_t)send->hdr_addr, send->hdr_sz);
}

/* Unions mean something by opcode and by the type of the queue pair: the type decides first. */
static void to_wire(struct wire_send *w, const struct ibv_qp *qp, const struct ibv_send_wr *wr)
{
	int is_datagram = qp->qp_type == IBV_QPT_UD;

	memset(w, 0, sizeof(*w));
	w->wr_id = wr->wr_id;
	w->opcode = wr->opcode;
	w->send_flags = wr->send_flags;
	w->num_sge = wr->num_sge;
	w->imm_data = wr->imm_data;
	if (qp->qp_type == IBV_QPT_XRC_SEND)
		w->remote_srqn = wr->qp_type.xrc.remote_srqn;
	switch (wr->opcode) {
	case IBV_WR_BIND_MW:
		w->num_sge = 0;
		w->mw = wr->bind_mw.mw ? wr->bind_mw.mw->handle : 0;
		w->bind_rkey = wr->bind_mw.rkey;
		w->bind_mr = wr->bind_mw.bind_info.mr ? wr->bind_mw.bind_info.mr->handle : 0;
		w->bind_access = wr->bind_mw.bind_info.mw_access_flags;
		w->bind_addr = wr->bind_mw.bind_info.addr;
		w->bind_length = wr->bind_mw.bind_info.length;
		return;
	case IBV_WR_LOCAL_INV:
		w->num_sge = 0;
		return;
	case IBV_WR_TSO:
		w->mss = wr->tso.mss;
		w->hdr_sz = wr->tso.hdr_sz;
		w->hdr_addr = (uintptr_t)wr->tso.hdr;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		w->remote_addr = wr->wr.atomic.remote_addr;
		w->rkey = wr->wr.atomic.rkey;
		w->compare_add = wr->wr.atomic.compare_add;
		w->swap = wr->wr.atomic.swap;
		return;
	default:
		break;
	}
	if (is_datagram) {
		w->ah = wr->wr.ud.ah ? wr->wr.ud.ah->handle : 0;
		w->remote_qpn = wr->wr.ud.remote_qpn;
		w->remote_qkey = wr->wr.ud.remote_qkey;
	} else if (wr->opcode == IBV_WR_RDMA_WRITE || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
		   wr->opcode == IBV_WR_RDMA_READ) {
		w->remote_addr = wr->wr.rdma.remote_addr;
		w->rkey = wr->wr.rdma.rkey;
	}
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct pair *pair = (struct pair *)qp;
	struct ask_post_send ask = { .handle = qp->handle };
	struct ibv_send_wr *each;
	struct octets tail;
	uint32_t refused = 0;
	int error;

	if (wr && page_post_send(qp, pair->slot, &pair->sent, wr))
		return 0;
	octets_begin(&tail);
	for (each = wr; each; each = each->next) {
		struct wire_send send;

		to_wire(&send, qp, each);
		octets_add(&tail, &send, sizeof(send));
		add_sges(&tail, each->sg_list, send.num_sge);
		if (each->send_flags & IBV_SEND_INLINE)
			add_inline(&tail, each->sg_list, send.num_sge);
		add_header(&tail, &send);
		ask.count++;
	}
	page_sends(pair->slot, &pair->sent, ask.count);
	error = lab_say(WORD_POST_SEND, node_of(qp->context), &ask, sizeof(ask), &tail, NULL, 0, NULL, &refused);
	if (error)
		page_sends(pair->slot, &pair->sent, (int)refused - (int)ask.count);
	octets_end(&tail);
	if (error && bad)
		for (*bad = wr; *bad && refused--; *bad = (*bad)->next)
			;
	return error;
}

static int post_receives(enum word word, uint16_t node, uint32_t handle, struct ibv_recv_wr *wr,
			 struct ibv_recv_wr **bad)
{
	struct ask_post_recv ask = { .handle = handle };
	struct ibv_recv_wr *each;
	struct octets tail;
	uint32_t refused = 0;
	int error;

	octets_begin(&tail);
	for (each = wr; each; each = each->next) {
		struct wire_receive receive = { .wr_id = each->wr_id, .num_sge = each->num_sge };

		octets_add(&tail, &receive, sizeof(receive));
		add_sges(&tail, each->sg_list, each->num_sge);
		ask.count++;
	}
	error = lab_say(word, node, &ask, sizeof(ask), &tail, NULL, 0, NULL, &refused);
	octets_end(&tail);
	if (error && bad)
		for (*bad = wr; *bad && refused--; *bad = (*bad)->next)
			;
	return error;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct pair *pair = (struct pair *)qp;

	if (wr && page_post_recv(qp, pair->slot, &pair->posted, wr))
		return 0;
	return post_receives(WORD_POST_RECV, node_of(qp->context), qp->handle, wr, bad);
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	return post_receives(WORD_POST_SRQ_RECV, node_of(srq->context), srq->handle, wr, bad);
}

void post_functions(struct verbs_context *verbs)
{
	verbs->context.ops.post_send = post_send;
	verbs->context.ops.post_recv = post_recv;
	verbs->context.ops.post_srq_recv = post_srq_recv;
}

/* ------------------------------------------------------------------------------------ builders */
struct built {
	struct wire_send send;
	struct octets bytes; /* its sges, and INLINE data */
};

struct batch {
	uint32_t count, room;
	struct built *built;
};

static struct batch *batch_of(struct ibv_qp_ex *ex)
{
	return ((struct pair *)ex)->batch;
}

static void clear(struct batch *batch)
{
	while (batch && batch->count)
		octets_end(&batch->built[--batch->count].bytes);
}

void batch_free(struct batch *batch)
{
	clear(batch);
	if (batch)
		free(batch->built);
	free(batch);
}

/* After a growth the short bytes have moved with their structures: their pointers follow. */
static struct built *append(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode)
{
	struct batch *batch = batch_of(ex);
	struct built *made;
	uint32_t at;

	if (batch->count == batch->room) {
		uint8_t *stays = NULL;
		struct built *larger = calloc(2 * batch->room + 8, sizeof(*larger));

		if (!larger)
			abort();
		for (at = 0; at < batch->count; at++) {
			struct built *old = &batch->built[at];

			stays = old->bytes.at == old->bytes.few ? NULL : old->bytes.at;
			larger[at] = *old;
			larger[at].bytes.at = stays ? stays : larger[at].bytes.few;
		}
		free(batch->built);
		batch->built = larger;
		batch->room = 2 * batch->room + 8;
	}
	made = &batch->built[batch->count++];
	memset(&made->send, 0, sizeof(made->send));
	octets_begin(&made->bytes);
	made->send.wr_id = ex->wr_id;
	made->send.send_flags = ex->wr_flags;
	made->send.opcode = opcode;
	return made;
}

static struct built *last(struct ibv_qp_ex *ex)
{
	struct batch *batch = batch_of(ex);
	static __thread struct built nowhere; /* a setter without a builder: C would write somewhere */

	if (batch->count)
		return &batch->built[batch->count - 1];
	memset(&nowhere.send, 0, sizeof(nowhere.send));
	octets_begin(&nowhere.bytes);
	return &nowhere;
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct pair *pair = (struct pair *)ex;

	pthread_mutex_lock(&ex->qp_base.mutex);
	if (!pair->batch)
		pair->batch = calloc(1, sizeof(*pair->batch));
	if (!pair->batch)
		abort();
	clear(pair->batch);
}

static int finish(struct ibv_qp_ex *ex, int is_aborted)
{
	struct ibv_qp *qp = &ex->qp_base;
	struct batch *batch = batch_of(ex);
	struct ask_wr_complete ask = {
		.handle = qp->handle, .count = batch->count, .is_aborted = is_aborted
	};
	struct octets tail;
	uint32_t at;
	int error;

	octets_begin(&tail);
	for (at = 0; at < batch->count; at++) {
		struct built *each = &batch->built[at];

		octets_add(&tail, &each->send, sizeof(each->send));
		octets_add(&tail, each->bytes.at, each->bytes.length);
		add_header(&tail, &each->send); /* it is copied by wr_complete, not before */
	}
	error = lab_say(WORD_WR_COMPLETE, node_of(qp->context), &ask, sizeof(ask), &tail, NULL, 0, NULL, NULL);
	octets_end(&tail);
	clear(batch);
	pthread_mutex_unlock(&qp->mutex);
	return error;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	return finish(ex, 0);
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	finish(ex, 1);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	append(ex, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	append(ex, IBV_WR_SEND_WITH_IMM)->send.imm_data = imm_data;
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	append(ex, IBV_WR_SEND_WITH_INV)->send.imm_data = rkey;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	append(ex, IBV_WR_LOCAL_INV)->send.imm_data = rkey;
}

static struct built *append_remote(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey,
				   uint64_t remote_addr)
{
	struct built *made = append(ex, opcode);

	made->send.rkey = rkey;
	made->send.remote_addr = remote_addr;
	return made;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	append_remote(ex, IBV_WR_RDMA_READ, rkey, remote_addr);
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	append_remote(ex, IBV_WR_RDMA_WRITE, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      __be32 imm_data)
{
	append_remote(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr)->send.imm_data = imm_data;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      uint64_t compare, uint64_t swap)
{
	struct built *made = append_remote(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr);

	made->send.compare_add = compare;
	made->send.swap = swap;
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t add)
{
	append_remote(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr)->send.compare_add = add;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct wire_send *send = &append(ex, IBV_WR_BIND_MW)->send;

	send->mw = mw->handle;
	send->bind_rkey = rkey;
	send->bind_mr = info->mr ? info->mr->handle : 0;
	send->bind_addr = info->addr;
	send->bind_length = info->length;
	send->bind_access = info->mw_access_flags;
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct wire_send *send = &last(ex)->send;

	send->ah = ah->handle;
	send->remote_qpn = remote_qpn;
	send->remote_qkey = remote_qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	last(ex)->send.remote_srqn = remote_srqn;
}

static void set_bytes(struct ibv_qp_ex *ex, enum setter setter, const struct ibv_sge *sg, size_t count)
{
	struct built *made = last(ex);

	if (made->send.setter) /* a second one for the same request: the lab judges it */
		made = append(ex, (enum ibv_wr_opcode)NO_OPCODE);
	made->send.setter = setter;
	made->send.num_sge = count;
	add_sges(&made->bytes, sg, count);
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	set_bytes(ex, SETTER_SGE, &sge, 1);
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t count, const struct ibv_sge *sg)
{
	set_bytes(ex, SETTER_SGE_LIST, sg, count);
}

static void set_inline(struct ibv_qp_ex *ex, enum setter setter, const struct ibv_data_buf *buf, size_t count)
{
	struct ibv_sge *sg = calloc(count + 1, sizeof(*sg));
	size_t at;

	if (!sg)
		abort();
	for (at = 0; at < count; at++) {
		sg[at].addr = (uintptr_t)buf[at].addr;
		sg[at].length = buf[at].length;
	}
	set_bytes(ex, setter, sg, count);
	add_inline(&last(ex)->bytes, sg, count);
	free(sg);
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf buf = { .addr = addr, .length = length };

	set_inline(ex, SETTER_INLINE_DATA, &buf, 1);
}

static void wr_send_tso(struct ibv_qp_ex *ex, void *hdr, uint16_t hdr_sz, uint16_t mss)
{
	struct wire_send *send = &append(ex, IBV_WR_TSO)->send;

	send->hdr_addr = (uintptr_t)hdr;
	send->hdr_sz = hdr_sz;
	send->mss = mss;
}

static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, const void *from)
{
	append_remote(ex, IBV_WR_ATOMIC_WRITE, rkey, remote_addr);
	wr_set_inline_data(ex, (void *)(uintptr_t)from, 8);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t count, const struct ibv_data_buf *buf)
{
	set_inline(ex, SETTER_INLINE_DATA_LIST, buf, count);
}

void extended_post_functions(struct ibv_qp_ex *ex)
{
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_local_inv = wr_local_inv;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_send_tso = wr_send_tso;
	ex->wr_atomic_write = wr_atomic_write;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
}

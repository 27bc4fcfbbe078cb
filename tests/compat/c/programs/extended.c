/* No mistake: work requests by builders, completions by start_poll, two memory windows. */
#include "pair.h"

static const struct wishes wanted = {
	.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND,
	.rnr_retry = 7, .retry_cnt = 7, .gid_index = 1, .max_send_wr = 16, .is_extended = 1
};

/* Read so many completions, in one go where they are there; returns the sum of their wr_ids. */
static uint64_t completions(struct side *s, int count)
{
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)s->cq;
	struct ibv_poll_cq_attr attr = {};
	uint64_t sum = 0;
	int error;

	while (count) {
		while ((error = ibv_start_poll(cq, &attr)) == ENOENT)
			;
		for (; !error; error = count ? ibv_next_poll(cq) : ENOENT) {
			NEED(cq->status == IBV_WC_SUCCESS);
			NEED(ibv_wc_read_qp_num(cq) == s->qp->qp_num);
			if (ibv_wc_read_wc_flags(cq) & IBV_WC_WITH_IMM)
				NEED(ibv_wc_read_imm_data(cq) == htobe32(0xfeed));
			sum += cq->wr_id;
			count--;
		}
		NEED(error == ENOENT);
		ibv_end_poll(cq);
	}
	return sum;
}

static uint32_t told(struct side *s, uint32_t value)
{
	uint32_t peers;

	NEED(write(s->line, &value, sizeof(value)) == sizeof(value));
	NEED(read(s->line, &peers, sizeof(peers)) == sizeof(peers));
	return peers;
}

static struct ibv_mw *window(struct side *s, enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(s->pd, type);

	NEED(mw && mw->type == type);
	return mw;
}

static struct ibv_mw_bind_info bytes(struct side *s, uint64_t from, uint64_t length)
{
	return (struct ibv_mw_bind_info){
		.mr = s->mr, .addr = s->own.addr + from, .length = length, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE
	};
}

static void serve(struct side *s)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(s->qp);
	struct ibv_mw *first = window(s, IBV_MW_TYPE_1), *second = window(s, IBV_MW_TYPE_2);
	struct ibv_mw_bind bind = { .wr_id = 40, .send_flags = IBV_SEND_SIGNALED, .bind_info = bytes(s, 2048, 64) };
	struct ibv_mw_bind_info info = bytes(s, 3072, 64);

	NEED(!ibv_bind_mw(s->qp, first, &bind));
	ibv_wr_start(qp);
	qp->wr_id = 2;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_bind_mw(qp, second, ibv_inc_rkey(second->rkey), &info);
	NEED(!ibv_wr_complete(qp));
	second->rkey = ibv_inc_rkey(second->rkey);
	NEED(completions(s, 2) == 42);
	NEED(!post_recv(s, 1) && !post_recv(s, 2) && !post_recv(s, 3));
	told(s, first->rkey);
	told(s, second->rkey);
	NEED(completions(s, 3) == 6);
	meet(s);
	NEED(!strcmp(s->memory + 1024, "written") && !strcmp(s->memory + 2048, "window 1"));
	NEED(!strcmp(s->memory + 3072, "window 2"));
	NEED(*(uint64_t *)(s->memory + 512) == 12 && *(uint64_t *)(s->memory + 520) == 9);
	NEED(!ibv_dealloc_mw(first) && !ibv_dealloc_mw(second));
}

static void ask(struct side *s)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(s->qp);
	uint32_t first = told(s, 0), second = told(s, 0), rkey = s->peer.rkey;
	uint64_t there = s->peer.addr, eight = 9;
	struct ibv_sge list[] = { { s->own.addr, 4, s->mr->lkey } };
	struct ibv_data_buf parts[] = { { "window", 6 }, { " 2", 3 } };

	strcpy(s->memory, "sent");
	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	qp->wr_id = 1;
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, s->mr->lkey, s->own.addr, 5);
	qp->wr_id = 2;
	ibv_wr_send_imm(qp, htobe32(0xfeed));
	ibv_wr_set_inline_data(qp, "now", 4);
	qp->wr_id = 3;
	ibv_wr_rdma_write(qp, rkey, there + 1024);
	ibv_wr_set_inline_data(qp, "written", 8);
	qp->wr_id = 4;
	ibv_wr_rdma_write_imm(qp, rkey, there, htobe32(0xfeed));
	ibv_wr_set_sge_list(qp, 1, list);
	qp->wr_id = 5;
	ibv_wr_rdma_write(qp, first, there + 2048);
	ibv_wr_set_inline_data(qp, "window 1", 9);
	NEED(!ibv_wr_complete(qp));
	NEED(completions(s, 5) == 15);
	ibv_wr_start(qp);
	qp->wr_id = 6;
	ibv_wr_rdma_write(qp, second, there + 3072);
	ibv_wr_set_inline_data_list(qp, 2, parts);
	qp->wr_id = 7;
	ibv_wr_atomic_fetch_add(qp, rkey, there + 512, 5);
	ibv_wr_set_sge(qp, s->mr->lkey, s->own.addr + 256, 8);
	qp->wr_id = 8;
	ibv_wr_atomic_cmp_swp(qp, rkey, there + 512, 5, 12);
	ibv_wr_set_sge(qp, s->mr->lkey, s->own.addr + 264, 8);
	qp->wr_id = 9;
	ibv_wr_atomic_write(qp, rkey, there + 520, &eight);
	eight = 0; /* it was copied */
	qp->wr_id = 10;
	ibv_wr_rdma_read(qp, rkey, there + 1024);
	ibv_wr_set_sge(qp, s->mr->lkey, s->own.addr + 128, 8);
	NEED(!ibv_wr_complete(qp));
	NEED(completions(s, 5) == 40);
	NEED(*(uint64_t *)(s->memory + 256) == 0 && *(uint64_t *)(s->memory + 264) == 5);
	NEED(!strcmp(s->memory + 128, "written"));
	ibv_wr_start(qp);
	qp->wr_id = 11;
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, s->mr->lkey, s->own.addr, 5);
	ibv_wr_abort(qp); /* nothing of it is sent */
	meet(s);
}

int main(int argc, char **argv)
{
	struct side s;

	(void)argc;
	up(&s, argv, &wanted);
	if (s.serves)
		serve(&s);
	else
		ask(&s);
	return down(&s);
}

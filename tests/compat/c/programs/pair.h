/* Two processes, an RC connection between them, and a Unix socket for what they must tell each other.
 * PROGRAM PATH serve, PROGRAM PATH ask. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#define SIZE 4096
#define NEED(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #x, strerror(errno)); exit(2); } } while (0)

struct told {
	uint32_t qpn, psn, lkey, rkey;
	uint64_t addr;
	union ibv_gid gid;
};

struct side {
	int serves, line;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char *memory;
	struct told own, peer;
};

struct wishes {
	int access, rnr_retry, retry_cnt, gid_index, max_send_wr, with_channel, is_extended;
};

static const struct wishes usual = {
	.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	.rnr_retry = 7, .retry_cnt = 7, .gid_index = 1, .max_send_wr = 16
};

static int line_of(const char *path, int serves)
{
	struct sockaddr_un there = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), n;

	strncpy(there.sun_path, path, sizeof(there.sun_path) - 1);
	if (serves) {
		unlink(path);
		NEED(!bind(fd, (struct sockaddr *)&there, sizeof(there)));
		NEED(!listen(fd, 1));
		return accept(fd, NULL, NULL);
	}
	for (n = 0; n < 500 && connect(fd, (struct sockaddr *)&there, sizeof(there)); n++)
		usleep(20000);
	NEED(n < 500);
	return fd;
}

/* Both sides have come to here; -1 if the other one is gone. */
static inline int meet(struct side *s)
{
	char c = 'x';

	if (write(s->line, &c, 1) != 1)
		return -1;
	return read(s->line, &c, 1) == 1 ? 0 : -1;
}

static int to_init(struct side *s, int access)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = access };

	return ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int to_rtr(struct side *s, const struct wishes *w)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = s->peer.qpn,
		.rq_psn = s->peer.psn, .max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = s->peer.gid, .sgid_index = w->gid_index, .hop_limit = 64 } }
	};

	return ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static inline int to_rts(struct side *s, const struct wishes *w)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = w->retry_cnt,
		.rnr_retry = w->rnr_retry, .sq_psn = s->own.psn, .max_rd_atomic = 1
	};

	return ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void create(struct side *s, char **argv, const struct wishes *w)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = w->max_send_wr, .max_recv_wr = 16, .max_send_sge = 2, .max_recv_sge = 1, .max_inline_data = 64 }
	};

	memset(s, 0, sizeof(*s));
	s->serves = !strcmp(argv[2], "serve");
	NEED(list && list[0]);
	NEED(s->context = ibv_open_device(list[0]));
	ibv_free_device_list(list);
	NEED(s->pd = ibv_alloc_pd(s->context));
	if (w->with_channel)
		NEED(s->channel = ibv_create_comp_channel(s->context));
	if (w->is_extended) {
		struct ibv_cq_init_attr_ex attr = { .cqe = 32, .wc_flags = IBV_WC_STANDARD_FLAGS };

		NEED(s->cq = ibv_cq_ex_to_cq(ibv_create_cq_ex(s->context, &attr)));
	} else {
		NEED(s->cq = ibv_create_cq(s->context, 32, NULL, s->channel, 0));
	}
	NEED(s->memory = aligned_alloc(4096, SIZE));
	memset(s->memory, 0, SIZE);
	NEED(s->mr = ibv_reg_mr(s->pd, s->memory, SIZE, w->access));
	init.send_cq = init.recv_cq = s->cq;
	if (w->is_extended) {
		struct ibv_qp_init_attr_ex attr = {
			.qp_type = init.qp_type, .cap = init.cap, .send_cq = s->cq, .recv_cq = s->cq, .pd = s->pd,
			.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
			.send_ops_flags = (IBV_QP_EX_WITH_BIND_MW << 1) - 1
		};

		attr.send_ops_flags |= IBV_QP_EX_WITH_ATOMIC_WRITE;
		NEED(s->qp = ibv_create_qp_ex(s->context, &attr));
	} else {
		NEED(s->qp = ibv_create_qp(s->pd, &init));
	}
	s->own = (struct told){
		.qpn = s->qp->qp_num, .psn = s->serves ? 100 : 200, .lkey = s->mr->lkey,
		.rkey = s->mr->rkey, .addr = (uintptr_t)s->memory
	};
	NEED(!ibv_query_gid(s->context, 1, w->gid_index, &s->own.gid));
	s->line = line_of(argv[1], s->serves);
	NEED(write(s->line, &s->own, sizeof(s->own)) == sizeof(s->own));
	NEED(read(s->line, &s->peer, sizeof(s->peer)) == sizeof(s->peer));
}

static inline void up(struct side *s, char **argv, const struct wishes *w)
{
	create(s, argv, w);
	NEED(!to_init(s, w->access & ~IBV_ACCESS_MW_BIND));
	NEED(!to_rtr(s, w));
	NEED(!to_rts(s, w));
	meet(s);
}

static inline int post_recv(struct side *s, uint64_t wr_id)
{
	struct ibv_sge sge = { .addr = (uintptr_t)s->memory, .length = SIZE, .lkey = s->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(s->qp, &wr, &bad);
}

static inline int post(struct side *s, uint64_t wr_id, enum ibv_wr_opcode opcode, uint32_t length,
		       uint32_t rkey, unsigned int flags)
{
	struct ibv_sge sge = { .addr = (uintptr_t)s->memory, .length = length, .lkey = s->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = wr_id, .sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = flags
	}, *bad;

	wr.wr.rdma.remote_addr = s->peer.addr;
	wr.wr.rdma.rkey = rkey;
	return ibv_post_send(s->qp, &wr, &bad);
}

static inline enum ibv_wc_status wait_one(struct side *s)
{
	struct ibv_wc wc;
	int found;

	while (!(found = ibv_poll_cq(s->cq, 1, &wc)))
		;
	NEED(found > 0);
	printf("wr_id %lu: %s\n", (unsigned long)wc.wr_id, ibv_wc_status_str(wc.status));
	fflush(stdout);
	return wc.status;
}

static inline int down(struct side *s)
{
	meet(s);
	NEED(!ibv_destroy_qp(s->qp));
	NEED(!ibv_dereg_mr(s->mr));
	NEED(!ibv_destroy_cq(s->cq));
	if (s->channel)
		NEED(!ibv_destroy_comp_channel(s->channel));
	NEED(!ibv_dealloc_pd(s->pd));
	NEED(!ibv_close_device(s->context));
	free(s->memory);
	return 0;
}

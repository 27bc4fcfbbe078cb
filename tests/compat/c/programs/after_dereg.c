/* The memory region is deregistered while a request that uses it is still to be carried out. */
#include "pair.h"

int main(int argc, char **argv)
{
	struct side s;

	(void)argc;
	up(&s, argv, &usual);
	if (!s.serves) {
		NEED(!post(&s, 7, IBV_WR_RDMA_WRITE, 16, s.peer.rkey, IBV_SEND_SIGNALED));
		wait_one(&s);
		NEED(!ibv_dereg_mr(s.mr));
		s.mr = NULL;
		s.mr = ibv_reg_mr(s.pd, s.memory, 16, 0); /* without the rights of the first one */
		NEED(s.mr);
		struct ibv_sge sge = { .addr = (uintptr_t)s.memory, .length = 16, .lkey = s.own.lkey };
		struct ibv_send_wr wr = {
			.wr_id = 8, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { .remote_addr = s.peer.addr, .rkey = s.peer.rkey }
		}, *bad;
		NEED(!ibv_post_send(s.qp, &wr, &bad));
		wait_one(&s);
	}
	return down(&s);
}

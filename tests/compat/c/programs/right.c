/* No mistake: a SEND, a WRITE, a READ, INLINE from the stack. */
#include "pair.h"

int main(int argc, char **argv)
{
	struct side s;
	char text[] = "from the stack";
	struct ibv_sge sge = { .addr = (uintptr_t)text, .length = sizeof(text) };
	struct ibv_send_wr wr = {
		.wr_id = 9, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE
	}, *bad;

	(void)argc;
	up(&s, argv, &usual);
	if (s.serves) {
		NEED(!post_recv(&s, 1));
		meet(&s);
		NEED(wait_one(&s) == IBV_WC_SUCCESS);
		NEED(!strcmp(s.memory, text));
		strcpy(s.memory, "to be read");
		meet(&s);
	} else {
		meet(&s);
		NEED(!ibv_post_send(s.qp, &wr, &bad));
		NEED(wait_one(&s) == IBV_WC_SUCCESS);
		meet(&s);
		NEED(!post(&s, 10, IBV_WR_RDMA_READ, 64, s.peer.rkey, IBV_SEND_SIGNALED));
		NEED(wait_one(&s) == IBV_WC_SUCCESS);
		NEED(!strcmp(s.memory, "to be read"));
	}
	return down(&s);
}

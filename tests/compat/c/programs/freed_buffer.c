/* The buffer of a receive is freed before the message comes; what is allocated next lies there. */
#include "pair.h"
#include <sys/mman.h>

int main(int argc, char **argv)
{
	struct side s;

	(void)argc;
	up(&s, argv, &usual);
	if (s.serves) {
		char *room = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		struct ibv_mr *mr = ibv_reg_mr(s.pd, room, SIZE, IBV_ACCESS_LOCAL_WRITE);
		struct ibv_sge sge = { .addr = (uintptr_t)room, .length = SIZE, .lkey = mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

		NEED(!ibv_post_recv(s.qp, &wr, &bad));
		munmap(room, SIZE);
		NEED(!ibv_dereg_mr(mr));
	}
	meet(&s);
	if (!s.serves)
		NEED(!post(&s, 7, IBV_WR_SEND, 16, 0, IBV_SEND_SIGNALED));
	wait_one(&s);
	return down(&s);
}

/* Mistake: waits for two completions, and one of the two WRITEs is not signaled. */
#include "pair.h"

int main(int argc, char **argv)
{
	struct side s;
	struct ibv_wc wc;
	int n = 0;

	(void)argc;
	up(&s, argv, &usual);
	if (!s.serves) {
		NEED(!post(&s, 2, IBV_WR_RDMA_WRITE, 64, s.peer.rkey, 0));
		NEED(!post(&s, 3, IBV_WR_RDMA_WRITE, 64, s.peer.rkey, IBV_SEND_SIGNALED));
		while (n < 2)
			n += ibv_poll_cq(s.cq, 1, &wc);
	}
	return down(&s);
}

/* It posts unsignaled sends until the send queue is full, and then tries again and again. */
#include "pair.h"

int main(int argc, char **argv)
{
	struct wishes w = usual;
	struct side s;
	int n, error = 0;

	(void)argc;
	w.max_send_wr = 4;
	up(&s, argv, &w);
	if (!s.serves)
		for (n = 0; n < 100 && !error; n++) {
			struct ibv_wc wc;

			error = post(&s, n, IBV_WR_RDMA_WRITE, 16, s.peer.rkey, 0);
			while (error == ENOMEM && !ibv_poll_cq(s.cq, 1, &wc))
				error = post(&s, n, IBV_WR_RDMA_WRITE, 16, s.peer.rkey, 0);
		}
	return down(&s);
}

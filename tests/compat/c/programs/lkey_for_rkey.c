/* The server tells its lkey where its rkey was meant: on adapters where both are equal it stays unseen. */
#include "pair.h"

int main(int argc, char **argv)
{
	struct side s;

	(void)argc;
	up(&s, argv, &usual);
	if (!s.serves) {
		NEED(!post(&s, 7, IBV_WR_RDMA_WRITE, 16, s.peer.lkey, IBV_SEND_SIGNALED));
		wait_one(&s);
	}
	return down(&s);
}

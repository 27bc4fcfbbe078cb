/* Mistake: the server waits for a completion of the client's RDMA WRITE. */
#include "pair.h"

int main(int argc, char **argv)
{
	struct side s;

	(void)argc;
	up(&s, argv, &usual);
	if (s.serves)
		NEED(!post_recv(&s, 1));
	meet(&s);
	if (!s.serves)
		NEED(!post(&s, 2, IBV_WR_RDMA_WRITE, 64, s.peer.rkey, IBV_SEND_SIGNALED));
	wait_one(&s);
	return down(&s);
}

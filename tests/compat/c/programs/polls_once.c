/* The client polls once, right after the post, and takes an empty queue for a failure. */
#include "pair.h"

int main(int argc, char **argv)
{
	struct wishes w = usual;
	struct ibv_wc wc;
	struct side s;

	(void)argc;
	up(&s, argv, &w);
	if (s.serves)
		NEED(!post_recv(&s, 1));
	meet(&s);
	if (!s.serves) {
		NEED(!post(&s, 7, IBV_WR_SEND, 16, 0, IBV_SEND_SIGNALED));
		if (ibv_poll_cq(s.cq, 1, &wc) != 1)
			return 3;
	}
	return down(&s);
}

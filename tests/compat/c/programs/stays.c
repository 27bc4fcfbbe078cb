/* The client writes with a wrong rkey and ends; the server waits for a message that it will not send. */
#include "pair.h"

int main(int argc, char **argv)
{
	struct side s;

	(void)argc;
	up(&s, argv, &usual);
	if (s.serves) {
		NEED(!post_recv(&s, 1));
		meet(&s);
		while (wait_one(&s) != IBV_WC_SUCCESS) /* the flushed receive is no message */
			;
	} else {
		meet(&s);
		NEED(!post(&s, 7, IBV_WR_RDMA_WRITE, 16, 0xdead, IBV_SEND_SIGNALED));
		wait_one(&s);
		usleep(300000);
	}
	return 0;
}

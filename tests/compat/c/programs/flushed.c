/* The client writes with a wrong rkey and polls nothing; the server ends with 4 when its receive is flushed. */
#include "pair.h"

int main(int argc, char **argv)
{
	struct side s;

	(void)argc;
	up(&s, argv, &usual);
	if (s.serves) {
		NEED(!post_recv(&s, 0xdeadbeef1));
		meet(&s);
		if (wait_one(&s) != IBV_WC_SUCCESS)
			return 4;
	} else {
		meet(&s);
		NEED(!post(&s, 7, IBV_WR_RDMA_WRITE, 16, 0xdead, IBV_SEND_SIGNALED));
		meet(&s);
		usleep(300000); /* its queue pair is there when the server ends */
	}
	return 0;
}

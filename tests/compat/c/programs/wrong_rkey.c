/* A WRITE with an rkey that belongs to nobody. */
#include "pair.h"

int main(int argc, char **argv)
{
	struct side s;

	(void)argc;
	up(&s, argv, &usual);
	if (!s.serves) {
		NEED(!post(&s, 7, IBV_WR_RDMA_WRITE, 16, s.own.rkey + 0x1000, IBV_SEND_SIGNALED));
		wait_one(&s);
	}
	return down(&s);
}

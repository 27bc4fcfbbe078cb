/* Mistake: the server looks at byte 100, the client writes bytes 0 to 63. */
#include "pair.h"

int main(int argc, char **argv)
{
	struct side s;
	volatile char *flag;

	(void)argc;
	up(&s, argv, &usual);
	flag = s.memory + 100;
	if (s.serves) {
		while (!*flag)
			usleep(100);
	} else {
		memset(s.memory, 1, 64);
		NEED(!post(&s, 2, IBV_WR_RDMA_WRITE, 64, s.peer.rkey, IBV_SEND_SIGNALED));
		wait_one(&s);
	}
	return down(&s);
}

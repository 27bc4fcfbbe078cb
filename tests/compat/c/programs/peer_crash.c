/* The server is killed by a segmentation fault; the client writes into it afterwards. */
#include "pair.h"
#include <signal.h>

int main(int argc, char **argv)
{
	struct side s;
	char c;

	(void)argc;
	up(&s, argv, &usual);
	if (s.serves) {
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
	}
	NEED(!read(s.line, &c, 1)); /* the socket says that it is gone */
	usleep(200000);
	NEED(!post(&s, 7, IBV_WR_RDMA_WRITE, 16, s.peer.rkey, IBV_SEND_SIGNALED));
	wait_one(&s);
	return 0;
}

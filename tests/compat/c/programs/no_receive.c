/* A SEND, and the server has posted no receive: with rnr_retry=7 it is tried for ever. */
#include "pair.h"

int main(int argc, char **argv)
{
	struct side s;

	(void)argc;
	up(&s, argv, &usual);
	if (!s.serves) {
		NEED(!post(&s, 7, IBV_WR_SEND, 16, 0, IBV_SEND_SIGNALED));
		wait_one(&s);
	}
	return down(&s);
}

/* Each waits for a message of the other before it sends its own. */
#include "pair.h"

int main(int argc, char **argv)
{
	struct side s;

	(void)argc;
	up(&s, argv, &usual);
	NEED(!post_recv(&s, 1));
	meet(&s);
	wait_one(&s);
	NEED(!post(&s, 7, IBV_WR_SEND, 16, 0, IBV_SEND_SIGNALED));
	wait_one(&s);
	return down(&s);
}

/* It waits for the completion of a SEND that was posted without IBV_SEND_SIGNALED. */
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
		NEED(!post(&s, 7, IBV_WR_SEND, 16, 0, 0));
	wait_one(&s);
	return down(&s);
}

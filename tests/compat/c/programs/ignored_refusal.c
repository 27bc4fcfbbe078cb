/* It ignores that ibv_post_send is refused, and waits for the completion. */
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
		post(&s, 7, IBV_WR_SEND, 800, 0, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
	wait_one(&s);
	return down(&s);
}

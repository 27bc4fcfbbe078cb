/* The same with rnr_retry=1: it ends with RNR_RETRY_EXC_ERR. */
#include "pair.h"

int main(int argc, char **argv)
{
	struct wishes w = usual;
	struct side s;

	(void)argc;
	w.rnr_retry = 1;
	up(&s, argv, &w);
	if (!s.serves) {
		NEED(!post(&s, 7, IBV_WR_SEND, 16, 0, IBV_SEND_SIGNALED));
		wait_one(&s);
	}
	return down(&s);
}

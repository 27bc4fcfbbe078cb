/* It fills its memory with bytes of no pattern, other ones in each run, and sends them. */
#include <time.h>
#include "pair.h"

int main(int argc, char **argv)
{
	struct side s;
	unsigned seed = time(NULL) ^ getpid();
	int n, round;

	(void)argc;
	up(&s, argv, &usual);
	for (round = 0; round < 8; round++) {
		if (s.serves)
			NEED(!post_recv(&s, round));
		for (n = 0; n < SIZE; n++)
			s.memory[n] = rand_r(&seed);
		meet(&s);
		if (!s.serves)
			NEED(!post(&s, round, IBV_WR_SEND, SIZE, 0, IBV_SEND_SIGNALED));
		NEED(wait_one(&s) == IBV_WC_SUCCESS);
		meet(&s);
	}
	return down(&s);
}

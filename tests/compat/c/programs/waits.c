/* Both sides wait for a completion that no request makes. */
#include "pair.h"

int main(int argc, char **argv)
{
	struct wishes w = usual;
	struct ibv_cq *cq;
	struct side s;
	void *context;

	(void)argc;
	w.with_channel = 1;
	up(&s, argv, &w);
	meet(&s);
	NEED(!ibv_get_cq_event(s.channel, &cq, &context));
	return down(&s);
}

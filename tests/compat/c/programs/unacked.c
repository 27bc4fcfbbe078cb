/* It reads an event and never acknowledges it: ibv_destroy_cq waits for that without end. */
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
	if (s.serves) {
		NEED(!post_recv(&s, 1));
		NEED(!ibv_req_notify_cq(s.cq, 0));
		meet(&s);
		NEED(!ibv_get_cq_event(s.channel, &cq, &context));
		wait_one(&s);
	} else {
		meet(&s);
		NEED(!post(&s, 7, IBV_WR_SEND, 16, 0, IBV_SEND_SIGNALED));
		wait_one(&s);
	}
	NEED(!ibv_destroy_qp(s.qp));
	return ibv_destroy_cq(s.cq);
}

/* It arms the queue after the completion has come, and sleeps until the next one, which never comes. */
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
		meet(&s);
		meet(&s); /* the message has come */
		NEED(!ibv_req_notify_cq(s.cq, 0));
		NEED(!ibv_get_cq_event(s.channel, &cq, &context));
		ibv_ack_cq_events(cq, 1);
		wait_one(&s);
	} else {
		meet(&s);
		NEED(!post(&s, 7, IBV_WR_SEND, 16, 0, IBV_SEND_SIGNALED));
		wait_one(&s);
		meet(&s);
	}
	return down(&s);
}

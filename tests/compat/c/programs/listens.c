/* It sleeps in epoll_wait for the event of a channel whose queue it never arms. */
#include <fcntl.h>
#include <sys/epoll.h>
#include "pair.h"

static void wait_for(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int set = epoll_create1(0);

	NEED(!fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
	NEED(!epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
	NEED(epoll_wait(set, &event, 1, -1) == 1);
}

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
		wait_for(s.channel->fd);
		NEED(!ibv_get_cq_event(s.channel, &cq, &context));
		wait_one(&s);
	} else {
		meet(&s);
		NEED(!post(&s, 7, IBV_WR_SEND, 16, 0, IBV_SEND_SIGNALED));
		wait_one(&s);
	}
	return down(&s);
}

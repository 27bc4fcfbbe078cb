/* For --clock virtual: how long sleeps and timeouts take by the program's own clocks. */
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/verbs.h>

static double since(void)
{
	static double before;
	struct timespec t;
	double now, took;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = t.tv_sec + t.tv_nsec / 1e9;
	took = now - before;
	before = now;
	return took;
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct timeval wait = { 3, 0 }, wall;
	struct epoll_event event;
	struct pollfd ready;
	double started;
	fd_set set;

	if (!context)
		return 2;
	ready = (struct pollfd){ context->async_fd, POLLIN, 0 };
	since();
	sleep(100);
	printf("sleep %.2f\n", since());
	usleep(1500);
	printf("usleep %.4f\n", since());
	printf("poll %d ", poll(&ready, 1, 5000));
	printf("%.2f\n", since());
	FD_ZERO(&set);
	FD_SET(context->async_fd, &set);
	printf("select %d ", select(context->async_fd + 1, &set, NULL, NULL, &wait));
	printf("%.2f\n", since());
	printf("epoll %d ", epoll_wait(epoll_create1(0), &event, 1, 2000));
	printf("%.2f\n", since());
	for (started = 0; started < 2;)
		started += since();
	printf("looks %.1f\n", started);
	gettimeofday(&wall, NULL);
	printf("wall %d\n", wall.tv_sec == time(NULL) && wall.tv_sec == 1600000112);
	return 0;
}

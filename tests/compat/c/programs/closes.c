/* It closes descriptors that it did not open, as a daemon does, and opens others in their place. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <infiniband/verbs.h>

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct ibv_pd *pd = context ? ibv_alloc_pd(context) : NULL;
	int pairs[8][2], n, got = 0;
	char byte;

	if (!pd)
		return 2;
	for (n = 3; n < 256; n++)
		close(n);
	for (n = 0; n < 8; n++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[n]))
			return 3;
	errno = 0;
	printf("alloc_pd: %s", ibv_alloc_pd(context) ? "made" : "refused");
	printf(": %s\n", strerror(errno));
	printf("dealloc_pd: %s\n", strerror(ibv_dealloc_pd(pd)));
	for (n = 0; n < 16; n++)
		got += recv(pairs[n / 2][n % 2], &byte, 1, MSG_DONTWAIT) > 0;
	printf("sockets of the program with bytes of others: %d\n", got);
	return 0;
}

/* It asks for its port until a call fails, and prints the errno; then a second call, and an object. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <infiniband/verbs.h>

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	union ibv_gid gid;

	if (!context)
		return 2;
	printf("ready\n");
	fflush(stdout);
	while (!ibv_query_gid(context, 1, 1, &gid))
		usleep(1000);
	printf("query_gid: %s\n", strerror(errno));
	errno = 0;
	printf("alloc_pd: %s", ibv_alloc_pd(context) ? "made" : "refused");
	printf(": %s\n", strerror(errno));
	return 0;
}

/* It polls an empty queue as often as it is told, and prints how many completions it got, or the errno. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/verbs.h>

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct ibv_cq *cq = context ? ibv_create_cq(context, 8, NULL, NULL, 0) : NULL;
	int polls = argc > 1 ? atoi(argv[1]) : 0, found = 0, count;
	struct ibv_wc wc;

	if (!cq)
		return 2;
	printf("ready\n");
	fflush(stdout);
	while (polls--) {
		count = ibv_poll_cq(cq, 1, &wc);
		if (count < 0) {
			printf("%s\n", strerror(-count));
			return 3;
		}
		found += count;
	}
	printf("%d completions\n", found);
	return 0;
}

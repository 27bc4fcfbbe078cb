/* The child becomes another program that opens the device; the parent's objects stay the parent's. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <infiniband/verbs.h>

int main(int count, char **words)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct ibv_pd *pd = context ? ibv_alloc_pd(context) : NULL;
	int n, status, failed = !pd;

	if (count > 1) /* it leaves its objects to the end of the process */
		return failed;
	for (n = 0; n < 8; n++) {
		pid_t child = fork();

		if (!child) {
			execl(words[0], words[0], "child", NULL);
			_exit(9);
		}
		waitpid(child, &status, 0);
		failed += WEXITSTATUS(status);
	}
	printf("failed: %d\n", failed + !!ibv_dealloc_pd(pd));
	return failed;
}

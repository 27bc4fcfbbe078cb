/* The child opens the device itself; what the parent has opened is not the child's. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <infiniband/verbs.h>

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = ibv_open_device(list[0]);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	pid_t child = fork();
	int status = 0;

	if (!child) {
		struct ibv_pd *other;

		if (ibv_alloc_pd(context))
			return 3; /* a connection of the parent */
		list = ibv_get_device_list(NULL);
		context = ibv_open_device(list[0]);
		other = context ? ibv_alloc_pd(context) : NULL;
		return other && !ibv_dealloc_pd(other) ? 0 : 4;
	}
	waitpid(child, &status, 0);
	printf("child: %d\n", WEXITSTATUS(status));
	return !pd || ibv_dealloc_pd(pd) || WEXITSTATUS(status);
}

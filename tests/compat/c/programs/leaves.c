/* It makes a protection domain and ends with the code that it is given. */
#include <stdlib.h>
#include <infiniband/verbs.h>

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = ibv_open_device(list[0]);

	return argc == 2 && ibv_alloc_pd(context) ? atoi(argv[1]) : 2;
}

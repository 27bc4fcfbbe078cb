/* Prints a line on each stream, and a question without an end; then waits without end if it serves. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <infiniband/verbs.h>

int main(int argc, char **argv)
{
	int count;

	ibv_free_device_list(ibv_get_device_list(&count));
	printf("%s speaks\n", argv[1]);
	fprintf(stderr, "%s complains\n", argv[1]);
	if (argc > 2) {
		printf("a question? ");
		fflush(stdout);
		pause();
	}
	return 0;
}

/* It goes from RESET to RTR without INIT, and gives up. */
#include "pair.h"

int main(int argc, char **argv)
{
	struct side s;
	int error;

	(void)argc;
	create(&s, argv, &usual);
	error = to_rtr(&s, &usual);
	printf("to RTR: %s\n", strerror(error));
	return !!error;
}

/* The client's sgid_index is of an empty entry. */
#include "pair.h"

int main(int argc, char **argv)
{
	struct wishes w = usual, other = usual;
	struct side s;
	int error;

	(void)argc;
	create(&s, argv, &w);
	NEED(!to_init(&s, w.access));
	if (!s.serves)
		other.gid_index = 6;
	error = to_rtr(&s, &other);
	if (error) {
		printf("to RTR: %s\n", strerror(error));
		return 1;
	}
	meet(&s);
	return down(&s);
}

/* One side reads an asynchronous event that nothing raises; with argv[3] in a thread beside its poll. */
#include <pthread.h>
#include "pair.h"

static void *take(void *context)
{
	struct ibv_async_event event;

	NEED(!ibv_get_async_event(context, &event));
	return NULL;
}

int main(int argc, char **argv)
{
	struct wishes w = usual;
	pthread_t helper;
	struct side s;

	up(&s, argv, &w);
	if (!s.serves && argc > 3) {
		NEED(!pthread_create(&helper, NULL, take, s.context));
		NEED(!post_recv(&s, 1));
		wait_one(&s);
	} else if (!s.serves) {
		take(s.context);
	}
	return down(&s);
}

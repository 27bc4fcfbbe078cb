/* Objects by node and number: which structure of the program an event names. */
#include "lab.h"

struct known {
	struct known *next;
	enum noun noun;
	uint16_t node;
	uint32_t number;
	void *object;
};

static struct known *first;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void object_add(enum noun noun, uint16_t node, uint32_t number, void *object)
{
	struct known *each = malloc(sizeof(*each));

	if (!each)
		abort();
	pthread_mutex_lock(&lock);
	*each = (struct known){ first, noun, node, number, object };
	first = each;
	pthread_mutex_unlock(&lock);
}

void *object_find(enum noun noun, uint16_t node, uint32_t number)
{
	struct known *each;

	pthread_mutex_lock(&lock);
	for (each = first; each; each = each->next)
		if (each->noun == noun && each->node == node && each->number == number)
			break;
	pthread_mutex_unlock(&lock);
	return each ? each->object : NULL;
}

int object_number(const void *object, enum noun *noun, uint16_t *node, uint32_t *number)
{
	struct known *each;

	pthread_mutex_lock(&lock);
	for (each = first; each && each->object != object; each = each->next)
		;
	if (each) {
		*noun = each->noun;
		*node = each->node;
		*number = each->number;
	}
	pthread_mutex_unlock(&lock);
	return each != NULL;
}

void object_remove(const void *object)
{
	struct known **each, *gone;

	pthread_mutex_lock(&lock);
	for (each = &first; *each && (*each)->object != object; each = &(*each)->next)
		;
	gone = *each;
	if (gone)
		*each = gone->next;
	pthread_mutex_unlock(&lock);
	free(gone);
}

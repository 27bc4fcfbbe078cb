/* An id is destroyed while its event waits in the channel: the next event is that of the other id. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/rdma_cma.h>

#define NEED(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #x, strerror(errno)); exit(2); } } while (0)

int main(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(7471) };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *gone, *left;

	NEED(channel);
	inet_pton(AF_INET, "10.0.0.2", &at.sin_addr);
	NEED(!rdma_create_id(channel, &gone, NULL, RDMA_PS_TCP));
	NEED(!rdma_create_id(channel, &left, NULL, RDMA_PS_TCP));
	NEED(!rdma_resolve_addr(gone, NULL, (struct sockaddr *)&at, 2000));
	NEED(!rdma_destroy_id(gone));
	NEED(!rdma_resolve_addr(left, NULL, (struct sockaddr *)&at, 2000));
	NEED(!rdma_get_cm_event(channel, &event));
	NEED(event->id == left && event->event == RDMA_CM_EVENT_ADDR_RESOLVED);
	rdma_ack_cm_event(event);
	NEED(!rdma_destroy_id(left));
	rdma_destroy_event_channel(channel);
	return 0;
}

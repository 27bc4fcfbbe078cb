/* Mistakes with rdma_cm. PROGRAM serve|ask no_accept|no_ack|no_route: the server never answers the request,
 * the client destroys an id of which an event is not acknowledged, or connects without a route.
 */
#include "cm.h"

int main(int argc, char **argv)
{
	struct rdma_conn_param offer = { .retry_count = 7, .rnr_retry_count = 7 };
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(7471) };
	struct rdma_cm_event *request;
	struct rdma_cm_id *id;

	NEED(argc == 3);
	NEED(channel = rdma_create_event_channel());
	NEED(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	if (!strcmp(argv[1], "serve")) {
		NEED(!rdma_bind_addr(id, (struct sockaddr *)&at));
		NEED(!rdma_listen(id, 1));
		request = next_event(RDMA_CM_EVENT_CONNECT_REQUEST);
		queue_pair(request->id);
		if (strcmp(argv[2], "no_accept"))
			NEED(!rdma_accept(request->id, &offer));
		rdma_ack_cm_event(request);
		rdma_ack_cm_event(next_event(RDMA_CM_EVENT_ESTABLISHED));
		return 0;
	}
	inet_pton(AF_INET, "10.0.0.1", &at.sin_addr);
	NEED(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&at, 2000));
	rdma_ack_cm_event(next_event(RDMA_CM_EVENT_ADDR_RESOLVED));
	if (strcmp(argv[2], "no_route")) {
		NEED(!rdma_resolve_route(id, 2000));
		rdma_ack_cm_event(next_event(RDMA_CM_EVENT_ROUTE_RESOLVED));
	}
	queue_pair(id);
	NEED(!rdma_connect(id, &offer));
	next_event(RDMA_CM_EVENT_ESTABLISHED); /* and no rdma_ack_cm_event */
	NEED(!rdma_disconnect(id));
	rdma_destroy_qp(id);
	NEED(!rdma_destroy_id(id));
	return 0;
}

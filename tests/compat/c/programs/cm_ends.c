/* A connection from its options to the end of its timewait. PROGRAM serve|ask prints each event, and of its
 * queue pair the ack timeout and the traffic class.
 */
#include "cm.h"

static struct rdma_cm_id *next(enum rdma_cm_event_type wanted)
{
	struct rdma_cm_event *event = next_event(wanted);
	struct rdma_cm_id *id = event->id;

	printf("%s %d\n", rdma_event_str(event->event), event->status);
	rdma_ack_cm_event(event);
	return id;
}

static void look(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr made;
	struct ibv_qp_attr attr;

	NEED(!ibv_query_qp(id->qp, &attr, IBV_QP_TIMEOUT | IBV_QP_AV, &made));
	printf("timeout %d traffic_class %d\n", attr.timeout, attr.ah_attr.grh.traffic_class);
}

static int refused(struct rdma_cm_id *id, int level, int name, void *value, size_t length)
{
	return rdma_set_option(id, level, name, value, length) == -1 ? errno : 0;
}

int main(int argc, char **argv)
{
	struct rdma_conn_param offer = { .retry_count = 7, .rnr_retry_count = 7 };
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(7471) };
	uint8_t tos = 40, timeout = 14;
	struct rdma_cm_id *id;
	int yes = 1;

	NEED(argc == 2);
	NEED(channel = rdma_create_event_channel());
	NEED(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	if (!strcmp(argv[1], "serve")) {
		NEED(!rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &yes, sizeof(yes)));
		NEED(!rdma_bind_addr(id, (struct sockaddr *)&at));
		NEED(!rdma_listen(id, 1));
		id = next(RDMA_CM_EVENT_CONNECT_REQUEST);
		queue_pair(id);
		NEED(!rdma_accept(id, &offer));
		next(RDMA_CM_EVENT_ESTABLISHED);
		look(id);
		next(RDMA_CM_EVENT_DISCONNECTED);
		NEED(!rdma_disconnect(id));
		next(RDMA_CM_EVENT_TIMEWAIT_EXIT);
		return 0;
	}
	NEED(!rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)));
	NEED(!rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof(timeout)));
	NEED(refused(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &yes, sizeof(yes)) == EINVAL);
	NEED(refused(id, RDMA_OPTION_ID, 9, &tos, sizeof(tos)) == ENOSYS);
	NEED(refused(id, 7, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)) == ENOSYS);
	inet_pton(AF_INET, "10.0.0.1", &at.sin_addr);
	NEED(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&at, 2000));
	next(RDMA_CM_EVENT_ADDR_RESOLVED);
	NEED(!rdma_resolve_route(id, 2000));
	next(RDMA_CM_EVENT_ROUTE_RESOLVED);
	queue_pair(id);
	NEED(!rdma_connect(id, &offer));
	next(RDMA_CM_EVENT_ESTABLISHED);
	look(id);
	NEED(!rdma_disconnect(id));
	next(RDMA_CM_EVENT_DISCONNECTED);
	next(RDMA_CM_EVENT_TIMEWAIT_EXIT);
	return 0;
}

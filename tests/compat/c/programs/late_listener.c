/* rdma_cm: A listens 200 ms after B has asked to connect. With a third argument, A never listens. */
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NEED(holds) do { if (!(holds)) { perror(#holds); exit(1); } } while (0)

static struct rdma_cm_event *next(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;

	NEED(!rdma_get_cm_event(channel, &event));
	return event;
}

static int ask(struct rdma_event_channel *channel, struct rdma_cm_id *id, struct sockaddr_in *to,
	       const char *fifo)
{
	struct rdma_conn_param param = { .retry_count = 7 };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 }
	};
	FILE *file;

	NEED(!rdma_resolve_addr(id, NULL, (struct sockaddr *)to, 1000));
	NEED(next(channel)->event == RDMA_CM_EVENT_ADDR_RESOLVED);
	NEED(!rdma_resolve_route(id, 1000));
	NEED(next(channel)->event == RDMA_CM_EVENT_ROUTE_RESOLVED);
	NEED(!rdma_create_qp(id, NULL, &init));
	NEED(!rdma_connect(id, &param));
	NEED((file = fopen(fifo, "w")));
	fclose(file);
	printf("B: %s\n", rdma_event_str(next(channel)->event));
	return 0;
}

int main(int argc, char **argv)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(7471) };
	struct rdma_cm_id *id;
	char word;

	NEED(argc > 2 && channel && !rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	to.sin_addr.s_addr = htonl(!strcmp(argv[2], "B") ? 0x0a000001 : INADDR_ANY);
	if (!strcmp(argv[2], "B"))
		return ask(channel, id, &to, argv[1]);
	NEED(read(open(argv[1], O_RDONLY), &word, 1) == 0);
	if (argc > 3) {
		sleep(4);
		return 0;
	}
	usleep(200000);
	NEED(!rdma_bind_addr(id, (struct sockaddr *)&to));
	NEED(!rdma_listen(id, 1));
	printf("A: %s\n", rdma_event_str(next(channel)->event));
	return 0;
}

/* rdma_cm with endpoints, without a channel: private data both ways, rdma_post_*, a request that is
 * refused, more READs in flight than the device has. PROGRAM - serve, PROGRAM - ask. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define NEED(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #x, strerror(errno)); exit(2); } } while (0)

enum { TOO_MANY = 200 }; /* more than max_qp_rd_atom and max_qp_init_rd_atom of each device */

static char memory[4096] __attribute__((aligned(4096)));
static struct ibv_qp_init_attr init = {
	.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 64 },
	.sq_sig_all = 1
};

static struct rdma_addrinfo *address(int is_passive)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP, .ai_flags = is_passive ? RAI_PASSIVE : 0 };
	struct rdma_addrinfo *found;

	NEED(!rdma_getaddrinfo(is_passive ? NULL : "10.0.0.1", "7500", &hints, &found));
	return found;
}

static const void *private_data(struct rdma_cm_id *id, const char *text)
{
	const struct rdma_conn_param *conn = &id->event->param.conn;

	return conn->private_data_len >= strlen(text) && !memcmp(conn->private_data, text, strlen(text)) ? text : NULL;
}

static struct ibv_qp_attr attributes(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr got;
	struct ibv_qp_attr attr;

	NEED(!ibv_query_qp(id->qp, &attr, IBV_QP_STATE | IBV_QP_RNR_RETRY, &got) && attr.qp_state == IBV_QPS_RTS);
	return attr;
}

static void serve(void)
{
	struct rdma_conn_param param = {
		.private_data = "welcome", .private_data_len = 8, .responder_resources = TOO_MANY,
		.initiator_depth = 2, .rnr_retry_count = 5
	};
	struct rdma_cm_id *listener, *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	NEED(!rdma_create_ep(&listener, address(1), NULL, &init));
	NEED(!rdma_listen(listener, 4));
	NEED(!rdma_get_request(listener, &id));
	NEED(private_data(id, "hello") && id->qp);
	NEED((mr = rdma_reg_msgs(id, memory, sizeof(memory))));
	NEED(!rdma_post_recv(id, NULL, memory, 64, mr));
	NEED(rdma_accept(id, &param) == -1 && errno == EINVAL);
	param.responder_resources = 4;
	NEED(!rdma_accept(id, &param));
	NEED(attributes(id).max_dest_rd_atomic == 4 && attributes(id).max_rd_atomic == 2);
	NEED(attributes(id).rnr_retry == 6); /* as the client has said */
	NEED(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS && !strcmp(memory, "a message"));
	NEED(!rdma_post_send(id, NULL, "an answer", 10, NULL, IBV_SEND_INLINE));
	NEED(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	NEED(!rdma_disconnect(id));
	NEED(!rdma_dereg_mr(mr));
	rdma_destroy_ep(id);
	NEED(!rdma_get_request(listener, &id));
	NEED(!rdma_reject(id, "full", 5));
	rdma_destroy_ep(id);
	rdma_destroy_ep(listener);
}

static void ask(void)
{
	struct rdma_conn_param param = {
		.private_data = "hello", .private_data_len = 6, .responder_resources = RDMA_MAX_RESP_RES,
		.initiator_depth = RDMA_MAX_INIT_DEPTH, .retry_count = 7, .rnr_retry_count = 6
	};
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	NEED(!rdma_create_ep(&id, address(0), NULL, &init));
	NEED((mr = rdma_reg_msgs(id, memory, sizeof(memory))));
	NEED(!rdma_post_recv(id, NULL, memory + 1024, 64, mr));
	param.initiator_depth = TOO_MANY;
	NEED(rdma_connect(id, &param) == -1 && errno == EINVAL);
	param.initiator_depth = RDMA_MAX_INIT_DEPTH;
	NEED(!rdma_connect(id, &param));
	NEED(private_data(id, "welcome"));
	NEED(attributes(id).max_dest_rd_atomic == 2 && attributes(id).max_rd_atomic == 4);
	NEED(attributes(id).rnr_retry == 5); /* as the server has said */
	strcpy(memory, "a message");
	NEED(!rdma_post_send(id, NULL, memory, 10, mr, 0));
	NEED(rdma_get_send_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	NEED(rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS && !strcmp(memory + 1024, "an answer"));
	NEED(!rdma_disconnect(id));
	NEED(!rdma_dereg_mr(mr));
	rdma_destroy_ep(id);
	init.send_cq = init.recv_cq = NULL; /* rdma_create_qp has put its own there */
	NEED(!rdma_create_ep(&id, address(0), NULL, &init));
	NEED(rdma_connect(id, &param) == -1 && errno == ECONNREFUSED);
	NEED(id->event->event == RDMA_CM_EVENT_REJECTED && private_data(id, "full"));
	rdma_destroy_ep(id);
}

int main(int argc, char **argv)
{
	NEED(argc == 3);
	if (!strcmp(argv[2], "serve"))
		serve();
	else
		ask();
	return 0;
}

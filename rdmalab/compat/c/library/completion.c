/* Completion channels, completion queues, asynchronous events. */
#include "lab.h"

struct channel {
	struct ibv_comp_channel ibv;
	uint32_t number;
};

struct queue {
	struct ibv_cq_ex ex; /* begins like struct ibv_cq */
	uint32_t slot, taken; /* in the page that is shared with the lab; completions from there */
	int unacked; /* events that were read and not acknowledged */
	struct ibv_wc current;
	uint64_t completion_ts;
};

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER; /* of `unacked` */
static pthread_cond_t acked = PTHREAD_COND_INITIALIZER;

static void count_events(struct ibv_cq *cq, int step)
{
	pthread_mutex_lock(&counting);
	((struct queue *)cq)->unacked += step;
	pthread_cond_broadcast(&acked);
	pthread_mutex_unlock(&counting);
}

/* ibv_get_cq_event(3): destroying a CQ waits until all its events are acknowledged. */
static void await_acks(struct ibv_cq *cq)
{
	struct queue *queue = (struct queue *)cq;
	struct ask_sleep ask = { .noun = NOUN_UNACKED_CQ, .number = cq->handle };

	pthread_mutex_lock(&counting);
	if (queue->unacked)
		TELL(WORD_SLEEP, node_of(cq->context), &ask);
	while (queue->unacked)
		pthread_cond_wait(&acked, &counting);
	pthread_mutex_unlock(&counting);
}

API struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct channel *channel = calloc(1, sizeof(*channel));

	if (!channel)
		return NULL;
	channel->ibv.context = context;
	channel->ibv.fd = lab_stream(WORD_CREATE_COMP_CHANNEL, node_of(context), &channel->number);
	if (channel->ibv.fd < 0) {
		free(channel);
		return NULL;
	}
	return &channel->ibv;
}

API int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct ask_destroy_comp_channel ask = { .handle = ((struct channel *)channel)->number };
	int error = TELL(WORD_DESTROY_COMP_CHANNEL, node_of(channel->context), &ask);

	if (!error) {
		close(channel->fd);
		free(channel);
	}
	return error;
}

/* Wait for the byte that the lab writes for each event; a sleep is told before. */
static int take_byte(struct ibv_context *context, int fd, uint32_t noun, uint32_t number)
{
	uint8_t byte;
	ssize_t count;

	if (!(fcntl(fd, F_GETFL) & O_NONBLOCK)) {
		struct pollfd ready = { fd, POLLIN, 0 };

		if (!poll(&ready, 1, 0)) {
			struct ask_sleep ask = { .noun = noun, .number = number };

			TELL(WORD_SLEEP, node_of(context), &ask);
		}
	}
	count = read(fd, &byte, 1); /* EINTR and EAGAIN are the program's to see */
	if (!count)
		errno = EIO;
	return count == 1 ? 0 : -1;
}

API int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	uint32_t number = ((struct channel *)channel)->number;
	uint16_t node = node_of(channel->context);
	struct ask_get_cq_event ask = { .handle = number };
	struct answer_get_cq_event answer;

	if (take_byte(channel->context, channel->fd, NOUN_CQ, number))
		return -1;
	if (SAY(WORD_GET_CQ_EVENT, node, &ask, &answer))
		return -1;
	*cq = object_find(NOUN_CQ, node, answer.cq);
	*cq_context = *cq ? (*cq)->cq_context : NULL;
	if (*cq)
		count_events(*cq, 1);
	return 0;
}

API void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int count)
{
	struct ask_ack_cq_events ask = { .handle = cq->handle, .nevents = count };

	TELL(WORD_ACK_CQ_EVENTS, node_of(cq->context), &ask);
	count_events(cq, -(int)count);
}

API int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct ask_get_async_event ask = {};
	struct answer_get_async_event answer;

	if (take_byte(context, context->async_fd, 0, 0))
		return -1;
	if (SAY(WORD_GET_ASYNC_EVENT, node_of(context), &ask, &answer))
		return -1;
	event->event_type = answer.event;
	if (answer.noun)
		event->element.cq = object_find(answer.noun, node_of(context), answer.number);
	else
		event->element.port_num = answer.number;
	return 0;
}

API void ibv_ack_async_event(struct ibv_async_event *event)
{
	struct ask_ack_async_event ask = { .event = event->event_type };
	uint16_t node = 0;
	uint32_t number = 0;
	enum noun noun = 0;

	if (object_number(event->element.cq, &noun, &node, &number)) {
		ask.noun = noun;
		ask.number = number;
	}
	TELL(WORD_ACK_ASYNC_EVENT, node, &ask);
}

static struct queue *create(struct ibv_context *context, const struct ask_create_cq *ask,
			    void *cq_context, struct ibv_comp_channel *channel)
{
	struct answer_create_cq answer;
	struct queue *queue;

	if (SAY(WORD_CREATE_CQ, node_of(context), ask, &answer))
		return NULL;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		abort();
	queue->ex.context = context;
	queue->ex.channel = channel;
	queue->ex.cq_context = cq_context;
	queue->ex.handle = answer.handle;
	queue->ex.cqe = answer.cqe;
	queue->slot = answer.slot;
	pthread_mutex_init(&queue->ex.mutex, NULL);
	pthread_cond_init(&queue->ex.cond, NULL);
	if (channel)
		channel->refcnt++;
	object_add(NOUN_CQ, node_of(context), answer.handle, queue);
	return queue;
}

API struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
				 struct ibv_comp_channel *channel, int comp_vector)
{
	struct ask_create_cq ask = {
		.cqe = cqe, .comp_vector = comp_vector,
		.channel = channel ? ((struct channel *)channel)->number : 0
	};

	return (struct ibv_cq *)create(context, &ask, cq_context, channel);
}

API int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	struct ask_resize_cq ask = { .handle = cq->handle, .cqe = cqe };
	struct answer_resize_cq answer;
	int error = SAY(WORD_RESIZE_CQ, node_of(cq->context), &ask, &answer);

	if (!error)
		cq->cqe = answer.cqe;
	return error;
}

API int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct ask_destroy_cq ask = { .handle = cq->handle };
	int error;

	await_acks(cq);
	error = TELL(WORD_DESTROY_CQ, node_of(cq->context), &ask);
	if (!error) {
		if (cq->channel)
			cq->channel->refcnt--;
		object_remove(cq);
		free(cq);
	}
	return error;
}

static int poll_cq(struct ibv_cq *cq, int entries, struct ibv_wc *wc)
{
	struct ask_poll_cq ask = { .handle = cq->handle, .num_entries = entries };
	struct queue *queue = (struct queue *)cq;
	int count = page_poll(cq, queue->slot, &queue->taken, entries, wc), error;
	struct octets tail;
	size_t at;

	if (count >= 0)
		return count;
	count = 0;
	octets_begin(&tail);
	error = lab_say(WORD_POLL_CQ, node_of(cq->context), &ask, sizeof(ask), NULL, NULL, 0, &tail, NULL);
	for (at = 0; !error && count < entries && at + sizeof(struct wire_wc) <= tail.length;
	     at += sizeof(struct wire_wc))
		wc_from_wire(&wc[count++], (struct wire_wc *)(tail.at + at));
	octets_end(&tail);
	return error ? -error : count;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	struct ask_req_notify_cq ask = { .handle = cq->handle, .solicited_only = !!solicited_only };

	return TELL(WORD_REQ_NOTIFY_CQ, node_of(cq->context), &ask);
}

/* ---------------------------------------------------------------------------- extended polling */
static int look(struct ibv_cq_ex *ex, enum word word)
{
	struct ask_start_poll ask = { .handle = ex->handle }; /* the same as of next_poll */
	struct answer_start_poll answer;
	struct queue *queue = (struct queue *)ex;
	int error = SAY(word, node_of(ex->context), &ask, &answer);

	if (error)
		return error;
	wc_from_wire(&queue->current, &answer.wc);
	queue->completion_ts = answer.completion_ts;
	ex->wr_id = queue->current.wr_id;
	ex->status = queue->current.status;
	return 0;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	if (attr && attr->comp_mask)
		return failed(EINVAL);
	return look(ex, WORD_START_POLL);
}

static int next_poll(struct ibv_cq_ex *ex)
{
	return look(ex, WORD_NEXT_POLL);
}

static void end_poll(struct ibv_cq_ex *ex)
{
	struct ask_end_poll ask = { .handle = ex->handle };

	TELL(WORD_END_POLL, node_of(ex->context), &ask);
}

#define READER(type, name) \
	static type read_##name(struct ibv_cq_ex *ex) { return ((struct queue *)ex)->current.name; }
READER(enum ibv_wc_opcode, opcode)
READER(uint32_t, vendor_err)
READER(uint32_t, byte_len)
READER(__be32, imm_data)
READER(uint32_t, qp_num)
READER(uint32_t, src_qp)
READER(unsigned int, wc_flags)
READER(uint32_t, slid)
READER(uint8_t, sl)
READER(uint8_t, dlid_path_bits)

static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
	return ((struct queue *)ex)->completion_ts;
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	struct ask_create_cq ask = {
		.cqe = attr->cqe, .comp_vector = attr->comp_vector, .is_extended = 1,
		.channel = attr->channel ? ((struct channel *)attr->channel)->number : 0,
		.wc_flags = attr->wc_flags
	};
	struct queue *queue = create(context, &ask, attr->cq_context, attr->channel);
	struct ibv_cq_ex *ex = &queue->ex;

	if (!queue)
		return NULL;
	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_byte_len = read_byte_len;
	ex->read_imm_data = read_imm_data;
	ex->read_qp_num = read_qp_num;
	ex->read_src_qp = read_src_qp;
	ex->read_wc_flags = read_wc_flags;
	ex->read_slid = read_slid;
	ex->read_sl = read_sl;
	ex->read_dlid_path_bits = read_dlid_path_bits;
	ex->read_completion_ts = read_completion_ts;
	ex->read_completion_wallclock_ns = read_completion_ts;
	return ex;
}

void completion_functions(struct verbs_context *verbs)
{
	verbs->context.ops.poll_cq = poll_cq;
	verbs->context.ops.req_notify_cq = req_notify_cq;
	verbs->create_cq_ex = create_cq_ex;
}

/* Devices, contexts, ports. */
#include "lab.h"

struct device {
	struct ibv_device ibv;
	uint8_t driver[512]; /* libmlx5 and libefa look behind for their own: zeros are not theirs */
	uint16_t node;
};

struct context {
	uint16_t node;
	struct verbs_context verbs; /* struct ibv_context is its last member */
};

static struct device *devices[8];

static struct context *context_of(struct ibv_context *context)
{
	return (struct context *)((uint8_t *)context - offsetof(struct context, verbs.context));
}

uint16_t node_of(struct ibv_context *context)
{
	return context_of(context)->node;
}

API struct ibv_device **ibv_get_device_list(int *count)
{
	uint16_t first;
	uint32_t number = lab_devices(&first), at;
	struct ibv_device **list;

	if (number > sizeof(devices) / sizeof(*devices))
		number = sizeof(devices) / sizeof(*devices);
	list = calloc(number + 1, sizeof(*list));
	if (!list)
		return NULL;
	for (at = 0; at < number; at++) {
		struct device *device = devices[at];

		if (!device) {
			device = devices[at] = calloc(1, sizeof(*device));
			if (!device)
				abort();
			device->node = first + at;
			device->ibv.node_type = IBV_NODE_CA;
			device->ibv.transport_type = IBV_TRANSPORT_IB;
			snprintf(device->ibv.name, sizeof(device->ibv.name), "rdmalab%u", device->node);
			snprintf(device->ibv.dev_name, sizeof(device->ibv.dev_name), "uverbs%u", device->node);
			snprintf(device->ibv.dev_path, sizeof(device->ibv.dev_path),
				 "/sys/class/infiniband_verbs/uverbs%u", device->node);
			snprintf(device->ibv.ibdev_path, sizeof(device->ibv.ibdev_path),
				 "/sys/class/infiniband/rdmalab%u", device->node);
		}
		list[at] = &device->ibv;
	}
	if (count)
		*count = number;
	return list;
}

API void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

API const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

API int ibv_get_device_index(struct ibv_device *device)
{
	return ((struct device *)device)->node;
}

static int ask_device(uint16_t node, struct answer_query_device *answer)
{
	struct ask_query_device ask = {};

	return SAY(WORD_QUERY_DEVICE, node, &ask, answer);
}

API __be64 ibv_get_device_guid(struct ibv_device *device)
{
	struct answer_query_device answer;

	return ask_device(((struct device *)device)->node, &answer) ? 0 : answer.attr.node_guid;
}

API int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	struct answer_query_device answer;
	int error = ask_device(node_of(context), &answer);

	if (!error) {
		memset(attr, 0, sizeof(*attr));
		device_attr_from_wire(attr, &answer.attr);
	}
	return error;
}

static int query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t size)
{
	struct answer_query_device answer;
	struct ibv_device_attr_ex all = {};
	int error;

	if (input && input->comp_mask)
		return failed(EINVAL);
	error = ask_device(node_of(context), &answer);
	if (error)
		return error;
	device_attr_from_wire(&all.orig_attr, &answer.attr);
	all.completion_timestamp_mask = answer.completion_timestamp_mask;
	all.hca_core_clock = answer.hca_core_clock;
	all.tso_caps.max_tso = answer.max_tso;
	all.tso_caps.supported_qpts = answer.max_tso_qpts;
	all.device_cap_flags_ex = all.orig_attr.device_cap_flags;
	all.phys_port_cnt_ex = all.orig_attr.phys_port_cnt;
	memset(attr, 0, size);
	memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

/* The clock of the device is the virtual time; cycles are in tv_nsec, as drivers have it. */
static int query_rt_values(struct ibv_context *context, struct ibv_values_ex *values)
{
	uint32_t asked = values->comp_mask;
	struct ask_clock ask = {};
	struct answer_clock answer;
	int error;

	values->comp_mask = 0;
	if (!(asked & IBV_VALUES_MASK_RAW_CLOCK))
		return failed(EINVAL);
	error = SAY(WORD_CLOCK, node_of(context), &ask, &answer);
	if (error)
		return error;
	values->raw_clock.tv_sec = 0;
	values->raw_clock.tv_nsec = answer.ns;
	values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	return 0;
}

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t size)
{
	struct ask_query_port ask = { .port_num = port };
	struct answer_query_port answer;
	struct ibv_port_attr all = {};
	int error = SAY(WORD_QUERY_PORT, node_of(context), &ask, &answer);

	if (!error) {
		port_attr_from_wire(&all, &answer.attr);
		memset(attr, 0, size);
		memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	}
	return error;
}

/* The exported function fills the structure as it was before its last two members. */
API int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	return query_port(context, port, (struct ibv_port_attr *)attr, offsetof(struct ibv_port_attr, port_cap_flags2));
}

API int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	struct ask_query_gid ask = { .port_num = port, .index = index };
	struct answer_query_gid answer;

	if (SAY(WORD_QUERY_GID, node_of(context), &ask, &answer))
		return -1;
	memcpy(gid->raw, answer.gid, sizeof(gid->raw));
	return 0;
}

API int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index, int *type)
{
	union ibv_gid gid;

	*type = 1; /* IBV_GID_TYPE_SYSFS_ROCE_V2, which only rdma-core's private header names */
	return ibv_query_gid(context, port, index, &gid);
}

API int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index,
			  struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	static const union ibv_gid none;
	struct ibv_gid_entry all = {
		.gid_index = index, .port_num = port, .gid_type = IBV_GID_TYPE_ROCE_V2
	};

	if (flags)
		return failed(EINVAL);
	if (ibv_query_gid(context, port, index, &all.gid))
		return errno;
	if (!memcmp(&all.gid, &none, sizeof(none)))
		return failed(ENODATA);
	memcpy(entry, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

API ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
				 size_t most, uint32_t flags, size_t size)
{
	struct ibv_port_attr port;
	size_t found = 0;
	int index;

	if (query_port(context, 1, &port, sizeof(port)))
		return -errno;
	for (index = 0; index < port.gid_tbl_len && found < most; index++) {
		void *entry = (uint8_t *)entries + found * size;
		int error = _ibv_query_gid_ex(context, 1, index, entry, flags, size);

		if (!error)
			found++;
		else if (error != ENODATA)
			return -error;
	}
	return found;
}

API int ibv_query_pkey(struct ibv_context *context, uint8_t port, int index, __be16 *pkey)
{
	struct ask_query_pkey ask = { .port_num = port, .index = index };
	struct answer_query_pkey answer;

	if (SAY(WORD_QUERY_PKEY, node_of(context), &ask, &answer))
		return -1;
	*pkey = htobe16(answer.pkey);
	return 0;
}

API int ibv_get_pkey_index(struct ibv_context *context, uint8_t port, __be16 wanted)
{
	__be16 pkey;
	int index;

	for (index = 0; !ibv_query_pkey(context, port, index, &pkey); index++)
		if (pkey == wanted)
			return index;
	return -1;
}

API struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct context *made = calloc(1, sizeof(*made));
	struct ibv_context *context;

	if (!made)
		return NULL;
	context = &made->verbs.context;
	made->node = ((struct device *)device)->node;
	context->device = device;
	context->num_comp_vectors = 1;
	context->abi_compat = __VERBS_ABI_IS_EXTENDED;
	pthread_mutex_init(&context->mutex, NULL);
	made->verbs.sz = sizeof(made->verbs);
	made->verbs.query_port = query_port;
	made->verbs.query_device_ex = query_device_ex;
	made->verbs.query_rt_values = query_rt_values;
	memory_functions(&made->verbs);
	completion_functions(&made->verbs);
	pair_functions(&made->verbs);
	post_functions(&made->verbs);
	context->cmd_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	context->async_fd = lab_stream(WORD_OPEN_ASYNC, made->node, NULL);
	if (context->async_fd < 0) {
		close(context->cmd_fd);
		free(made);
		return NULL;
	}
	return context;
}

API int ibv_close_device(struct ibv_context *context)
{
	close(context->async_fd);
	close(context->cmd_fd);
	free(context_of(context));
	return 0;
}

API int ibv_fork_init(void)
{
	return 0;
}

API enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

API int ibv_read_sysfs_file(const char *folder, const char *file, char *text, size_t size)
{
	(void)folder;
	if (strcmp(file, "board_id") && strcmp(file, "fw_ver"))
		return -1;
	return snprintf(text, size, "rdmalab");
}

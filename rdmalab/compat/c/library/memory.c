/* Protection domains, memory regions, memory windows. */
#include "lab.h"

API struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ask_alloc_pd ask = {};
	struct answer_alloc_pd answer;
	struct ibv_pd *pd;

	if (SAY(WORD_ALLOC_PD, node_of(context), &ask, &answer))
		return NULL;
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		abort();
	pd->context = context;
	pd->handle = answer.handle;
	return pd;
}

API int ibv_dealloc_pd(struct ibv_pd *pd)
{
	struct ask_dealloc_pd ask = { .handle = pd->handle };
	int error = TELL(WORD_DEALLOC_PD, node_of(pd->context), &ask);

	if (!error)
		free(pd);
	return error;
}

API struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				    unsigned int access)
{
	struct ask_reg_mr ask = {
		.pd = pd->handle, .access = access, .addr = (uintptr_t)addr, .length = length, .iova = iova
	};
	struct answer_reg_mr answer;
	struct ibv_mr *mr;

	if (SAY(WORD_REG_MR, node_of(pd->context), &ask, &answer))
		return NULL;
	mr = calloc(1, sizeof(*mr) + 64); /* rdma-core keeps a larger structure around it */
	if (!mr)
		abort();
	mr->context = pd->context;
	mr->pd = pd;
	mr->addr = addr;
	mr->length = length;
	mr->handle = answer.handle;
	mr->lkey = answer.lkey;
	mr->rkey = answer.rkey;
	return mr;
}

API struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, access);
}

API struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				   int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, access);
}

API int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		     int access)
{
	struct ask_rereg_mr ask = {
		.handle = mr->handle, .flags = flags, .access = access, .length = length,
		.pd = flags & IBV_REREG_MR_CHANGE_PD && pd ? pd->handle : 0, .addr = (uintptr_t)addr
	};
	struct answer_rereg_mr answer;

	if (SAY(WORD_REREG_MR, node_of(mr->context), &ask, &answer))
		return errno == EINVAL ? IBV_REREG_MR_ERR_INPUT : IBV_REREG_MR_ERR_CMD;
	mr->lkey = answer.lkey;
	mr->rkey = answer.rkey;
	if (flags & IBV_REREG_MR_CHANGE_PD)
		mr->pd = pd;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		mr->addr = addr;
		mr->length = length;
	}
	return 0;
}

API int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct ask_dereg_mr ask = { .handle = mr->handle };
	int error = TELL(WORD_DEREG_MR, node_of(mr->context), &ask);

	if (!error)
		free(mr);
	return error;
}

/* struct ibv_td has nothing but its context: the handle lies behind it. */
struct thread_domain {
	struct ibv_td ibv;
	uint32_t handle;
};

static struct ibv_td *alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct ask_alloc_td ask = {};
	struct answer_alloc_td answer;
	struct thread_domain *made;

	if (attr->comp_mask) {
		errno = EINVAL;
		return NULL;
	}
	if (SAY(WORD_ALLOC_TD, node_of(context), &ask, &answer))
		return NULL;
	made = calloc(1, sizeof(*made));
	if (!made)
		abort();
	made->ibv.context = context;
	made->handle = answer.handle;
	return &made->ibv;
}

static int dealloc_td(struct ibv_td *td)
{
	struct ask_dealloc_td ask = { .handle = ((struct thread_domain *)td)->handle };
	int error = TELL(WORD_DEALLOC_TD, node_of(td->context), &ask);

	if (!error)
		free(td);
	return error;
}

/* Allocators of the program's own are for a driver's queues, which lie in no memory of the program. */
static struct ibv_pd *alloc_parent_domain(struct ibv_context *context,
					  struct ibv_parent_domain_init_attr *attr)
{
	struct ask_alloc_parent_domain ask = {};
	struct answer_alloc_parent_domain answer;
	struct ibv_pd *pd;

	if (!attr->pd ||
	    attr->comp_mask & ~(IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)) {
		errno = EINVAL;
		return NULL;
	}
	ask.pd = attr->pd->handle;
	ask.td = attr->td ? ((struct thread_domain *)attr->td)->handle : 0;
	if (SAY(WORD_ALLOC_PARENT_DOMAIN, node_of(context), &ask, &answer))
		return NULL;
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		abort();
	pd->context = context;
	pd->handle = answer.handle;
	return pd;
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ask_alloc_mw ask = { .pd = pd->handle, .type = type };
	struct answer_alloc_mw answer;
	struct ibv_mw *mw;

	if (SAY(WORD_ALLOC_MW, node_of(pd->context), &ask, &answer))
		return NULL;
	mw = calloc(1, sizeof(*mw));
	if (!mw)
		abort();
	mw->context = pd->context;
	mw->pd = pd;
	mw->type = type;
	mw->handle = answer.handle;
	mw->rkey = answer.rkey;
	return mw;
}

static int dealloc_mw(struct ibv_mw *mw)
{
	struct ask_dealloc_mw ask = { .handle = mw->handle };
	int error = TELL(WORD_DEALLOC_MW, node_of(mw->context), &ask);

	if (!error)
		free(mw);
	return error;
}

static int bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct ibv_mw_bind_info *info = &bind->bind_info;
	struct ask_bind_mw ask = {
		.qp = qp->handle, .mw = mw->handle, .mr = info->mr ? info->mr->handle : 0,
		.access = info->mw_access_flags, .flags = bind->send_flags, .wr_id = bind->wr_id,
		.addr = info->addr, .length = info->length
	};
	struct answer_bind_mw answer;
	int error = SAY(WORD_BIND_MW, node_of(qp->context), &ask, &answer);

	if (!error)
		mw->rkey = answer.rkey;
	return error;
}

void memory_functions(struct verbs_context *verbs)
{
	verbs->context.ops.alloc_mw = alloc_mw;
	verbs->context.ops.dealloc_mw = dealloc_mw;
	verbs->context.ops.bind_mw = bind_mw;
	verbs->alloc_td = alloc_td;
	verbs->dealloc_td = dealloc_td;
	verbs->alloc_parent_domain = alloc_parent_domain;
}

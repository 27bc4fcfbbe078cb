/* A function with the symbol that C++ gives to client::ask(ibv_context *) of no namespace with a name. */
#include <infiniband/verbs.h>

static int __ibv_wrapper(struct ibv_context *) __asm__("_ZL13__ibv_wrapperP11ibv_context");
int ask(struct ibv_context *) __asm__("_ZN12_GLOBAL__N_16client3askEP11ibv_context");

static int __attribute__((noinline)) __ibv_wrapper(struct ibv_context *context)
{
	return !ibv_alloc_pd(context);
}

int __attribute__((noinline)) ask(struct ibv_context *context)
{
	return __ibv_wrapper(context);
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	return 3 + ask(ibv_open_device(list[0]));
}

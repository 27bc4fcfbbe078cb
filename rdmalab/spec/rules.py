"""The rules a verb may refuse by: errno, sentence, source. `why` and `explain` are keyed by them.

`{}` in a sentence is filled with the detail of the case. Profiles override the errno of a rule, and
nothing else (`profiles.py`). An object used after its destruction answers EFAULT, as the documents
say; in C it would be a segmentation fault.
"""

from errno import EBUSY, EFAULT, EINVAL, ENODATA, ENOMEM, EOPNOTSUPP, EPERM, errorcode
from typing import NamedTuple

# Linux has two names for one number; the man pages of libibverbs say EOPNOTSUPP.
ERRNO_NAMES: dict[int, str] = {**errorcode, EOPNOTSUPP: "EOPNOTSUPP"}


def errno_name(number: int) -> str:
    """`EINVAL` for 22; a number without a name stays one."""
    return ERRNO_NAMES.get(number, str(number))


class Rule(NamedTuple):
    """One reason to refuse a call at once."""

    errno: int
    sentence: str
    source: str


# fmt: off
RULES: dict[str, Rule] = {
    # objects
    "use-after-destroy":   Rule(EFAULT, "{} was destroyed; in C this is a segmentation fault", "ibv_post_send(3)"),
    "other-node":          Rule(EINVAL, "{} belongs to another node; an object's parts live on one host", "ibv_context"),
    "in-use":              Rule(EBUSY,  "it is still used by {}", "ibv_dealloc_pd(3)"),
    "limit":               Rule(ENOMEM, "the device has no room for more than {}", "ibv_query_device(3)"),
    # memory
    "mr-length":           Rule(EINVAL, "an MR has 1 byte at least and max_mr_size at most, not {}", "ibv_reg_mr(3)"),
    "mr-unmapped":         Rule(EFAULT, "{} is not memory of this process", "ibv_reg_mr(3)"),
    "mr-access":           Rule(EINVAL, "REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE too", "ibv_reg_mr(3)"),
    "mr-access-unknown":   Rule(EINVAL, "access flag {} does not exist", "ibv_reg_mr(3)"),
    "mr-access-support":   Rule(EOPNOTSUPP, "this device does not support {}", "ibv_reg_mr(3)"),
    "mr-on-demand":        Rule(EOPNOTSUPP, "this device does not support ON_DEMAND", "ibv_reg_mr(3)"),
    "mr-iova-offset":      Rule(EINVAL, "addr and hca_va must have the same place in their pages, not {}", "ibv_reg_mr_iova(3)"),
    "mr-overflow":         Rule(EINVAL, "{} and the length reach beyond the last address", "ibv_reg_mr(3)"),
    "mr-window-bound":     Rule(EBUSY,  "a memory window is bound onto it", "ibv_dereg_mr(3)"),
    "rereg-flags":         Rule(EINVAL, "flags must name what changes, CHANGE_TRANSLATION, CHANGE_PD or CHANGE_ACCESS, not {} (ERR_INPUT)", "ibv_rereg_mr(3)"),
    "rereg-input":         Rule(EINVAL, "{} and its CHANGE flag go together (ERR_INPUT)", "ibv_rereg_mr(3)"),
    "rereg-support":       Rule(EOPNOTSUPP, "this device changes PD and access of an MR, not its translation (ERR_CMD)", "ibv_rereg_mr(3)"),
    # memory windows
    "mw-type":             Rule(EINVAL, "{} is no type of memory window", "ibv_alloc_mw(3)"),
    "bind-type":           Rule(EINVAL, "{} binds windows of {} only", "ibv_bind_mw(3)"),
    "bind-region":         Rule(EINVAL, "a range was given and no MR that it lies in", "ibv_bind_mw(3)"),
    "bind-pd":             Rule(EPERM,  "the window and the MR are in different protection domains", "ibv_bind_mw(3)"),
    # completion queues
    "cqe-range":           Rule(EINVAL, "cqe must lie in 1..{}", "ibv_create_cq(3)"),
    "comp-vector":         Rule(EINVAL, "comp_vector must lie in 0..{}", "ibv_create_cq(3)"),
    "num-entries":         Rule(EINVAL, "num_entries must be 1 or more, not {}", "ibv_poll_cq(3)"),
    # queue pairs
    "qp-type-unknown":     Rule(EINVAL, "{} is no QP type", "ibv_create_qp(3)"),
    "qp-type-support":     Rule(EOPNOTSUPP, "this device makes no {} queue pairs", "ibv_create_qp(3)"),
    "qp-cap":              Rule(EINVAL, "{} is beyond the device's limit", "ibv_create_qp(3)"),
    "transition":          Rule(EINVAL, "{} is not a legal transition", "ibv_modify_qp(3), table in qp_transitions.yaml"),
    "attr-missing":        Rule(EINVAL, "{} is required for this transition", "ibv_modify_qp(3)"),
    "attr-surplus":        Rule(EINVAL, "{} may not be given for this transition", "ibv_modify_qp(3)"),
    "attr-range":          Rule(EINVAL, "{} is out of range", "ibv_modify_qp(3)"),
    "cur-state":           Rule(EINVAL, "cur_qp_state must be RTR, RTS, SQD or SQE and the state the QP is in, not {}", "IBA 11.2.5.2; R4, R5"),
    "draining":            Rule(EINVAL, "the send queue is still draining: only ERR and RESET are possible", "IBA 10.3.1.5"),
    "mask-mismatch":       Rule(EINVAL, "attr_mask names {}, which no field was given for", "ibv_modify_qp(3)"),
    "ah-port":             Rule(EINVAL, "ah_attr.port_num must equal the port of INIT, not {}", "kernel uverbs, R10"),
    "ah-global":           Rule(EINVAL, "on RoCE an address needs is_global=1 and a GRH", "ibv_modify_qp(3), R16"),
    "ah-sgid-index":       Rule(EINVAL, "sgid_index {} lies outside the GID table", "kernel core, R16"),
    "ah-sgid-empty":       Rule(ENODATA, "GID table entry {} is empty", "kernel core, R16"),
    "ah-dgid":             Rule(EINVAL, "dgid {} is zero or of another address family than the GID entry", "kernel core, R16"),
    "alt-path":            Rule(EINVAL, "an alternate path exists on InfiniBand ports only, this is RoCE", "kernel core, R12"),
    # multicast
    "mcast-type":          Rule(EINVAL, "only UD queue pairs join multicast groups, this one is {}", "ibv_attach_mcast(3)"),
    "mcast-gid":           Rule(EINVAL, "{} is no multicast address", "ibv_attach_mcast(3)"),
    "mcast-limit":         Rule(ENOMEM, "the device has no room for more than {}", "ibv_attach_mcast(3)"),
    "mcast-member":        Rule(EINVAL, "this queue pair is not attached to {}", "ibv_attach_mcast(3)"),
    # posting
    "no-send-queue":       Rule(EINVAL, "a {} queue pair has no send queue", "ibv_post_send(3)"),
    "no-receive-queue":    Rule(EINVAL, "a {} queue pair has no receive queue", "ibv_post_recv(3)"),
    "send-state":          Rule(EINVAL, "post_send needs RTS, SQD, SQE or ERR; the QP is in {}", "ibv_post_send(3)"),
    "recv-state":          Rule(EINVAL, "post_recv needs INIT or later; the QP is in {}", "ibv_post_recv(3)"),
    "opcode-unknown":      Rule(EINVAL, "{} is no opcode", "ibv_post_send(3)"),
    "opcode-type":         Rule(EINVAL, "{} is no opcode of a {} queue pair", "ibv_post_send(3)"),
    "crash-ah":            Rule(EINVAL, "in C this would crash: a datagram names no address handle", "ibv_post_send FAQ"),
    "crash-mw":            Rule(EINVAL, "in C this would crash: a bind names no memory window", "ibv_post_send(3)"),
    "bind-data":           Rule(EINVAL, "a bind moves no data: {} may not be given", "ibv_post_send(3)"),
    "opcode-support":      Rule(EOPNOTSUPP, "this device does not do {}", "ibv_post_send(3)"),
    "crash-inline":        Rule(EFAULT, "in C this would crash: INLINE copies from {}, which is not mapped", "ibv_post_send FAQ"),
    "queue-full":          Rule(ENOMEM, "the {} queue is full: {} slots, none free", "ibv_post_send(3)"),
    "send-sges":           Rule(EINVAL, "{} SGEs; max_send_sge is {}", "ibv_post_send(3)"),
    "recv-sges":           Rule(EINVAL, "{} SGEs; max_recv_sge is {}", "ibv_post_recv(3)"),
    "message-length":      Rule(EINVAL, "a message has at most {} bytes", "ibv_post_send(3)"),
    "send-flags":          Rule(EINVAL, "send flag {} does not exist", "ibv_post_send(3)"),
    "send-flags-type":     Rule(EINVAL, "{} does not fit a {} queue pair", "ibv_post_send(3)"),
    "inline-opcode":       Rule(EINVAL, "INLINE goes with SEND and RDMA WRITE only", "ibv_post_send(3)"),
    "inline-length":       Rule(EINVAL, "inline data is longer than max_inline_data={}", "ibv_post_send(3)"),
    "atomic-length":       Rule(EINVAL, "an atomic moves exactly 8 bytes, not {}", "ibv_post_send(3)"),
    "atomic-address":      Rule(EINVAL, "an atomic's remote_addr must be a multiple of 8", "ibv_post_send(3)"),
}
# fmt: on

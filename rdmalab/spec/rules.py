"""The rules by which a verb refuses a call: errno, sentence, source.

`why` and `explain` use the names of the rules as keys. `{N}` in a sentence is filled with a value of
the case; without a case the sentence has the word in it. A profile can override the errno of a rule and nothing else (`profiles.py`). A destroyed
object answers EFAULT, as the documents state; in C it is a segmentation fault.
"""

import re
from errno import (
    EAGAIN,
    EBUSY,
    EDEADLK,
    EFAULT,
    EINVAL,
    EIO,
    ENODATA,
    ENOENT,
    ENOMEM,
    ENXIO,
    EOPNOTSUPP,
    EPERM,
    ETIMEDOUT,
    errorcode,
)  # fmt: skip
from typing import NamedTuple

# Linux has two names for one number; these are the usual ones.
ERRNO_NAMES: dict[int, str] = {**errorcode, EOPNOTSUPP: "EOPNOTSUPP", EDEADLK: "EDEADLK"}


def errno_name(number: int) -> str:
    """`EINVAL` for 22; a number without a name as digits."""
    return ERRNO_NAMES.get(number, str(number))


class Rule(NamedTuple):
    """One reason to refuse a call: errno, sentence, source."""

    errno: int
    sentence: str
    source: str

    def filled(self, *values: object) -> str:
        """The sentence about a case; a value for each place."""
        left = iter(values)
        return _PLACE.sub(lambda _: str(next(left)), self.sentence)

    @property
    def general(self) -> str:
        """The sentence without a case: `the device has no port N`."""
        return _PLACE.sub(r"\1", self.sentence)


_PLACE = re.compile(r"\{(.*?)\}")


# fmt: off
RULES: dict[str, Rule] = {
    # objects
    "use-after-destroy":   Rule(EFAULT, "{an object} was destroyed; in C this is a segmentation fault", "ibv_post_send(3)"),
    "other-node":          Rule(EINVAL, "{an argument} belongs to another node; an object's parts live on one host", "ibv_context"),
    "in-use":              Rule(EBUSY,  "still in use by {N objects}", "ibv_dealloc_pd(3)"),
    "limit":               Rule(ENOMEM, "limit of the device reached: {max_NAME=N}", "ibv_query_device(3)"),
    # device and port
    "device-fatal":        Rule(EIO,    "the device is in fatal error: call close_device and open_device to restart it", "IBV_EVENT_DEVICE_FATAL"),
    "device-closed":       Rule(EFAULT, "this node closed its device; in C this is a segmentation fault", "ibv_close_device(3)"),
    "device-comp-mask":    Rule(EINVAL, "comp_mask {MASK} asks for an extension that does not exist", "ibv_query_device_ex(3)"),
    "port-num":            Rule(EINVAL, "the device has no port {N}", "ibv_query_port(3)"),
    "gid-index":           Rule(EINVAL, "entry {N} is outside the GID table", "ibv_query_gid(3)"),
    "gid-empty":           Rule(ENODATA, "entry {N} of the GID table is empty", "ibv_query_gid_ex(3)"),
    "pkey-index":          Rule(EINVAL, "entry {N} is outside the P_Key table", "ibv_query_pkey(3)"),
    # memory
    "mr-length":           Rule(EINVAL, "an MR has 1 byte at least and max_mr_size at most, not {N}", "ibv_reg_mr(3)"),
    "mr-unmapped":         Rule(EFAULT, "{ADDRESS} is not memory of this process", "ibv_reg_mr(3)"),
    "mr-read-only":        Rule(EFAULT, "the memory is mapped without write permission, which LOCAL_WRITE and MW_BIND need", "kernel ib_umem, mmap(2)"),
    "mr-memlock":          Rule(ENOMEM, "{N} bytes would be locked, more than RLIMIT_MEMLOCK={N}", "kernel ib_umem, ulimit -l"),
    "mr-access":           Rule(EINVAL, "REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE too", "ibv_reg_mr(3)"),
    "mr-access-unknown":   Rule(EINVAL, "access flag {BITS} does not exist", "ibv_reg_mr(3)"),
    "mr-access-support":   Rule(EOPNOTSUPP, "this device does not support {an access flag}", "ibv_reg_mr(3)"),
    "mr-on-demand":        Rule(EOPNOTSUPP, "this device does not support ON_DEMAND", "ibv_reg_mr(3)"),
    "mr-iova-offset":      Rule(EINVAL, "addr and hca_va must have the same offset in their pages, not {OFFSET}", "ibv_reg_mr_iova(3)"),
    "mr-overflow":         Rule(EINVAL, "{ADDRESS} and the length reach beyond the last address", "ibv_reg_mr(3)"),
    "mr-window-bound":     Rule(EBUSY,  "a memory window is bound to it", "ibv_dereg_mr(3)"),
    "rereg-flags":         Rule(EINVAL, "flags must be CHANGE_TRANSLATION, CHANGE_PD, CHANGE_ACCESS or a sum of them, not {FLAGS} (ERR_INPUT)", "ibv_rereg_mr(3)"),
    "rereg-input":         Rule(EINVAL, "{translation, pd or access} and its CHANGE flag go together (ERR_INPUT)", "ibv_rereg_mr(3)"),
    "rereg-support":       Rule(EOPNOTSUPP, "this device cannot {CHANGE_PD, CHANGE_ACCESS or CHANGE_TRANSLATION} of an MR (ERR_CMD)", "ibv_rereg_mr(3)"),
    # memory windows
    "mw-type":             Rule(EINVAL, "{TYPE} is not a type of memory window", "ibv_alloc_mw(3)"),
    "bind-type":           Rule(EINVAL, "{A verb} binds windows of {one type} only", "ibv_bind_mw(3)"),
    "bind-region":         Rule(EINVAL, "a range was given without the MR that contains it", "ibv_bind_mw(3)"),
    "bind-pd":             Rule(EPERM,  "the window and the MR are in different protection domains", "ibv_bind_mw(3)"),
    # completion queues
    "cqe-range":           Rule(EINVAL, "cqe must be in 1..{max_cqe}", "ibv_create_cq(3)"),
    "comp-vector":         Rule(EINVAL, "comp_vector must be in 0..{num_comp_vectors-1}", "ibv_create_cq(3)"),
    # shared receive queues and XRC domains
    "srq-range":           Rule(EINVAL, "{NAME=N} is out of range", "ibv_create_srq(3)"),
    "srq-type-unknown":    Rule(EINVAL, "{TYPE} is not an SRQ type", "ibv_create_srq_ex(3)"),
    "srq-type-support":    Rule(EOPNOTSUPP, "this device makes no {TYPE} shared receive queues", "ibv_create_srq_ex(3)"),
    "srq-parts":           Rule(EINVAL, "an XRC SRQ needs {an XRC domain and a CQ}", "ibv_create_srq_ex(3)"),
    "srq-plain-parts":     Rule(EINVAL, "{xrcd or cq} is for XRC SRQs only", "ibv_create_srq_ex(3)"),
    "srq-mask":            Rule(EINVAL, "bits {BITS} of srq_attr_mask are undefined", "ibv_modify_srq(3)"),
    "srq-resize":          Rule(EINVAL, "this device cannot resize an SRQ (no SRQ_RESIZE)", "ibv_modify_srq(3)"),
    "srq-small":           Rule(EINVAL, "max_wr={N} is less than {the limit, or the slots in use}", "ibv_modify_srq(3)"),
    "srq-limit":           Rule(EINVAL, "srq_limit={N} is more than the SRQ holds, {max_wr=N}", "ibv_modify_srq(3)"),
    "srq-error":           Rule(EINVAL, "this shared receive queue is in its error state", "IBA 11.2.3"),
    "srq-sges":            Rule(EINVAL, "{N} SGEs; max_sge of the SRQ is {N}", "ibv_post_srq_recv(3)"),
    "xrc-support":         Rule(EOPNOTSUPP, "this device does not support XRC", "ibv_open_xrcd(3)"),
    "xrcd-private":        Rule(EINVAL, "fd=-1 makes a domain private to this process and needs O_CREAT", "ibv_open_xrcd(3)"),
    "xrcd-exists":         Rule(EINVAL, "O_EXCL was given and fd {N} has a domain already", "ibv_open_xrcd(3)"),
    "xrcd-none":           Rule(EAGAIN, "fd {N} has no domain yet; give O_CREAT to create one", "kernel uverbs"),
    "cqe-unpolled":        Rule(EINVAL, "{N} completions in the CQ do not fit into cqe={N}", "ibv_resize_cq(3)"),
    "wc-flags":            Rule(EOPNOTSUPP, "this device does not offer {FLAGS}", "ibv_create_cq_ex(3)"),
    "cq-not-extended":     Rule(EINVAL, "this cq was made by create_cq: it has no start_poll", "ibv_create_cq_ex(3)"),
    "poll-empty":          Rule(ENOENT, "the CQ is empty", "ibv_start_poll(3)"),
    "poll-open":           Rule(EDEADLK, "in C this would deadlock: from start_poll to end_poll the CQ is locked", "ibv_create_cq_ex(3)"),
    "poll-not-open":       Rule(EINVAL, "no poll is open: call start_poll first, it must return 0", "ibv_create_cq_ex(3)"),
    "crash-wc-read":       Rule(EFAULT, "in C this would crash: create_cq_ex was not given wc_flags={FLAG}", "ibv_create_cq_ex(3)"),
    # events
    "cq-event-none":       Rule(EAGAIN, "it would block: no completion event is pending on this channel", "ibv_get_cq_event(3)"),
    "cq-events-ack":       Rule(EINVAL, "unacknowledged events of this cq: {N}; in C acknowledging more makes destroy_cq block", "ibv_get_cq_event(3)"),
    "cq-events-unacked":   Rule(EAGAIN, "it would block until its completion events are acknowledged; unacked: {N}", "ibv_get_cq_event(3)"),
    "async-none":          Rule(EAGAIN, "it would block: no asynchronous event is pending", "ibv_get_async_event(3)"),
    "async-ack":           Rule(EINVAL, "no event read from {an object} is unacknowledged", "ibv_get_async_event(3)"),
    "async-unacked":       Rule(EAGAIN, "it would block until its asynchronous events are acknowledged; unacked: {N}", "ibv_get_async_event(3)"),
    # queue pairs
    "qp-parts":            Rule(EINVAL, "{TYPE} queue pairs need {a PD, CQ or XRC domain}", "ibv_create_qp(3)"),
    "qp-srq":              Rule(EINVAL, "{a queue pair of this type is tied to no SRQ, or the SRQ is one of XRC}", "ibv_create_qp(3)"),
    "qp-open":             Rule(EINVAL, "open_qp finds no XRC_RECV queue pair {N} in this domain", "ibv_open_qp(3)"),
    "qp-type-unknown":     Rule(EINVAL, "{TYPE} is not a QP type", "ibv_create_qp(3)"),
    "qp-type-support":     Rule(EOPNOTSUPP, "this device makes no {TYPE} queue pairs", "ibv_create_qp(3)"),
    "qp-cap":              Rule(EINVAL, "{NAME=N} is beyond the device's limit", "ibv_create_qp(3)"),
    "qp-memory":           Rule(ENOMEM, "a send queue of this size takes {N} bytes, the limit is {N}", "ibv_create_qp(3)"),
    "transition":          Rule(EINVAL, "{STATE to STATE} is not a legal transition", "ibv_modify_qp(3), table in qp_transitions.yaml"),
    "attr-missing":        Rule(EINVAL, "this transition also needs {an attribute}", "ibv_modify_qp(3)"),
    "attr-surplus":        Rule(EINVAL, "{An attribute} may not be given for this transition", "ibv_modify_qp(3)"),
    "attr-range":          Rule(EINVAL, "{NAME=N} is out of range", "ibv_modify_qp(3)"),
    "attr-support":        Rule(EOPNOTSUPP, "this device does not have {an attribute}", "Soft-RoCE, measured"),
    "cur-state":           Rule(EINVAL, "cur_qp_state must be RTR, RTS, SQD or SQE and the state the QP is in, not {STATE}", "IBA 11.2.5.2"),
    "draining":            Rule(EINVAL, "the send queue is still draining: only ERR and RESET are possible", "IBA 10.3.1.5"),
    "mask-mismatch":       Rule(EINVAL, "attr_mask has {FLAGS}, but no such field was given", "ibv_modify_qp(3)"),
    "ah-port":             Rule(EINVAL, "port_num of an address must be the port in use, not {N}", "kernel uverbs"),
    "ah-range":            Rule(EINVAL, "{NAME}={N} is out of range in an address", "kernel ib_hdrs.h, kernel mlx5"),
    "ah-dlid":             Rule(EINVAL, "an InfiniBand port needs a dlid, the LID of the peer's port: 0 is reserved", "IBA 4.1.3; qib of the kernel"),
    "ah-mlid":             Rule(EINVAL, "dlid {N} is a multicast LID, not that of a port: groups of InfiniBand ports are not emulated", "IBA 4.1.3"),
    "ah-global":           Rule(EINVAL, "on RoCE an address needs is_global=1 and a GRH", "ibv_modify_qp(3)"),
    "ah-sgid-index":       Rule(EINVAL, "sgid_index {N} is outside the GID table", "kernel, ib_core"),
    "ah-sgid-empty":       Rule(ENODATA, "GID table entry {N} is empty", "kernel, ib_core"),
    "ah-dgid":             Rule(EINVAL, "dgid {GID} is zero or of another address family than the GID entry", "kernel, ib_core"),
    "ah-neighbour":        Rule(ETIMEDOUT, "no port has the address {GID}: its MAC cannot be found", "kernel, ib_core"),
    "alt-path":            Rule(EINVAL, "an alternate path exists on InfiniBand ports only, and this port is RoCE", "kernel, ib_core"),
    "mig-state":           Rule(EINVAL, "a program may not change path_mig_state from {STATE} to {STATE} here", "IBA 17.2.8; rdmavt of the kernel"),
    "net-raw":             Rule(EPERM,  "RAW_PACKET queue pairs and flow rules need CAP_NET_RAW, which this process lacks", "ibv_create_qp(3), kernel uverbs"),
    "raw-ethernet":        Rule(EOPNOTSUPP, "RAW_PACKET queue pairs and flow rules need an Ethernet port, and this port is InfiniBand", "kernel mlx4, there in modify_qp to INIT"),
    "tso-support":         Rule(EOPNOTSUPP, "this device has no TCP segmentation offload (TSO)", "ibv_create_qp_ex(3), query_device_ex tso_caps"),
    "tso-type":            Rule(EINVAL, "max_tso_header needs a UD or RAW_PACKET queue pair, this one is {TYPE}", "ibv_create_qp_ex(3)"),
    # flow rules
    "flow-support":        Rule(ENXIO,  "this device has no flow steering", "ibv_create_flow(3)"),
    "flow-qp-type":        Rule(EINVAL, "a flow rule needs a RAW_PACKET queue pair, this one is {TYPE}", "ibv_create_flow(3)"),
    "flow-type":           Rule(EINVAL, "{TYPE} is not a type of flow rule", "ibv_create_flow(3)"),
    "flow-spec":           Rule(EINVAL, "only a NORMAL rule may have {a specification}", "ibv_create_flow(3)"),
    "flow-port":           Rule(EINVAL, "there is no port {N}", "ibv_create_flow(3)"),
    # multicast
    "mcast-type":          Rule(EINVAL, "only UD queue pairs can join multicast groups, this one is {TYPE}", "ibv_attach_mcast(3)"),
    "mcast-lid":           Rule(EOPNOTSUPP, "a group of InfiniBand ports needs a multicast LID from a subnet manager, which is not emulated", "ibv_attach_mcast(3)"),
    "mcast-gid":           Rule(EINVAL, "{GID} is not a multicast address", "ibv_attach_mcast(3)"),
    "mcast-limit":         Rule(ENOMEM, "limit of the device reached: {max_NAME=N}", "ibv_attach_mcast(3)"),
    "mcast-member":        Rule(EINVAL, "this queue pair is not attached to {GID}", "ibv_attach_mcast(3)"),
    # posting
    "no-send-queue":       Rule(EINVAL, "{TYPE} queue pairs have no send queue", "ibv_post_send(3)"),
    "no-receive-queue":    Rule(EINVAL, "{TYPE} queue pairs have no receive queue", "ibv_post_recv(3)"),
    "send-state":          Rule(EINVAL, "posting a send needs RTS, SQD, SQE or ERR; the QP is in {STATE}", "ibv_post_send(3)"),
    "recv-shared":         Rule(EINVAL, "this queue pair takes its receives from an SRQ", "ibv_post_recv(3)"),
    "recv-state":          Rule(EINVAL, "post_recv needs INIT or later; the QP is in {STATE}", "ibv_post_recv(3)"),
    "opcode-unknown":      Rule(EINVAL, "{OPCODE} is not an opcode", "ibv_post_send(3)"),
    "opcode-type":         Rule(EINVAL, "{OPCODE} is not an opcode of {TYPE} queue pairs", "ibv_post_send(3)"),
    "crash-ah":            Rule(EINVAL, "in C this would crash: the datagram has no ah", "ibv_post_send FAQ"),
    "crash-ah-pointer":    Rule(EFAULT, "in C this would crash: ah={ADDRESS} does not point to an address handle", "ibv_post_send FAQ"),
    "crash-mw":            Rule(EINVAL, "in C this would crash: the bind has no mw", "ibv_post_send(3)"),
    "bind-data":           Rule(EINVAL, "a bind moves no data: {an argument} may not be given", "ibv_post_send(3)"),
    "opcode-support":      Rule(EOPNOTSUPP, "this device does not support {OPCODE}", "ibv_post_send(3)"),
    "crash-inline":        Rule(EFAULT, "in C this would crash: INLINE copies from {ADDRESS}, which is not mapped", "ibv_post_send FAQ"),
    "queue-full":          Rule(ENOMEM, "the {send or receive} queue is full: {N} slots, none free", "ibv_post_send(3)"),
    "send-sges":           Rule(EINVAL, "{N} SGEs; max_send_sge is {N}", "ibv_post_send(3)"),
    "read-sges":           Rule(EINVAL, "{N} SGEs; a READ has max_sge_rd={N} at most", "ibv_query_device(3)"),
    "recv-sges":           Rule(EINVAL, "{N} SGEs; max_recv_sge is {N}", "ibv_post_recv(3)"),
    "message-length":      Rule(EINVAL, "a message has at most {max_msg_sz} bytes", "ibv_post_send(3)"),
    "send-flags":          Rule(EINVAL, "send flag {BITS} does not exist", "ibv_post_send(3)"),
    "send-flags-type":     Rule(EINVAL, "{A flag} does not fit {TYPE} queue pairs", "ibv_post_send(3)"),
    "ip-csum":             Rule(EINVAL, "this device does not compute IP checksums for {TYPE} queue pairs", "ibv_post_send(3)"),
    "tso-header-length":   Rule(EINVAL, "hdr_sz must be in 1..max_tso_header={N}, not {N}", "ibv_post_send(3)"),
    "tso-mss":             Rule(EINVAL, "mss, the bytes of one segment, must be 1 or more", "ibv_post_send(3)"),
    "tso-length":          Rule(EINVAL, "the length exceeds max_tso={N}", "ibv_query_device_ex(3)"),
    "tso-headers":         Rule(EINVAL, "hdr must hold all headers up to and including TCP, and no more", "ibv_wr_post(3)"),
    "crash-hdr":           Rule(EFAULT, "in C this would crash: hdr is copied from {ADDRESS}, which is not mapped", "ibv_post_send FAQ"),
    "inline-opcode":       Rule(EINVAL, "INLINE is for SEND and RDMA WRITE only", "ibv_post_send(3)"),
    "inline-length":       Rule(EINVAL, "the inline data exceeds max_inline_data={N}", "ibv_post_send(3)"),
    "atomic-length":       Rule(EINVAL, "an atomic needs a local list of 8 bytes, not {N}", "librxe"),
    "atomic-address":      Rule(EINVAL, "an atomic's remote_addr must be a multiple of 8", "librxe"),
    "null-pointer":        Rule(EINVAL, "{An argument}=NULL: this driver checks the pointer first", "librxe"),
    "num-sge":             Rule(EINVAL, "num_sge={N} must be the number of entries in sg_list", "ibv_post_send(3)"),
    "crash-sg":            Rule(EFAULT, "in C this would crash: {sg_list points to no list, or num_sge is larger than it}", "ibv_post_send FAQ"),
    "null-queue":          Rule(EFAULT, "{The queue}=NULL: in C this would crash, the documents state EFAULT", "ibv_post_send(3)"),
    "crash-next":          Rule(EFAULT, "in C this would crash: next={ADDRESS} does not point to a work request", "ibv_post_send FAQ"),
    "crash-bad-wr":        Rule(EFAULT, "in C this would crash: bad_wr=NULL cannot receive the failed request ({the reason})", "ibv_post_send FAQ"),
    # the extended post API
    "qp-ex-pd":            Rule(EINVAL, "create_qp_ex needs a protection domain, and PD in comp_mask", "ibv_create_qp_ex(3)"),
    "qp-ex-mask":          Rule(EOPNOTSUPP, "this device makes no queue pairs with {FLAGS}", "ibv_create_qp_ex(3)"),
    "send-ops":            Rule(EOPNOTSUPP, "{TYPE} queue pairs of this device have no builder for {FLAGS}", "ibv_create_qp_ex(3)"),
    "no-qp-ex":            Rule(EINVAL, "ibv_qp_to_qp_ex returns NULL: the queue pair was created without SEND_OPS_FLAGS", "ibv_wr_post(3)"),
    "region-needed":       Rule(EINVAL, "{A verb} outside of wr_start … wr_complete: in C it would corrupt memory", "ibv_wr_post(3)"),
    "crash-builder":       Rule(EINVAL, "in C this would crash: {a builder} is a NULL pointer, {its flag} was not in send_ops_flags", "ibv_wr_post(3)"),
    "crash-setter":        Rule(EINVAL, "in C this would crash: {a setter} is a NULL pointer for {TYPE} queue pairs", "ibv_wr_post(3)"),
    "setter-data":         Rule(EINVAL, "{A builder} moves no data: {a DATA setter} may not be given", "ibv_wr_post(3)"),
    "setter-place":        Rule(EINVAL, "{A setter} must follow its builder, one DATA setter per work request", "ibv_wr_post(3)"),
    "setter-missing":      Rule(EINVAL, "{A builder} must be followed by {its setters}", "ibv_wr_post(3)"),
    "crash-deadlock":      Rule(EDEADLK, "in C this would deadlock: wr_start of thread {N} holds the lock of the send queue", "ibv_wr_post(3)"),
    "lock-held":           Rule(EBUSY,  "thread {N} must wait: thread {N} holds the lock of the send queue", "ibv_wr_post(3)"),
}
# fmt: on

# Asked of each work request of a list: those before the refused one stay posted.
OF_EACH_REQUEST = frozenset(
    """
    send-state recv-state opcode-unknown opcode-type opcode-support queue-full num-sge crash-sg
    send-sges read-sges recv-sges srq-sges message-length send-flags send-flags-type ip-csum
    inline-opcode inline-length crash-inline tso-header-length tso-mss tso-length tso-headers
    crash-hdr atomic-length atomic-address crash-ah crash-ah-pointer crash-mw bind-data bind-type
    crash-next crash-bad-wr
    """.split()  # noqa: SIM905  (as a list it would be three times as long)
)

# Asked by each verb of POSTS; their source names the page of ibv_post_send alone.
OF_EVERY_POST = frozenset(
    """
    use-after-destroy null-queue queue-full num-sge message-length crash-sg crash-next crash-bad-wr
    """.split()  # noqa: SIM905  (as OF_EACH_REQUEST)
)
POSTS = frozenset({"post_send", "post_recv", "post_srq_recv"})

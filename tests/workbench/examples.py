"""The example of each command, run in a world in which it makes sense."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from rdmalab.command import Command
from rdmalab.guide import usage
from rdmalab.session.lines import replies
from rdmalab.session.session import Session

_SRQ = ("create_srq A.srq0 pd=A.pd0 max_wr=8",)
_DOMAIN = ("open_xrcd A.xrcd0 oflag=O_CREAT",)
# Completions are had most easily from a queue pair that dies.
_TWO_FLUSHED = (
    "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq1 recv_cq=A.cq1",
    "modify_qp A.qp1 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
    "post_recv A.qp1 wr={wr_id=1} wr={wr_id=2}",
    "modify_qp A.qp1 state=ERR",
)
_FLUSHED = ("create_cq_ex A.cq1 cqe=16", *_TWO_FLUSHED)
_WOKEN = (
    "create_comp_channel A.ch0",
    "create_cq A.cq1 cqe=16 channel=A.ch0",
    "req_notify_cq A.cq1",
    *_TWO_FLUSHED,
)

# What must have happened before the example of a command makes sense, after `use rc_pair`.
_DATAGRAMS = "create_qp B.qp1 pd=B.pd0 qp_type=UD send_cq=B.cq0 recv_cq=B.cq0"
_EX = "create_qp_ex A.qx0 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 send_ops_flags=0x1bff"
_EX_DATAGRAMS = _EX.replace("RC", "UD").replace("0x1bff", "SEND")
_RAW = "create_qp B.qp1 pd=B.pd0 qp_type=RAW_PACKET send_cq=B.cq0 recv_cq=B.cq0"
_REGION = (_EX, "wr_start A.qx0")
_BUILT = (*_REGION, "wr_send A.qx0")
_WINDOWED = ("alloc_mw A.mw0 pd=A.pd0 type=TYPE_2", *_REGION)
_EX_FRAMES = _EX.replace("RC", "RAW_PACKET").replace("0x1bff", "TSO") + " max_tso_header=54"
BEFORE: Mapping[str, tuple[str, ...]] = {
    "poke": ("map_memory A addr=0x7f0000001000 length=4096",),
    "qp_to_qp_ex": (_EX,),
    "wr_start": (_EX,),
    "wr_set": (_EX,),
    "wr_complete": _REGION,
    "wr_abort": _REGION,
    "wr_send": _REGION,
    "wr_send_imm": _REGION,
    "wr_rdma_write": _REGION,
    "wr_rdma_write_imm": _REGION,
    "wr_rdma_read": _REGION,
    "wr_atomic_cmp_swp": _REGION,
    "wr_atomic_fetch_add": _REGION,
    "wr_atomic_write": _REGION,
    "wr_flush": _REGION,
    "wr_send_inv": ("alloc_mw B.mw0 pd=B.pd0 type=TYPE_2", *_REGION),
    "wr_local_inv": _WINDOWED,
    "wr_bind_mw": _WINDOWED,
    "wr_send_tso": (_EX_FRAMES, "wr_start A.qx0"),
    "wr_set_xrc_srqn": (
        "create_srq B.srq0 pd=B.pd0 max_wr=8",
        _EX.replace("RC", "XRC_SEND").replace("0x1bff", "SEND"),
        "wr_start A.qx0",
        "wr_send A.qx0",
    ),
    "wr_set_sge": _BUILT,
    "wr_set_sge_list": _BUILT,
    "wr_set_inline_data": _BUILT,
    "wr_set_inline_data_list": _BUILT,
    "wr_set_ud_addr": (
        "create_ah A.ah0 pd=A.pd0 to=B",
        _EX_DATAGRAMS,
        "wr_start A.qx0",
        "wr_send A.qx0",
    ),
    "dealloc_td": ("alloc_td A.td0",),
    "create_flow": (_RAW,),
    "destroy_flow": (_RAW, "create_flow B.flow0 qp=B.qp1 dst_mac=B"),
    "destroy_cq": ("destroy_qp A.qp0",),
    "destroy_comp_channel": ("create_comp_channel A.ch0",),
    "get_cq_event": _WOKEN,
    "ack_cq_events": (*_WOKEN, "get_cq_event A.ch0"),
    "get_async_event": ("link down",),
    "ack_async_event": ("link down", "get_async_event A"),
    "start_poll": _FLUSHED,
    "next_poll": (*_FLUSHED, "start_poll A.cq1"),
    "wc_read": (*_FLUSHED, "start_poll A.cq1"),
    "end_poll": (*_FLUSHED, "start_poll A.cq1"),
    "dealloc_pd": ("destroy_qp A.qp0", "dereg_mr A.mr0"),
    "inject": ("post_send A.qp0 opcode=SEND sg=A.mr0[0:64]", "run 1us"),
    "dealloc_mw": ("alloc_mw B.mw0 pd=B.pd0 type=TYPE_2",),
    "bind_mw": ("alloc_mw B.mw0 pd=B.pd0 type=TYPE_1",),
    "connect": ("reset A.qp0", "reset B.qp0"),
    "to_rts": ("reset A.qp0",),
    "modify_qp": ("reset A.qp0",),
    "destroy_ah": ("create_ah A.ah0 pd=A.pd0 to=B",),
    "attach_mcast": (_DATAGRAMS,),
    "detach_mcast": (_DATAGRAMS, "attach_mcast B.qp1 gid=224.0.0.9"),
    "create_srq_ex": _DOMAIN,
    "close_xrcd": _DOMAIN,
    "apply": (
        "post_send A.qp0 wr_id=7 opcode=RDMA_WRITE sg=A.mr0[0:8] remote_addr=0 rkey=1 "
        "flags=SIGNALED",
        "run",
    ),
    "stop": ("program A.tx lines={sleep 1us}",),
    "open_qp": (*_DOMAIN, "create_qp A.qp1 qp_type=XRC_RECV xrcd=A.xrcd0"),
    **dict.fromkeys(
        ("modify_srq", "query_srq", "get_srq_num", "destroy_srq", "post_srq_recv"), _SRQ
    ),
}
_FRESH = ("use",)  # their examples begin in an empty world
_PAIR = "use rc_pair"


def check_examples(open_session: Callable[[], Session], commands: Iterable[Command]) -> list[str]:
    """Run the examples of these commands, each in its own world; returns the errors."""
    return [wrong for each in commands for wrong in _wrong(open_session, each)]


def _wrong(open_session: Callable[[], Session], each: Command) -> Iterator[str]:
    examples = usage.docstring(each).examples
    if not examples:
        yield f"{each.name}: no example"
    for example in examples:
        session = open_session()
        before = () if each.name in _FRESH else (_PAIR, *BEFORE.get(each.name, ()))
        for line in (*before, example):
            yield from (f"{each.name}: {line}: {text}" for text in failures(session, line))


def failures(session: Session, line: str) -> Iterator[str]:
    """Run a line to its end; returns the error, else an empty text."""
    for reply in replies(session, line):
        if reply.travel is not None:
            reply.travel.finish()
        problem = reply.error or reply.refusal
        if problem is not None:
            yield problem.message

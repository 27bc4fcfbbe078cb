"""Calls of C about shared receive queues and XRC domains."""

from rdmalab.export.c.text import Scope, Text, Verb, structure
from rdmalab.export.replay.calls import Bound, NotExportable
from rdmalab.export.replay.values import constant, number, variable


def _srq_attr(attr: Bound, prefix: str) -> list[str]:
    names = ("max_wr", "max_sge", "srq_limit")
    values = {name: getattr(attr, name, None) for name in names}
    return [f"{prefix}.{name} = {number(v)}" for name, v in values.items() if v]


def _create_srq(s: Scope) -> Text:
    given = structure("ibv_srq_init_attr", "init", _srq_attr(s.argument("attr"), ".attr"))
    called = f"ibv_create_srq({s.var(s.argument('pd'))}, &init)"
    return Text("ibv_create_srq", called, given, s.var(s.argument("srq")))


def _create_srq_ex(s: Scope) -> Text:
    new, init = s.argument("srq"), s.argument("init_attr")
    bits = ["IBV_SRQ_INIT_ATTR_TYPE", "IBV_SRQ_INIT_ATTR_PD"]
    bits += ["IBV_SRQ_INIT_ATTR_XRCD"] if init.xrcd else []
    bits += ["IBV_SRQ_INIT_ATTR_CQ"] if init.cq else []
    members = [*_srq_attr(init.attr, ".attr"), f".comp_mask = {' | '.join(bits)}"]
    members += [f".srq_type = {constant(init.srq_type)}", f".pd = {s.var(init.pd)}"]
    members += [f".xrcd = {s.var(init.xrcd)}"] if init.xrcd else []
    members += [f".cq = {s.var(init.cq)}"] if init.cq else []
    given = structure("ibv_srq_init_attr_ex", "init", members)
    called = f"ibv_create_srq_ex({variable(new.node)}, &init)"
    return Text("ibv_create_srq_ex", called, given, s.var(new))


def _modify_srq(s: Scope) -> Text:
    attr, mask = s.argument("attr"), s.argument("srq_attr_mask")
    given_bits = {"max_wr": "IBV_SRQ_MAX_WR", "srq_limit": "IBV_SRQ_LIMIT"}
    values = {name: getattr(attr, name) for name in given_bits}
    bits = [bit for name, bit in given_bits.items() if values[name] is not None]
    wanted = " | ".join(bits) or "0" if mask is None else constant(mask)
    members = [f".{name} = {number(v)}" for name, v in values.items() if v is not None]
    given = structure("ibv_srq_attr", "attr", members)
    return Text(
        "ibv_modify_srq", f"ibv_modify_srq({s.var(s.argument('srq'))}, &attr, {wanted})", given
    )


def _query_srq(s: Scope) -> Text:
    name = s.var(s.argument("srq"))
    return Text("ibv_query_srq", f"ibv_query_srq({name}, &attr)", ["struct ibv_srq_attr attr;"])


def _get_srq_num(s: Scope) -> Text:
    name = s.var(s.argument("srq"))
    return Text("ibv_get_srq_num", f"ibv_get_srq_num({name}, &srq_num)", ["uint32_t srq_num;"])


def _open_xrcd(s: Scope) -> Text:
    new, fd = s.argument("xrcd"), s.argument("fd")
    if fd is not None and fd >= 0:
        raise NotExportable("fd of open_xrcd stands for a file that the program would need")
    flags = s.argument("oflag")
    members = [
        ".comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS", ".fd = -1",
        f".oflags = {constant(flags) if flags else '0'}",
    ]  # fmt: skip
    given = structure("ibv_xrcd_init_attr", "init", members)
    return Text("ibv_open_xrcd", f"ibv_open_xrcd({variable(new.node)}, &init)", given, s.var(new))


VERBS: dict[str, Verb] = {
    "create_srq": Verb(_create_srq),
    "create_srq_ex": Verb(_create_srq_ex),
    "modify_srq": Verb(_modify_srq),
    "query_srq": Verb(_query_srq),
    "get_srq_num": Verb(_get_srq_num),
    "open_xrcd": Verb(_open_xrcd),
}

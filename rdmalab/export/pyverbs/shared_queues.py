"""Calls of pyverbs about shared receive queues and XRC domains."""

from rdmalab.export.pyverbs.text import Lines, Scope, Verb, called, named, number
from rdmalab.export.replay.calls import Bound, NotExportable
from rdmalab.export.replay.values import constant, variable


def _srq_sizes(attr: Bound) -> dict[str, str]:
    names = ("max_wr", "max_sge", "srq_limit")
    return {name: number(getattr(attr, name, None) or 0) for name in names}


def _create_srq(s: Scope) -> Lines:
    attr = called(s.use("srq", "SrqAttr"), **_srq_sizes(s.argument("attr")))
    init = called(s.use("srq", "SrqInitAttr"), attr)
    made = called(s.use("srq", "SRQ"), s.var(s.argument("pd")), init)
    return Lines(f"{s.var(s.argument('srq'))} = {made}")


def _create_srq_ex(s: Scope) -> Lines:
    new, init = s.argument("srq"), s.argument("init_attr")
    before = [f"init = {called(s.use('srq', 'SrqInitAttrEx'), **_srq_sizes(init.attr))}"]
    before += [f"init.srq_type = {named(init.srq_type)}", f"init.pd = {s.var(init.pd)}"]
    bits = ["e.IBV_SRQ_INIT_ATTR_TYPE", "e.IBV_SRQ_INIT_ATTR_PD"]
    for name in ("xrcd", "cq"):
        if (thing := getattr(init, name)) is not None:
            before.append(f"init.{name} = {s.var(thing)}")
            bits.append(f"e.IBV_SRQ_INIT_ATTR_{name.upper()}")
    before.append(f"init.comp_mask = {' | '.join(bits)}")
    return Lines(
        f"{s.var(new)} = {called(s.use('srq', 'SRQ'), variable(new.node), 'init')}", before
    )


def _modify_srq(s: Scope) -> Lines:
    attr, mask = s.argument("attr"), s.argument("srq_attr_mask")
    bits = {"max_wr": "e.IBV_SRQ_MAX_WR", "srq_limit": "e.IBV_SRQ_LIMIT"}
    values = {name: getattr(attr, name) for name in bits}
    given = {name: number(v) for name, v in values.items() if v is not None}
    wanted = " | ".join(bits[name] for name in given) or "0"
    made = called(s.use("srq", "SrqAttr"), **given)
    return Lines(
        f"{s.var(s.argument('srq'))}.modify({made}, {wanted if mask is None else named(mask)})"
    )


def _query_srq(s: Scope) -> Lines:
    return Lines(f"{s.var(s.argument('srq'))}.query()")


def _get_srq_num(s: Scope) -> Lines:
    return Lines(f"{s.var(s.argument('srq'))}.get_srq_num()")


def _open_xrcd(s: Scope) -> Lines:
    new, fd = s.argument("xrcd"), s.argument("fd")
    if fd is not None and fd >= 0:
        raise NotExportable("fd of open_xrcd stands for a file that the program would need")
    s.writer.needs.add("os")
    flags = constant(s.argument("oflag")) if s.argument("oflag") else "0"
    oflags = " | ".join(
        f"os.{flag}" if flag.startswith("O_") else flag for flag in flags.split(" | ")
    )
    mask = "e.IBV_XRCD_INIT_ATTR_FD | e.IBV_XRCD_INIT_ATTR_OFLAGS"
    init = called(s.use("xrcd", "XRCDInitAttr"), mask, oflags, "-1")
    return Lines(f"{s.var(new)} = {called(s.use('xrcd', 'XRCD'), variable(new.node), init)}")


VERBS: dict[str, Verb] = {
    "create_srq": Verb(_create_srq),
    "create_srq_ex": Verb(_create_srq_ex),
    "modify_srq": Verb(_modify_srq),
    "query_srq": Verb(_query_srq),
    "get_srq_num": Verb(_get_srq_num),
    "open_xrcd": Verb(_open_xrcd),
}

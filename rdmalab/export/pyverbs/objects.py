"""Calls of pyverbs that make, change and destroy objects; devices, memory of the program."""

from collections.abc import Callable
from dataclasses import fields
from errno import EFAULT

from rdmalab.command import New, Noun, Region, Thing
from rdmalab.export.pyverbs.text import (
    MOST_BYTES,
    Lines,
    Scope,
    Verb,
    called,
    checked,
    named,
    number,
)
from rdmalab.export.replay.calls import Bound, NotExportable
from rdmalab.export.replay.names import attribute_width, constant, variable
from rdmalab.hca.attributes import AhAttr, mask_of
from rdmalab.spec.builders import InitMask
from rdmalab.spec.completions import STANDARD_FIELDS
from rdmalab.spec.states import Attr, QPType
from rdmalab.world.relations import DESTROYERS


def _alloc_pd(s: Scope) -> Lines:
    new = s.argument("pd")
    return Lines(f"{s.var(new)} = {called(s.use('pd', 'PD'), variable(new.node))}")


def _alloc_parent_domain(s: Scope) -> Lines:
    new = s.argument("parent")
    if s.argument("td") is not None:
        raise NotExportable("pyverbs has no thread domain")
    attr = called(s.use("pd", "ParentDomainInitAttr"), s.var(s.argument("pd")))
    domain = called(s.use("pd", "ParentDomain"), variable(new.node), attr)
    return Lines(f"{s.var(new)} = {domain}")


def _closer(parameter: str) -> Callable[[Scope], Lines]:
    def handler(s: Scope) -> Lines:
        return Lines(f"{s.var(s.argument(parameter))}.close()", refusable=False)

    return handler


def _reg_mr(s: Scope) -> Lines:
    new, addr, hca_va = s.argument("mr"), s.argument("addr"), s.argument("hca_va")
    access, length = named(s.argument("access")), number(s.argument("length"))
    if int(s.argument("length")) > MOST_BYTES:
        raise NotExportable(f"the region has {int(s.argument('length')):,} bytes")
    place = None
    if addr is not None:
        place = s.addr(new.node, addr)
        if place == s.literal(addr):
            raise NotExportable("reg_mr of memory at an address that no region has")
    kind = s.use("mr", "MR" if hca_va is None else "MREx")
    iova = None if hca_va is None else number(hca_va)
    pd = s.var(s.argument("pd"))
    made = called(kind, pd, length, access, address=place, iova=iova)
    return Lines(f"{s.var(new)} = {made}")


def _rereg_mr(s: Scope) -> Lines:
    flags, addr = s.argument("flags"), s.argument("addr")
    place = None if addr is None else s.addr(s.argument("mr").node, addr)
    if addr is not None and place == s.literal(addr):
        raise NotExportable("rereg_mr of memory at an address that no region has")
    pd, access = s.argument("pd"), s.argument("access")
    return Lines(called(
        f"{s.var(s.argument('mr'))}.rereg", named(flags), pd=None if pd is None else s.var(pd),
        addr=place, length=number(s.argument("length")) if s.argument("length") else None,
        access=None if access is None else named(access),
    ))  # fmt: skip


def _alloc_mw(s: Scope) -> Lines:
    kind = named(s.argument("type")) if s.argument("type") in (1, 2) else str(s.argument("type"))
    window = called(s.use("mr", "MW"), s.var(s.argument("pd")), kind)
    return Lines(f"{s.var(s.argument('mw'))} = {window}")


def _registered(s: Scope, lines: Lines | None) -> list[str]:
    if s.call.errno == EFAULT:
        raise NotExportable("memory that the program has not mapped")
    return checked(s, lines)


def bind_info(s: Scope, node: str, asked: Bound) -> str:
    """An MWBindInfo."""
    mr = s.pointer(node, Noun.MR, asked.bind_mr)
    place, rights = s.addr(node, asked.bind_addr), named(asked.bind_access)
    return called(s.use("mr", "MWBindInfo"), mr, place, number(asked.bind_length), rights)


def _bind_mw(s: Scope) -> Lines:
    asked, qp, mw = s.argument("asked"), s.argument("qp"), s.argument("mw")
    bind = called(
        s.use("mr", "MWBind"), bind_info(s, qp.node, asked), named(asked.flags),
        wr_id=number(asked.wr_id),
    )  # fmt: skip
    return Lines(f"{s.var(qp)}.bind_mw({s.var(mw)}, {bind})")


def _create_comp_channel(s: Scope) -> Lines:
    new = s.argument("channel")
    return Lines(f"{s.var(new)} = {called(s.use('cq', 'CompChannel'), variable(new.node))}")


def _create_cq(s: Scope) -> Lines:
    new, channel, vector = s.argument("cq"), s.argument("channel"), s.argument("comp_vector")
    made = called(
        s.use("cq", "CQ"), variable(new.node), number(s.argument("cqe")),
        channel=s.var(channel) if channel else None,
        comp_vector=number(vector) if vector else None,
    )  # fmt: skip
    return Lines(f"{s.var(new)} = {made}")


def _create_cq_ex(s: Scope) -> Lines:
    new, channel, flags = s.argument("cq"), s.argument("channel"), s.argument("wc_flags")
    attr = called(
        s.use("cq", "CqInitAttrEx"), cqe=number(s.argument("cqe")),
        channel=s.var(channel) if channel else None,
        wc_flags=named(STANDARD_FIELDS if flags is None else flags),
    )  # fmt: skip
    s.writer.extended.add(s.var(new))
    return Lines(f"{s.var(new)} = {called(s.use('cq', 'CQEX'), variable(new.node), attr)}")


def _resize_cq(s: Scope) -> Lines:
    return Lines(f"{s.var(s.argument('cq'))}.resize({number(s.argument('cqe'))})")


def cap(s: Scope, cap: Bound) -> str:
    """A QPCap."""
    sizes = {each.name: number(getattr(cap, each.name)) for each in fields(cap)}
    return called(s.use("qp", "QPCap"), **sizes)


def _init_values(s: Scope, init: Bound) -> dict[str, str | None]:
    queues = {"scq": init.send_cq, "rcq": init.recv_cq, "srq": init.srq}
    kind = named(init.qp_type)
    return {
        "qp_type": kind, **{name: s.var(it) if it else None for name, it in queues.items()},
        "cap": cap(s, init.cap), "sq_sig_all": str(int(init.sq_sig_all)),
    }  # fmt: skip


def _create_qp(s: Scope) -> Lines:
    new, init, pd = s.argument("qp"), s.argument("init_attr"), s.argument("pd")
    if init.xrcd or init.max_tso_header or init.qp_type is QPType.XRC_SEND:
        mask = (InitMask.PD if pd else 0) | (InitMask.XRCD if init.xrcd else 0)
        mask |= InitMask.MAX_TSO_HEADER if init.max_tso_header else 0
        return _extended(s, new, init, pd, mask, "QP")
    if pd is None:
        raise NotExportable("pyverbs makes no queue pair without a protection domain")
    attr = called(s.use("qp", "QPInitAttr"), **_init_values(s, init))
    return Lines(
        f"{s.var(new)} = {called(s.use('qp', 'QP'), s.var(pd), 'attr')}", [f"attr = {attr}"]
    )


def _create_qp_ex(s: Scope) -> Lines:
    new, init = s.argument("qp"), s.argument("init_attr")
    kind = "QP" if init.send_ops_flags is None else "QPEx"
    return _extended(s, new, init, init.pd, init.mask(), kind)


def _extended(s: Scope, new: New, init: Bound, pd: Thing | None, mask: int, kind: str) -> Lines:
    ops = getattr(init, "send_ops_flags", None)
    attr = called(
        s.use("qp", "QPInitAttrEx"), **_init_values(s, init),
        comp_mask=named(InitMask(mask)), pd=s.var(pd) if pd else None,
        xrcd=s.var(init.xrcd) if init.xrcd else None,
        max_tso_header=number(init.max_tso_header) if init.max_tso_header else None,
        send_ops_flags=None if ops is None else named(ops),
    )  # fmt: skip
    made = called(s.use("qp", kind), variable(new.node), "attr")
    return Lines(f"{s.var(new)} = {made}", [f"attr = {attr}"])


def _qp_made(s: Scope, lines: Lines | None) -> list[str]:
    if not s.call.errno and lines is not None and "= QPEx(" in lines.called:
        s.writer.extended.add(s.var(s.call.value))
    return checked(s, lines)


def _qp_to_qp_ex(s: Scope) -> None:
    if s.var(s.argument("qp")) not in s.writer.extended:
        raise NotExportable("in pyverbs a QP has no extended face, and a QPEx has one")


_UNMADE = (Noun.TD, Noun.FLOW)  # no verb here makes one


def _address(s: Scope, attr: AhAttr) -> str:
    route = None
    if attr.is_global:
        route = called(
            s.use("addr", "GlobalRoute"), dgid=s.gid(attr.dgid), flow_label=_given(attr.flow_label),
            sgid_index=number(attr.sgid_index), hop_limit=number(attr.hop_limit),
            traffic_class=_given(attr.traffic_class),
        )  # fmt: skip
    names = ("dlid", "sl", "src_path_bits", "static_rate", "is_global")
    values = {name: _given(getattr(attr, name)) for name in names}
    return called(s.use("addr", "AHAttr"), **values, port_num=number(attr.port_num), gr=route)


def _given(value: int) -> str | None:
    return number(value) if value else None


def _modify_qp(s: Scope) -> Lines:
    qp, attr, mask = s.argument("qp"), s.argument("attr"), s.argument("attr_mask")
    before = [f"attr = {called(s.use('qp', 'QPAttr'))}"]
    given = attr.given()
    for name, value in given.items():
        if isinstance(value, AhAttr):
            text = _address(s, value)
        elif name == "cap":
            text = cap(s, value)
        elif name == "dest_qp_num":
            text = s.qpn(qp.node, value)
        else:
            width = attribute_width(name)
            if not 0 <= int(value) < 1 << width:
                raise NotExportable(f"{name}={int(value)} does not fit in {width} bits")
            text = named(value)
        before.append(f"attr.{name} = {text}")
    wanted = named(mask_of(given) if mask is None else Attr(mask))
    return Lines(f"{s.var(qp)}.modify(attr, {wanted})", before)


def _query_qp(s: Scope) -> Lines:
    mask = s.argument("attr_mask")
    wanted = "e.IBV_QP_STATE" if s.call.is_late or mask is None else named(Attr(mask))
    return Lines(f"attr, init = {s.var(s.argument('qp'))}.query({wanted})")


def _queried(s: Scope, lines: Lines | None) -> list[str]:
    assert lines is not None
    if not s.call.errno and s.call.value.qp_state is not None:
        name = s.call.session.names.of(s.argument("qp"))
        s.writer.needs.add("expect")
        state = named(s.call.value.qp_state)
        lines.after = [f'expect("{name}.qp_state", attr.qp_state, {state})']
    return checked(s, lines)


def _create_ah(s: Scope) -> Lines:
    made = called(
        s.use("addr", "AH"), s.var(s.argument("pd")), attr=_address(s, s.argument("attr"))
    )
    return Lines(f"{s.var(s.argument('ah'))} = {made}")


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


def _device(text: str) -> Callable[[Scope], Lines]:
    def handler(s: Scope) -> Lines:
        port, index = s.argument("port_num"), s.argument("index")
        node = variable(s.argument("device").node)
        return Lines(f"{node}.{text.format(port=1 if port is None else port, index=index)}")

    return handler


def _range(s: Scope, region: Region) -> tuple[str, int, int]:
    mr = s.world.nodes[region.thing.node].mrs.items.get(region.thing.number)
    if mr is None:
        raise NotExportable("memory of a region that is no more")
    start = region.start or 0
    return s.var(region.thing), start, mr.length if region.stop is None else region.stop


def _write(s: Scope) -> Lines | None:
    name, start, _ = _range(s, s.argument("where"))
    octets = s.argument("text").encode("latin-1", "replace")
    if not octets:
        return None
    return Lines(f"{name}.write({octets!r}, {len(octets)}{f', {start}' if start else ''})")


def _fill(s: Scope) -> Lines | None:
    name, start, stop = _range(s, s.argument("where"))
    if stop <= start:
        return None
    octets = f"bytes([{s.argument('byte') or 0:#04x}]) * {stop - start}"
    return Lines(f"{name}.write({octets}, {stop - start}{f', {start}' if start else ''})")


VERBS: dict[str, Verb] = {
    **{verb: Verb(_closer(noun)) for noun, verb in DESTROYERS.items() if noun not in _UNMADE},
    "alloc_pd": Verb(_alloc_pd),
    "alloc_parent_domain": Verb(_alloc_parent_domain),
    "reg_mr": Verb(_reg_mr, _registered),
    "reg_mr_iova": Verb(_reg_mr),
    "rereg_mr": Verb(_rereg_mr),
    "alloc_mw": Verb(_alloc_mw),
    "bind_mw": Verb(_bind_mw),
    "create_comp_channel": Verb(_create_comp_channel),
    "create_cq": Verb(_create_cq),
    "create_cq_ex": Verb(_create_cq_ex),
    "resize_cq": Verb(_resize_cq),
    "create_qp": Verb(_create_qp),
    "create_qp_ex": Verb(_create_qp_ex, _qp_made),
    "qp_to_qp_ex": Verb(_qp_to_qp_ex),
    "modify_qp": Verb(_modify_qp),
    "query_qp": Verb(_query_qp, _queried),
    "create_ah": Verb(_create_ah),
    "create_srq": Verb(_create_srq),
    "create_srq_ex": Verb(_create_srq_ex),
    "modify_srq": Verb(_modify_srq),
    "query_srq": Verb(_query_srq),
    "get_srq_num": Verb(_get_srq_num),
    "open_xrcd": Verb(_open_xrcd),
    "query_device": Verb(_device("query_device()")),
    "query_device_ex": Verb(_device("query_device_ex()")),
    "query_port": Verb(_device("query_port({port})")),
    "query_gid": Verb(_device("query_gid({port}, {index})")),
    "query_pkey": Verb(_device("query_pkey({port}, {index})")),
    "write": Verb(_write),
    "fill": Verb(_fill),
}

"""Calls of pyverbs that make, change and destroy objects; devices, memory of the program."""

from dataclasses import fields
from errno import EFAULT

from rdmalab.command import New, Noun, Thing
from rdmalab.export.pyverbs.text import (
    MOST_BYTES,
    Lines,
    Scope,
    called,
    checked,
    made,
    named,
    number,
    plain,
)
from rdmalab.export.replay import structs
from rdmalab.export.replay.calls import Bound, NotExportable
from rdmalab.export.replay.names import constant, variable
from rdmalab.export.replay.program import Verb
from rdmalab.hca.attributes import AhAttr
from rdmalab.spec.completions import STANDARD_FIELDS
from rdmalab.spec.states import Attr
from rdmalab.world.relations import DESTROYERS


def _alloc_pd(s: Scope) -> Lines:
    new = s.argument("pd")
    return made(s, new, "pd", "PD", variable(new.node))


def _alloc_parent_domain(s: Scope) -> Lines:
    new = s.argument("parent")
    if s.argument("td") is not None:
        raise NotExportable("pyverbs has no thread domain")
    attr = called(s.use("pd", "ParentDomainInitAttr"), s.var(s.argument("pd")))
    return made(s, new, "pd", "ParentDomain", variable(new.node), attr)


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
    kind, iova = ("MR", None) if hca_va is None else ("MREx", number(hca_va))
    pd = s.var(s.argument("pd"))
    return made(s, new, "mr", kind, pd, length, access, address=place, iova=iova)


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
    return made(s, s.argument("mw"), "mr", "MW", s.var(s.argument("pd")), kind)


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
    return made(s, new, "cq", "CompChannel", variable(new.node))


def _create_cq(s: Scope) -> Lines:
    new, channel, vector = s.argument("cq"), s.argument("channel"), s.argument("comp_vector")
    return made(
        s, new, "cq", "CQ", variable(new.node), number(s.argument("cqe")),
        channel=s.var(channel) if channel else None,
        comp_vector=number(vector) if vector else None,
    )  # fmt: skip


def _create_cq_ex(s: Scope) -> Lines:
    new, channel, flags = s.argument("cq"), s.argument("channel"), s.argument("wc_flags")
    attr = called(
        s.use("cq", "CqInitAttrEx"), cqe=number(s.argument("cqe")),
        channel=s.var(channel) if channel else None,
        wc_flags=named(STANDARD_FIELDS if flags is None else flags),
    )  # fmt: skip
    s.writer.extended.add(s.var(new))
    return made(s, new, "cq", "CQEX", variable(new.node), attr)


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
    mask = structs.needed_extension(init, pd)
    if mask is not None:
        return _extended(s, new, init, pd, mask, "QP")
    if pd is None:
        raise NotExportable("pyverbs makes no queue pair without a protection domain")
    attr = called(s.use("qp", "QPInitAttr"), **_init_values(s, init))
    lines = made(s, new, "qp", "QP", s.var(pd), "attr")
    lines.before = [f"attr = {attr}"]
    return lines


def _create_qp_ex(s: Scope) -> Lines:
    new, init = s.argument("qp"), s.argument("init_attr")
    kind = "QP" if init.send_ops_flags is None else "QPEx"
    return _extended(s, new, init, init.pd, init.mask(), kind)


def _extended(s: Scope, new: New, init: Bound, pd: Thing | None, mask: int, kind: str) -> Lines:
    more = structs.extended_members(s, init, pd, mask, named)
    attr = called(s.use("qp", "QPInitAttrEx"), **_init_values(s, init), **more)
    lines = made(s, new, "qp", kind, variable(new.node), "attr")
    lines.before = [f"attr = {attr}"]
    return lines


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
    qp, (given, mask) = s.argument("qp"), structs.asked_attributes(s)
    before = [f"attr = {called(s.use('qp', 'QPAttr'))}"]
    for name, value in given.items():
        if isinstance(value, AhAttr):
            text = _address(s, value)
        elif name == "cap":
            text = cap(s, value)
        else:
            text = structs.attribute(s, qp.node, name, value, named)
        before.append(f"attr.{name} = {text}")
    return Lines(f"{s.var(qp)}.modify(attr, {named(mask)})", before)


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
    attr = _address(s, s.argument("attr"))
    return made(s, s.argument("ah"), "addr", "AH", s.var(s.argument("pd")), attr=attr)


def _srq_struct(s: Scope, kind: str, attr: Bound) -> str:
    sizes = {name: number(size) for name, size in structs.srq_sizes(attr).items()}
    return called(s.use("srq", kind), **sizes)


def _create_srq(s: Scope) -> Lines:
    attr = _srq_struct(s, "SrqAttr", s.argument("attr"))
    init = called(s.use("srq", "SrqInitAttr"), attr)
    return made(s, s.argument("srq"), "srq", "SRQ", s.var(s.argument("pd")), init)


def _create_srq_ex(s: Scope) -> Lines:
    new, init = s.argument("srq"), s.argument("init_attr")
    members = structs.srq_members(s, init, named)
    lines = made(s, new, "srq", "SRQ", variable(new.node), "init")
    lines.before = [
        f"init = {_srq_struct(s, 'SrqInitAttrEx', init.attr)}",
        *(f"init.{name} = {value}" for name, value in members.items()),
        f"init.comp_mask = {structs.srq_bits(members, 'e.')}",
    ]
    return lines


def _modify_srq(s: Scope) -> Lines:
    given, mask = structs.srq_changes(s, named)
    attr = called(s.use("srq", "SrqAttr"), **given)
    return Lines(f"{s.var(s.argument('srq'))}.modify({attr}, {mask})")


def _open_xrcd(s: Scope) -> Lines:
    structs.judge_descriptor(s)
    new = s.argument("xrcd")
    s.writer.needs.add("os")
    flags = constant(s.argument("oflag")) if s.argument("oflag") else "0"
    oflags = " | ".join(
        f"os.{flag}" if flag.startswith("O_") else flag for flag in flags.split(" | ")
    )
    mask = "e.IBV_XRCD_INIT_ATTR_FD | e.IBV_XRCD_INIT_ATTR_OFLAGS"
    init = called(s.use("xrcd", "XRCDInitAttr"), mask, oflags, "-1")
    return made(s, new, "xrcd", "XRCD", variable(new.node), init)


def _write(s: Scope) -> Lines | None:
    octets = structs.octets_of(s)
    return _written(s, repr(octets), len(octets))


def _written(s: Scope, octets: str, length: int) -> Lines | None:
    """A write of so many bytes to the place of the command; None: of no bytes."""
    piece = structs.piece_of(s, s.argument("where"))
    at = f", {piece.start}" if piece.start else ""
    return Lines(f"{piece.name}.write({octets}, {length}{at})") if length > 0 else None


def _fill(s: Scope) -> Lines | None:
    piece = structs.piece_of(s, s.argument("where"))
    length = piece.stop - piece.start
    return _written(s, f"bytes([{s.argument('byte') or 0:#04x}]) * {length}", length)


VERBS: dict[str, Verb[Scope, Lines]] = {
    **{
        verb: plain(f"{{{noun}}}.close()", refusable=False)
        for noun, verb in DESTROYERS.items()
        if noun not in _UNMADE
    },
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
    "resize_cq": plain("{cq}.resize({cqe})"),
    "create_qp": Verb(_create_qp),
    "create_qp_ex": Verb(_create_qp_ex, _qp_made),
    "qp_to_qp_ex": Verb(_qp_to_qp_ex),
    "modify_qp": Verb(_modify_qp),
    "query_qp": Verb(_query_qp, _queried),
    "create_ah": Verb(_create_ah),
    "create_srq": Verb(_create_srq),
    "create_srq_ex": Verb(_create_srq_ex),
    "modify_srq": Verb(_modify_srq),
    "query_srq": plain("{srq}.query()"),
    "get_srq_num": plain("{srq}.get_srq_num()"),
    "open_xrcd": Verb(_open_xrcd),
    "query_device": plain("{node}.query_device()"),
    "query_device_ex": plain("{node}.query_device_ex()"),
    "query_port": plain("{node}.query_port({port_num})", port_num=1),
    "query_gid": plain("{node}.query_gid({port_num}, {index})", port_num=1),
    "query_gid_ex": plain("{node}.query_gid_ex({port_num}, {index})", port_num=1),
    "query_pkey": plain("{node}.query_pkey({port_num}, {index})", port_num=1),
    "write": Verb(_write),
    "fill": Verb(_fill),
}

"""Commands of the lab as lines of Python with pyverbs."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from errno import EAGAIN, EFAULT, errorcode
from typing import Any

from rdmalab.command import New, Noun, Region, Thing
from rdmalab.export.c_values import constant, variable
from rdmalab.export.named_things import Names
from rdmalab.export.replayed_calls import Call, NotExportable
from rdmalab.hca.attributes import AhAttr
from rdmalab.hca.objects import inc_rkey
from rdmalab.hca.wr import WildPointer, swap_octets
from rdmalab.spec.builders import InitMask
from rdmalab.spec.completions import STANDARD_FIELDS
from rdmalab.spec.states import ATTRIBUTES, Attr, QPType
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.views.completions import wc_row

_DECIMAL = 1 << 16
TAB = "    "
_PATHS = ("ah_attr", "alt_ah_attr")
_WIDTH_8 = frozenset({
    "port_num", "timeout", "retry_cnt", "rnr_retry", "min_rnr_timer", "max_rd_atomic",
    "max_dest_rd_atomic", "en_sqd_async_notify", "alt_port_num", "alt_timeout",
})  # fmt: skip
_MOST_BYTES = 1 << 24


@dataclass(slots=True)
class Lines:
    """A call: what is prepared, the call, and what is looked at after one that worked.

    refusable: pyverbs raises PyverbsRDMAError with the errno of the verb.
    """

    called: str
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    refusable: bool = True


@dataclass(slots=True)
class Writer:
    """What lines of Python have in common. needs: helpers; modules: what is imported of pyverbs."""

    needs: set[str] = field(default_factory=set)
    modules: dict[str, set[str]] = field(default_factory=dict)
    keys: dict[Thing, int] = field(default_factory=dict)
    extended: set[str] = field(default_factory=set)
    completions: int = 0

    def begin(self, call: Call) -> Lines | None:
        """The call before it is carried out; None: nothing is called."""
        handler = _HANDLERS.get(call.word)
        if handler is None:
            raise NotExportable(f"{call.word} is not in pyverbs, or not in its skin", call.entry)
        try:
            return handler(Scope(call, self))
        except NotExportable as wrong:
            wrong.entry = call.entry
            raise

    def end(self, call: Call, lines: Lines | None) -> list[str]:
        """Its lines, when its result is known."""
        try:
            return _FINISHERS.get(call.word, _checked)(Scope(call, self), lines)
        except NotExportable as wrong:
            wrong.entry = call.entry
            raise


@dataclass(slots=True)
class Scope(Names):
    """A call of pyverbs, and the names that things have in its text."""

    writer: Writer

    @property
    def keys(self) -> dict[Thing, int]:
        return self.writer.keys

    def declare(self, name: str, noun: Noun) -> None:
        """Python declares nothing."""

    def member(self, name: str, field_: str) -> str:
        return f"{name}.{field_}"

    def base(self, name: str) -> str:
        return f"{name}.buf"

    def next_key(self, text: str) -> str:
        self.use("base", "inc_rkey")
        return f"inc_rkey({text})"

    def literal(self, value: int) -> str:
        return number(value)

    def srq_number(self, name: str) -> str:
        return f"{name}.get_srq_num()"

    def gid_entry(self, node: str, index: int) -> str:
        return f"{node}.query_gid(1, {index})"

    def gid_bytes(self, value: int) -> str:
        self.use("addr", "GID")
        words = ":".join(f"{value >> at & 0xFFFF:04x}" for at in range(112, -1, -16))
        return f'GID("{words}")'

    def use(self, module: str, name: str) -> str:
        """Import a class; returns its name."""
        self.writer.modules.setdefault(module, set()).add(name)
        return name

    def pointer(self, node: str, noun: Noun, number_: int | None) -> str:
        found = self.numbered(noun, node, number_)
        if found == "NULL":
            raise NotExportable(f"pyverbs takes no {noun} that is NULL")
        return found


def number(value: int) -> str:
    """`64`, `0x11111111`."""
    return str(value) if value < _DECIMAL else hex(value)


def named(value: int) -> str:
    """A constant of pyverbs.enums; a plain number where it has no name."""
    parts = constant(value).split(" | ")
    return " | ".join(f"e.{part}" if part.startswith("IBV_") else part for part in parts)


def called(name: str, *values: str, **named_values: str | None) -> str:
    """`NAME(VALUE, key=VALUE)`."""
    given = [f"{key}={value}" for key, value in named_values.items() if value is not None]
    return f"{name}({', '.join([*values, *given])})"


def _checked(s: Scope, lines: Lines | None) -> list[str]:
    if lines is None:
        return []
    if not s.call.errno:
        return [*lines.before, lines.called, *lines.after]
    if not lines.refusable or (s.call.errno == EAGAIN and s.call.word != "open_xrcd"):
        raise NotExportable(f"{s.call.word} is refused here, which pyverbs does not tell")
    s.writer.needs.add("refused")
    code = s.call.errno
    return [*lines.before, f"with refused({errno_of(code)}):", f"{TAB}{lines.called}"]


def errno_of(code: int) -> str:
    """`errno.EINVAL`."""
    return f"errno.{errorcode[code]}" if code in errorcode else str(code)


def _lost(s: Scope, lines: Lines | None) -> list[str]:
    """Builders and setters return nothing: a refusal is told by wr_complete."""
    if s.call.errno:
        raise NotExportable(f"{s.call.word} is refused here, and returns nothing")
    return _checked(s, lines)


# --------------------------------------------------------------------------- objects
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
    if int(s.argument("length")) > _MOST_BYTES:
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
    return _checked(s, lines)


def _bind_info(s: Scope, node: str, asked: Any) -> str:
    mr = s.pointer(node, Noun.MR, asked.bind_mr)
    place, rights = s.addr(node, asked.bind_addr), named(asked.bind_access)
    return called(s.use("mr", "MWBindInfo"), mr, place, number(asked.bind_length), rights)


def _bind_mw(s: Scope) -> Lines:
    asked, qp, mw = s.argument("asked"), s.argument("qp"), s.argument("mw")
    bind = called(
        s.use("mr", "MWBind"), _bind_info(s, qp.node, asked), named(asked.flags),
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


def _cap(s: Scope, cap: Any) -> str:
    sizes = {each.name: number(getattr(cap, each.name)) for each in fields(cap)}
    return called(s.use("qp", "QPCap"), **sizes)


def _init_values(s: Scope, init: Any) -> dict[str, str | None]:
    queues = {"scq": init.send_cq, "rcq": init.recv_cq, "srq": init.srq}
    kind = named(init.qp_type)
    return {
        "qp_type": kind, **{name: s.var(it) if it else None for name, it in queues.items()},
        "cap": _cap(s, init.cap), "sq_sig_all": str(int(init.sq_sig_all)),
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


def _extended(s: Scope, new: New, init: Any, pd: Thing | None, mask: int, kind: str) -> Lines:
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
    return _checked(s, lines)


def _qp_to_qp_ex(s: Scope) -> None:
    if s.var(s.argument("qp")) not in s.writer.extended:
        raise NotExportable("in pyverbs a QP has no extended face, and a QPEx has one")


# --------------------------------------------------------------------------- states
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
    bits = Attr(0)
    for name, value in attr.given().items():
        bits |= ATTRIBUTES[name].mask
        if name in _PATHS:
            text = _address(s, value)
        elif name == "cap":
            text = _cap(s, value)
        elif name == "dest_qp_num":
            text = s.qpn(qp.node, value)
        else:
            width = 8 if name in _WIDTH_8 else 16 if name.endswith("pkey_index") else 32
            if not 0 <= int(value) < 1 << width:
                raise NotExportable(f"{name}={int(value)} does not fit in {width} bits")
            text = named(value)
        before.append(f"attr.{name} = {text}")
    wanted = named(bits if mask is None else Attr(mask))
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
    return _checked(s, lines)


def _create_ah(s: Scope) -> Lines:
    made = called(
        s.use("addr", "AH"), s.var(s.argument("pd")), attr=_address(s, s.argument("attr"))
    )
    return Lines(f"{s.var(s.argument('ah'))} = {made}")


# --------------------------------------------------------------------------- shared receive queues
def _srq_sizes(attr: Any) -> dict[str, str]:
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


# --------------------------------------------------------------------------- work requests
def _sge(s: Scope, node: str, each: Any) -> str:
    if isinstance(each, WildPointer):
        raise NotExportable("sg_list is an invalid pointer: pyverbs takes a list")
    return called(
        s.use("wr", "SGE"), s.addr(node, each.addr), number(each.length), s.lkey(node, each.lkey)
    )


def _requests(s: Scope, node: str, wrs: list[Any], make: Callable[[Any], list[str]]) -> list[str]:
    """Lines that make a chain, the last request first; `wr` is the first of it."""
    lines, kept = list[str](), wrs
    for at, wr in enumerate(wrs):
        if wr.rest != "zero":
            raise NotExportable("a work request without memset has what malloc left")
        if wr.next:
            raise NotExportable("next is an invalid pointer: pyverbs takes a request")
        if wr.num_sge is not None and wr.num_sge > len(wr.sg):
            raise NotExportable("num_sge is more than sg_list has")
        if wr.next == 0:
            kept = wrs[: at + 1]
            break
    for at in reversed(range(len(kept))):
        follows = at + 1 < len(kept)
        made = make(kept[at])
        if follows:
            made[0] = f"{made[0][:-1]}, next_wr=wr)"
        lines += made
    return lines


def _post_recv(s: Scope) -> Lines:
    return _received(s, "qp")


def _post_srq_recv(s: Scope) -> Lines:
    return _received(s, "srq")


def _received(s: Scope, parameter: str) -> Lines:
    queue, wrs = _queue(s, parameter)

    def make(wr: Any) -> list[str]:
        sg = [_sge(s, queue.node, each) for each in wr.sg]
        count = len(sg) if wr.num_sge is None else wr.num_sge
        listed = f"[{', '.join(sg)}]" if sg else None
        values = (number(wr.wr_id), str(count), *([listed] if listed else []))
        return [f"wr = {called(s.use('wr', 'RecvWR'), *values)}"]

    return Lines(f"{s.var(queue)}.post_recv(wr)", _requests(s, queue.node, wrs, make))


def _queue(s: Scope, parameter: str) -> tuple[Thing, list[Any]]:
    queue, wrs = s.argument(parameter), s.argument("wr")
    if queue is None or not wrs or s.argument("bad_wr") not in (None, "&bad_wr"):
        raise NotExportable(f"{s.call.word} with NULL: pyverbs takes a request")
    return queue, wrs


_ALONE = (WROpcode.LOCAL_INV, WROpcode.BIND_MW)


def _post_send(s: Scope) -> Lines:
    qp, wrs = _queue(s, "qp")
    pair = s.world.nodes[qp.node].qps.items.get(qp.number)
    if pair is None:
        raise NotExportable("post_send on a queue pair that was destroyed")
    addressed = TRANSPORTS[pair.qp_type].addressed
    lines = _requests(s, qp.node, wrs, lambda wr: _send(s, qp.node, wr, addressed=addressed))
    return Lines(f"{s.var(qp)}.post_send(wr)", lines)


def _imm(value: int) -> str:
    return f"socket.htonl({number(swap_octets(value))})"


def _send(s: Scope, node: str, wr: Any, *, addressed: bool) -> list[str]:
    opcode = wr.opcode
    memory = s.world.nodes[node].memory
    if wr.flags & SendFlags.INLINE and not all(memory.is_mapped(p.addr, p.length) for p in wr.sg):
        raise NotExportable("INLINE bytes at an address without memory: a program would crash")
    sg = [_sge(s, node, each) for each in wr.sg]
    count = len(sg) if wr.num_sge is None else wr.num_sge
    empty = not count and opcode not in (*_ALONE, WROpcode.SEND_WITH_INV)
    if empty and not sg:
        sg = [called(s.use("wr", "SGE"), "0", "0", "0")]
    imm = _imm(wr.imm_data) if wr.imm_data else None
    if imm:
        s.writer.needs.add("socket")
    if wr.invalidate_rkey:
        imm = s.rkey(node, wr.invalidate_rkey)
    made = called(
        s.use("wr", "SendWR"), number(wr.wr_id), named(opcode),
        num_sge=str(1 if empty else count) if sg else None, imm_data=imm,
        sg=f"[{', '.join(sg)}]" if sg else None, send_flags=named(SendFlags(wr.flags)),
    )  # fmt: skip
    lines = [f"wr = {made}"]
    if empty:
        lines.append("wr.num_sge = 0")
    if wr.remote_srqn:
        lines.append(f"wr.set_qp_type_xrc({s.srqn(node, wr.remote_srqn)})")
    return lines + _operands(s, node, wr, addressed=addressed)


def _operands(s: Scope, node: str, wr: Any, *, addressed: bool) -> list[str]:
    opcode = wr.opcode
    if opcode == WROpcode.TSO:
        raise NotExportable("the skin of pyverbs has no set_wr_tso")
    if opcode == WROpcode.BIND_MW:
        return [_bind_request(s, node, wr)]
    has_target = bool(wr.remote_addr or wr.rkey)
    if has_target and addressed:
        raise NotExportable("a datagram has either an address or a remote range in pyverbs")
    if has_target or opcode in (WROpcode.ATOMIC_CMP_AND_SWP, WROpcode.ATOMIC_FETCH_AND_ADD):
        other = next((name for name in s.world.nodes if name != node), node)
        target = [s.rkey(node, wr.rkey), s.addr(other, wr.remote_addr)]
        if opcode in (WROpcode.ATOMIC_CMP_AND_SWP, WROpcode.ATOMIC_FETCH_AND_ADD):
            operands = [number(wr.compare_add), number(wr.swap)]
            return [f"wr.set_wr_atomic({', '.join([*target, *operands])})"]
        return [f"wr.set_wr_rdma({', '.join(target)})"]
    if wr.ah or wr.remote_qpn or wr.remote_qkey:
        ah = s.pointer(node, Noun.AH, wr.ah)
        return [f"wr.set_wr_ud({ah}, {s.qpn(node, wr.remote_qpn)}, {number(wr.remote_qkey)})"]
    return []


def _bind_request(s: Scope, node: str, wr: Any) -> str:
    window = s.world.nodes[node].mws.items.get(wr.mw or 0)
    if window is None:
        raise NotExportable("BIND_MW of a window that is no more")
    if wr.mw_rkey not in (None, inc_rkey(window.rkey)):
        raise NotExportable("set_bind_wr of pyverbs takes the next key of the window, no other")
    mw = s.pointer(node, Noun.MW, wr.mw)
    return f"wr.set_bind_wr({mw}, {_bind_info(s, node, wr)})"


# --------------------------------------------------------------------------- builders
def _ex(s: Scope) -> str:
    name = s.var(s.argument("qp"))
    if name not in s.writer.extended:
        raise NotExportable("the queue pair was not made by create_qp_ex with send_ops_flags")
    return name


def _next_fields(s: Scope, ex: str) -> list[str]:
    qpx = s.argument("qpx")
    if qpx is None:
        return []
    lines = [f"{ex}.wr_id = {number(qpx.wr_id)}"] if qpx.wr_id is not None else []
    if qpx.wr_flags is not None:
        lines.append(f"{ex}.wr_flags = {named(SendFlags(qpx.wr_flags))}")
    return lines


def _wr_set(s: Scope) -> Lines | None:
    lines = _next_fields(s, _ex(s))
    return Lines(lines[-1], lines[:-1]) if lines else None


def _builder(operands: Callable[[Scope, str], list[str]]) -> Callable[[Scope], Lines]:
    def handler(s: Scope) -> Lines:
        ex, node = _ex(s), s.argument("qp").node
        line = f"{ex}.{s.call.word}({', '.join(operands(s, node))})"
        return Lines(line, _next_fields(s, ex))

    return handler


def _wr_start(s: Scope) -> Lines:
    if s.argument("thread") not in (None, 1):
        raise NotExportable("wr_start by another thread")
    return Lines(f"{_ex(s)}.wr_start()")


def _target(s: Scope, node: str, target: Any) -> list[str]:
    other = next((name for name in s.world.nodes if name != node), node)
    return [s.rkey(node, target.rkey), s.addr(other, target.remote_addr)]


def _bind_operands(s: Scope, node: str) -> list[str]:
    info = s.argument("info")
    mw = s.pointer(node, Noun.MW, info.mw)
    key = info.mw_rkey
    if key is None:
        key = inc_rkey(s.world.nodes[node].mws.items[info.mw].rkey)
    return [mw, _window_key(s, mw, Thing(Noun.MW, node, info.mw), key), _bind_info(s, node, info)]


def _window_key(s: Scope, name: str, thing: Thing, key: int) -> str:
    held = s.world.nodes[thing.node].mws.items[thing.number].rkey
    return s.next_key(f"{name}.rkey") if key == inc_rkey(held) else number(key)


def _data(s: Scope, node: str) -> list[str]:
    return [_sge(s, node, s.argument("sg"))]


def _data_list(s: Scope, node: str) -> list[str]:
    sg, most = s.argument("sg") or [], s.argument("num_sge")
    count = len(sg) if most is None else most
    if count > len(sg):
        raise NotExportable("num_sge is more than sg_list has")
    return [str(count), f"[{', '.join(_sge(s, node, each) for each in sg)}]"]


def _inline(s: Scope, node: str) -> list[str]:
    buf = s.argument("buf")
    return [s.addr(node, buf.addr), number(buf.length)]


def _inline_list(s: Scope, node: str) -> list[str]:
    bufs, most = s.argument("buf") or [], s.argument("num_buf")
    count = len(bufs) if most is None else most
    if count > len(bufs):
        raise NotExportable("num_buf is more than buf_list has")
    made = [called(s.use("qp", "DataBuffer"), s.addr(node, b.addr), number(b.length)) for b in bufs]
    return [str(count), f"[{', '.join(made)}]"]


def _ud_addr(s: Scope, node: str) -> list[str]:
    ah = s.pointer(node, Noun.AH, s.argument("ah"))
    return [ah, s.qpn(node, s.argument("remote_qpn")), number(s.argument("remote_qkey"))]


def _host_imm(s: Scope) -> str:
    return number(swap_octets(s.argument("imm_data")))


# --------------------------------------------------------------------------- completions
def _poll_cq(s: Scope) -> Lines:
    return Lines("", refusable=False)


def _polled(s: Scope, lines: Lines | None) -> list[str]:
    cq, most = s.argument("cq"), s.argument("num_entries")
    if s.call.errno:
        if s.call.is_late:
            return []
        raise NotExportable("poll_cq is refused here")
    name, shown, found = s.var(cq), s.call.session.names.of(cq), s.call.value
    s.writer.completions += len(found)
    s.writer.needs.add("take")
    helper = "take"
    if name in s.writer.extended:
        s.writer.needs.add("take_ex")
        helper = "take_ex"
    begin = f'{helper}("{shown}", {name}, {1 if most is None else most}'
    if not found:
        return [f"{begin}, [])"]
    rows = [f"{TAB}{_expected(s, cq.node, cqe)}," for cqe in found]
    return [f"{begin}, [", *rows, "])"]


def _expected(s: Scope, node: str, cqe: Any) -> str:
    row = wc_row(s.world.nodes[node], s.call.session.names, cqe)
    values: dict[str, str] = {"wr_id": number(row.wr_id), "status": named(row.status)}
    thing = Thing(Noun.QP, node, cqe.qp_num)
    if cqe.qp_num in s.world.nodes[node].qps.items and thing in s.call.session.names.name_of:
        values["qp_num"] = f"{s.var(thing)}.qp_num"
    for name in ("opcode", "byte_len", "wc_flags"):
        if row.known(name, 1):
            values[name] = named(getattr(row, name))
    if row.known("imm_data", 1):
        s.writer.needs.add("socket")
        values["imm_data"] = _imm(row.imm_data)
    if row.known("src_qp", 1):
        values["src_qp"] = s.qpn(node, row.src_qp)
    return called("dict", **values)


def _start_poll(s: Scope) -> Lines:
    attr = called(s.use("cq", "PollCqAttr"))
    return Lines(f"{s.var(s.argument('cq'))}.start_poll({attr})", refusable=False)


def _next_poll(s: Scope) -> Lines:
    return Lines(f"{s.var(s.argument('cq'))}.poll_next()", refusable=False)


def _current(s: Scope, lines: Lines | None) -> list[str]:
    assert lines is not None
    s.writer.needs.add("expect")
    name, shown = s.var(s.argument("cq")), s.call.session.names.of(s.argument("cq"))
    begin = f'expect("{s.call.word} {shown}", {lines.called}, '
    if s.call.errno:
        return [f"{begin}{errno_of(s.call.errno)})"]
    current = s.call.value
    s.writer.completions += 1
    return [
        f"{begin}0)",
        f'expect("{shown} wr_id", {name}.wr_id, {number(current.wr_id)})',
        f'expect("{shown} status", {name}.status, {named(current.status)})',
    ]


def _end_poll(s: Scope) -> Lines:
    return Lines(f"{s.var(s.argument('cq'))}.end_poll()", refusable=False)


def _wc_read(s: Scope) -> Lines:
    field_ = {"completion_ts": "timestamp"}.get(s.argument("field"), s.argument("field"))
    return Lines(f"{s.var(s.argument('cq'))}.read_{field_}()", refusable=False)


def _field_read(s: Scope, lines: Lines | None) -> list[str]:
    assert lines is not None
    if s.call.errno:
        raise NotExportable(f"a field that create_cq_ex was not asked for: {s.argument('field')}")
    found = s.call.value
    if found.undefined or found.field in ("completion_ts", "completion_wallclock_ns", "vendor_err"):
        return [lines.called]
    value = number(found.value)
    if found.field == "qp_num":
        value = s.qpn(s.argument("cq").node, found.value)
    s.writer.needs.add("expect")
    return [f'expect("{found.field}", {lines.called}, {value})']


def _req_notify_cq(s: Scope) -> Lines:
    only = bool(s.argument("solicited_only"))
    return Lines(f"{s.var(s.argument('cq'))}.req_notify({only if only else ''})")


def _get_cq_event(s: Scope) -> Lines:
    return Lines("", refusable=False)


def _event_read(s: Scope, lines: Lines | None) -> list[str]:
    if s.call.errno:
        raise NotExportable("get_cq_event finds no event here, and pyverbs would wait for one")
    cq = s.var(s.call.value.cq)
    return [f"{s.var(s.argument('channel'))}.get_cq_event({cq})"]


def _ack_cq_events(s: Scope) -> Lines:
    count = s.argument("nevents")
    return Lines(f"{s.var(s.argument('cq'))}.ack_events({1 if count is None else count})")


def _get_async_event(s: Scope) -> Lines:
    node = variable(s.argument("node").node)
    return Lines(f"{node}_event = {node}.get_async_event()", refusable=False)


def _async_read(s: Scope, lines: Lines | None) -> list[str]:
    assert lines is not None
    if s.call.errno:
        raise NotExportable("get_async_event finds no event here, and pyverbs would wait for one")
    s.writer.needs.add("expect")
    node = variable(s.argument("node").node)
    kind = named(s.call.value.event)
    return [lines.called, f'expect("{node} event_type", {node}_event.event_type, {kind})']


def _ack_async_event(s: Scope) -> Lines:
    return Lines(f"{variable(s.argument('what').node)}_event.ack()", refusable=False)


# --------------------------------------------------------------------------- devices
def _device(text: str) -> Callable[[Scope], Lines]:
    def handler(s: Scope) -> Lines:
        port, index = s.argument("port_num"), s.argument("index")
        node = variable(s.argument("device").node)
        return Lines(f"{node}.{text.format(port=1 if port is None else port, index=index)}")

    return handler


# --------------------------------------------------------------------------- memory of the program
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


_HANDLERS: dict[str, Callable[[Scope], Lines | None]] = {
    "alloc_pd": _alloc_pd, "alloc_parent_domain": _alloc_parent_domain,
    "dealloc_pd": _closer("pd"), "reg_mr": _reg_mr, "reg_mr_iova": _reg_mr, "rereg_mr": _rereg_mr,
    "dereg_mr": _closer("mr"), "alloc_mw": _alloc_mw, "dealloc_mw": _closer("mw"),
    "bind_mw": _bind_mw, "create_comp_channel": _create_comp_channel,
    "destroy_comp_channel": _closer("channel"), "create_cq": _create_cq,
    "create_cq_ex": _create_cq_ex, "resize_cq": _resize_cq, "destroy_cq": _closer("cq"),
    "create_qp": _create_qp, "create_qp_ex": _create_qp_ex, "qp_to_qp_ex": _qp_to_qp_ex,
    "modify_qp": _modify_qp, "query_qp": _query_qp, "destroy_qp": _closer("qp"),
    "create_ah": _create_ah, "destroy_ah": _closer("ah"), "create_srq": _create_srq,
    "create_srq_ex": _create_srq_ex, "modify_srq": _modify_srq, "query_srq": _query_srq,
    "get_srq_num": _get_srq_num, "destroy_srq": _closer("srq"), "open_xrcd": _open_xrcd,
    "close_xrcd": _closer("xrcd"), "post_send": _post_send, "post_recv": _post_recv,
    "post_srq_recv": _post_srq_recv, "wr_start": _wr_start, "wr_set": _wr_set,
    "wr_complete": _builder(lambda _s, _n: []), "wr_abort": _builder(lambda _s, _n: []),
    "wr_send": _builder(lambda _s, _n: []),
    "wr_send_imm": _builder(lambda s, _n: [_host_imm(s)]),
    "wr_send_inv": _builder(lambda s, n: [s.rkey(n, s.argument("invalidate_rkey"))]),
    "wr_local_inv": _builder(lambda s, n: [s.rkey(n, s.argument("invalidate_rkey"))]),
    "wr_rdma_write": _builder(lambda s, n: _target(s, n, s.argument("target"))),
    "wr_rdma_write_imm": _builder(
        lambda s, n: [*_target(s, n, s.argument("target")), _host_imm(s)]
    ),
    "wr_rdma_read": _builder(lambda s, n: _target(s, n, s.argument("target"))),
    "wr_atomic_cmp_swp": _builder(lambda s, n: [
        *_target(s, n, s.argument("operands")), number(s.argument("operands").compare),
        number(s.argument("operands").swap),
    ]),
    "wr_atomic_fetch_add": _builder(lambda s, n: [
        *_target(s, n, s.argument("operands")), number(s.argument("operands").add),
    ]),
    "wr_send_tso": _builder(lambda s, n: [
        s.addr(n, s.argument("header").hdr_addr), str(s.argument("header").hdr_sz),
        str(s.argument("header").mss),
    ]),
    "wr_bind_mw": _builder(_bind_operands), "wr_set_sge": _builder(_data),
    "wr_set_sge_list": _builder(_data_list), "wr_set_inline_data": _builder(_inline),
    "wr_set_inline_data_list": _builder(_inline_list), "wr_set_ud_addr": _builder(_ud_addr),
    "wr_set_xrc_srqn": _builder(lambda s, n: [s.srqn(n, s.argument("remote_srqn"))]),
    "poll_cq": _poll_cq, "start_poll": _start_poll, "next_poll": _next_poll,
    "end_poll": _end_poll, "wc_read": _wc_read, "req_notify_cq": _req_notify_cq,
    "get_cq_event": _get_cq_event, "ack_cq_events": _ack_cq_events,
    "get_async_event": _get_async_event, "ack_async_event": _ack_async_event,
    "query_device": _device("query_device()"), "query_device_ex": _device("query_device_ex()"),
    "query_port": _device("query_port({port})"), "query_gid": _device("query_gid({port}, {index})"),
    "query_pkey": _device("query_pkey({port}, {index})"), "write": _write, "fill": _fill,
}  # fmt: skip
_FINISHERS: dict[str, Callable[[Scope, Lines | None], list[str]]] = {
    "reg_mr": _registered, "create_qp_ex": _qp_made, "query_qp": _queried, "poll_cq": _polled, "start_poll": _current,
    "next_poll": _current, "wc_read": _field_read, "get_cq_event": _event_read,
    "get_async_event": _async_read,
    **dict.fromkeys((word for word in _HANDLERS if word.startswith("wr_") and word != "wr_complete"), _lost),
}  # fmt: skip

"""Commands of the lab as calls of C: the structures that a verb takes, the call, and its check.

`export c` writes whole programs of them, `show c` one call.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from errno import EAGAIN
from typing import Any

from rdmalab.command import New, Noun, Region, Thing
from rdmalab.export.c_values import constant, errno_name, number, string_lines, variable
from rdmalab.export.named_things import Names
from rdmalab.export.replayed_calls import Call, NotExportable
from rdmalab.hca.attributes import AhAttr, QpAttr
from rdmalab.hca.objects import inc_rkey
from rdmalab.hca.wr import RecvWR, SendWR, WildPointer, swap_octets
from rdmalab.spec.builders import InitMask
from rdmalab.spec.states import ATTRIBUTES, Attr, QPType
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.views.completions import wc_row

_TYPES = {
    Noun.PD: "ibv_pd", Noun.MR: "ibv_mr", Noun.CQ: "ibv_cq", Noun.QP: "ibv_qp", Noun.AH: "ibv_ah",
    Noun.SRQ: "ibv_srq", Noun.XRCD: "ibv_xrcd", Noun.MW: "ibv_mw", Noun.CHANNEL: "ibv_comp_channel",
    Noun.TD: "ibv_td", Noun.FLOW: "ibv_flow",
}  # fmt: skip
_TO_COME = frozenset({"FLUSH", "ATOMIC_WRITE", "DRIVER1"})
"""Opcodes that <infiniband/verbs.h> of rdma-core 44 has not."""
_WIDTH_8 = frozenset({
    "port_num", "timeout", "retry_cnt", "rnr_retry", "min_rnr_timer", "max_rd_atomic",
    "max_dest_rd_atomic", "en_sqd_async_notify", "alt_port_num", "alt_timeout",
})  # fmt: skip
_WIDTH_16 = frozenset({"pkey_index", "alt_pkey_index"})
_IN_STATE = {"qp_state": "qp_state", "cur_qp_state": "cur_qp_state"}
TAB = "\t"


@dataclass(slots=True)
class Text:
    """A call in C. given: declarations before it, of its own block; called: the expression.

    made: the variable that gets what it returns; empty: an errno, or as `returns` says.
    finish: the lines after a call that worked; None: the usual check.
    """

    function: str
    called: str
    given: list[str] = field(default_factory=list)
    made: str = ""
    returns: str = "errno"  # errno, -1, nothing
    after: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Writer:
    """What calls of C have in common while a program is written.

    variables: type by name, in the order of their making. needs: helpers that the text uses.
    ranges: memory that the program maps. keys: the rkey that each window's variable holds.
    """

    variables: dict[str, str] = field(default_factory=dict)
    needs: set[str] = field(default_factory=set)
    ranges: list[tuple[int, int]] = field(default_factory=list)
    keys: dict[Thing, int] = field(default_factory=dict)
    completions: int = 0

    def begin(self, call: Call) -> "Text | None":
        """The call as it is before it is carried out; None: nothing is called."""
        handler = _HANDLERS.get(call.word)
        if handler is None:
            raise NotExportable(f"{call.word} is no verb of libibverbs", call.entry)
        try:
            return handler(Scope(call, self))
        except NotExportable as wrong:
            wrong.entry = call.entry
            raise

    def end(self, call: Call, text: "Text | None") -> list[str]:
        """Its lines, when its result is known."""
        try:
            finished = _FINISHERS.get(call.word, _checked)(Scope(call, self), text)
        except NotExportable as wrong:
            wrong.entry = call.entry
            raise
        return finished


@dataclass(slots=True)
class Scope(Names):
    """A call of C, and the names that things have in its text."""

    writer: Writer

    @property
    def keys(self) -> dict[Thing, int]:
        return self.writer.keys

    def declare(self, name: str, noun: Noun) -> None:
        self.writer.variables.setdefault(name, _TYPES[noun])

    def member(self, name: str, field_: str) -> str:
        return f"{name}->{field_}"

    def base(self, name: str) -> str:
        return f"(uintptr_t){name}->addr"

    def next_key(self, text: str) -> str:
        return f"ibv_inc_rkey({text})"

    def literal(self, value: int) -> str:
        return number(value)

    def srq_number(self, name: str) -> str:
        self.writer.needs.add("srq_number")
        return f"srq_number({name})"

    def gid_entry(self, node: str, index: int) -> str:
        self.writer.needs.add("gid_of")
        return f"gid_of({node}, {index})"

    def gid_bytes(self, value: int) -> str:
        octets = ", ".join(f"{octet:#04x}" for octet in value.to_bytes(16, "big"))
        return f"(union ibv_gid){{ .raw = {{ {octets} }} }}"


# --------------------------------------------------------------------------- the usual check
def _checked(scope: Scope, text: Text | None) -> list[str]:
    """The block of a call: declarations, call, check of what it returned."""
    if text is None:
        return []
    call, errno = scope.call, scope.call.errno
    if errno == EAGAIN and call.word.startswith("destroy"):
        raise NotExportable(
            f"{text.function} would wait for ever in C: events are not acknowledged"
        )
    if text.returns == "nothing" and errno:
        raise NotExportable(f"{call.word} is refused here: in C it is undefined")
    name = f'"{text.function}"'
    lines = list(text.before)
    if text.made:
        lines.append(f"{text.made} = {text.called};")
        if errno:
            lines.append(f"if ({text.made} || errno != {errno_name(errno)})")
        else:
            lines.append(f"if (!{text.made})")
        lines.append(f"{TAB}fail({name}, errno);")
    elif text.returns == "nothing":
        lines.append(f"{text.called};")
    elif text.returns == "-1":
        wrong = f" >= 0 || errno != {errno_name(errno)}" if errno else " < 0"
        lines += [f"if ({text.called}{wrong})", f"{TAB}fail({name}, errno);"]
    else:
        scope.writer.needs.add("ret")
        wrong = f"ret != {errno_name(errno)}" if errno else "ret"
        lines += [f"ret = {text.called};", f"if ({wrong})", f"{TAB}fail({name}, ret);"]
    if not errno:
        lines += text.after
    elif text.function in _POSTS and call.arguments.get("wr"):
        many = len(call.arguments["wr"]) > 1
        place = f"&wr[{call.bad_wr}]" if many else "&wr"
        lines += [f"if (bad_wr != {place})", f'{TAB}fail("bad_wr of {text.function}", ret);']
    return block(text.given, lines)


_POSTS = ("ibv_post_send", "ibv_post_recv", "ibv_post_srq_recv")


def block(given: list[str], lines: list[str]) -> list[str]:
    """Lines in braces if they declare something."""
    if not given:
        return lines
    return [
        "{",
        *(TAB + line for line in given),
        "",
        *(TAB + line if line else line for line in lines),
        "}",
    ]


def structure(kind: str, name: str, members: Iterable[str]) -> list[str]:
    """`struct KIND NAME = { MEMBERS };`: in one line if there are few."""
    listed = list(members)
    one = f"struct {kind} {name} = {{ {', '.join(listed)} }};"
    if len(one) <= 88 and "\n" not in one:
        return [one if listed else f"struct {kind} {name} = {{}};"]
    return [f"struct {kind} {name} = {{", *(f"{TAB}{member}," for member in listed), "};"]


# --------------------------------------------------------------------------- objects
def _alloc_pd(s: Scope) -> Text:
    new = s.argument("pd")
    return Text("ibv_alloc_pd", f"ibv_alloc_pd({variable(new.node)})", made=s.var(new))


def _alloc_td(s: Scope) -> Text:
    new = s.argument("td")
    given = ["struct ibv_td_init_attr init = {};"]
    return Text("ibv_alloc_td", f"ibv_alloc_td({variable(new.node)}, &init)", given, s.var(new))


def _alloc_parent_domain(s: Scope) -> Text:
    new = s.argument("parent")
    members = [f".pd = {s.var(s.argument('pd'))}", f".td = {s.var(s.argument('td'))}"]
    given = structure("ibv_parent_domain_init_attr", "init", members)
    called = f"ibv_alloc_parent_domain({variable(new.node)}, &init)"
    return Text("ibv_alloc_parent_domain", called, given, s.var(new))


def _destroyer(function: str, parameter: str) -> Callable[[Scope], Text]:
    def handler(s: Scope) -> Text:
        return Text(function, f"{function}({s.var(s.argument(parameter))})")

    return handler


_ADDR = "@addr"  # where it lies is known when it is registered


def _reg_mr(s: Scope) -> Text:
    new, access = s.argument("mr"), constant(s.argument("access"))
    length, hca_va = number(s.argument("length")), s.argument("hca_va")
    pd = s.var(s.argument("pd"))
    function = "ibv_reg_mr" if hca_va is None else "ibv_reg_mr_iova"
    where = "" if hca_va is None else f", {number(hca_va)}"
    called = f"{function}({pd}, (void *){_ADDR}, {length}{where}, {access})"
    return Text(function, called, made=s.var(new))


def _registered(s: Scope, text: Text | None) -> list[str]:
    assert text is not None
    addr, length = s.argument("addr"), int(s.argument("length"))
    thing = s.call.value
    if isinstance(thing, Thing):
        mr = s.world.nodes[thing.node].mrs.items[thing.number]
        addr = mr.addr
    if addr is None:
        addr = 0x7000_0000  # refused, so that the lab has mapped none
    if length > 1 << 28:
        raise NotExportable(
            f"the region has {length:,} bytes, a program of this kind 256 MiB at most"
        )
    if s.call.errno != 14 and length:  # EFAULT: nothing is mapped there
        s.writer.ranges.append((addr, length))
    text.called = text.called.replace(_ADDR, number(addr).replace("UINT64_C", ""))
    return _checked(s, text)


def _rereg_mr(s: Scope) -> Text:
    addr, length = s.argument("addr"), s.argument("length") or 0
    if addr is not None:
        if length and s.world.nodes[s.argument("mr").node].memory.is_mapped(addr, length):
            s.writer.ranges.append((addr, length))
    where = "NULL" if addr is None else f"(void *){number(addr)}"
    access = constant(s.argument("access") or 0)
    called = (
        f"ibv_rereg_mr({s.var(s.argument('mr'))}, {constant(s.argument('flags'))}, "
        f"{s.var(s.argument('pd'))}, {where}, {number(length)}, {access})"
    )
    return Text("ibv_rereg_mr", called)


def _reregistered(s: Scope, text: Text | None) -> list[str]:
    """ibv_rereg_mr returns a code of its own."""
    assert text is not None
    s.writer.needs.add("ret")
    wrong = "ret" if not s.call.errno else f"!ret || errno != {errno_name(s.call.errno)}"
    lines = [f"ret = {text.called};", f"if ({wrong})", f'{TAB}fail("ibv_rereg_mr", errno);']
    return block([], lines)


def _alloc_mw(s: Scope) -> Text:
    new = s.argument("mw")
    called = f"ibv_alloc_mw({s.var(s.argument('pd'))}, {_window_type(s.argument('type'))})"
    return Text("ibv_alloc_mw", called, made=s.var(new))


def _window_type(value: int) -> str:
    return constant(value) if value in (1, 2) else f"(enum ibv_mw_type){value}"


def _window_made(s: Scope, text: Text | None) -> list[str]:
    thing = s.call.value
    if isinstance(thing, Thing):
        s.writer.keys[thing] = s.world.nodes[thing.node].mws.items[thing.number].rkey
    return _checked(s, text)


def _bind_mw(s: Scope) -> Text:
    asked, qp, mw = s.argument("asked"), s.argument("qp"), s.argument("mw")
    given = structure("ibv_mw_bind", "bind", [
        f".wr_id = {number(asked.wr_id)}",
        f".send_flags = {constant(asked.flags)}",
        *(f".bind_info.{member}" for member in _bind_info(s, qp.node, asked)),
    ])  # fmt: skip
    return Text("ibv_bind_mw", f"ibv_bind_mw({s.var(qp)}, {s.var(mw)}, &bind)", given)


def _bind_info(s: Scope, node: str, asked: Any) -> list[str]:
    members = [f"mr = {s.numbered(Noun.MR, node, asked.bind_mr)}"]
    if asked.bind_length or asked.bind_addr:
        members.append(f"addr = {s.addr(node, asked.bind_addr)}")
        members.append(f"length = {number(asked.bind_length)}")
    if asked.bind_access:
        members.append(f"mw_access_flags = {constant(asked.bind_access)}")
    return members


def _bound(s: Scope, text: Text | None) -> list[str]:
    mw = s.argument("mw")
    if not s.call.errno:
        s.writer.keys[mw] = s.world.nodes[mw.node].mws.items[mw.number].rkey
    return _checked(s, text)


def _create_comp_channel(s: Scope) -> Text:
    new = s.argument("channel")
    name = s.var(new)
    after = [f"fcntl({name}->fd, F_SETFL, O_NONBLOCK); /* an empty channel says EAGAIN */"]
    called = f"ibv_create_comp_channel({variable(new.node)})"
    return Text("ibv_create_comp_channel", called, made=name, after=after)


def _create_cq(s: Scope) -> Text:
    new = s.argument("cq")
    context = (
        f"(void *){number(s.argument('cq_context') or 0)}" if s.argument("cq_context") else "NULL"
    )
    called = (
        f"ibv_create_cq({variable(new.node)}, {number(s.argument('cqe'))}, {context}, "
        f"{s.var(s.argument('channel'))}, {number(s.argument('comp_vector') or 0)})"
    )
    return Text("ibv_create_cq", called, made=s.var(new))


def _create_cq_ex(s: Scope) -> Text:
    new, flags = s.argument("cq"), s.argument("wc_flags")
    members = [f".cqe = {number(s.argument('cqe'))}"]
    if s.argument("channel"):
        members.append(f".channel = {s.var(s.argument('channel'))}")
    if s.argument("comp_vector"):
        members.append(f".comp_vector = {number(s.argument('comp_vector'))}")
    if s.argument("cq_context"):
        members.append(f".cq_context = (void *){number(s.argument('cq_context'))}")
    wanted = "IBV_WC_STANDARD_FLAGS" if flags is None else constant(flags)
    members.append(f".wc_flags = {wanted}")
    name = s.var(new)
    s.writer.variables[f"{name}_ex"] = "ibv_cq_ex"
    return Text(
        "ibv_create_cq_ex", f"ibv_create_cq_ex({variable(new.node)}, &attr)",
        structure("ibv_cq_init_attr_ex", "attr", members), f"{name}_ex",
        after=[f"{name} = ibv_cq_ex_to_cq({name}_ex);"],
    )  # fmt: skip


def _resize_cq(s: Scope) -> Text:
    called = f"ibv_resize_cq({s.var(s.argument('cq'))}, {number(s.argument('cqe'))})"
    return Text("ibv_resize_cq", called)


def _capacity(cap: Any, prefix: str = ".cap") -> list[str]:
    return [f"{prefix}.{each.name} = {number(getattr(cap, each.name))}" for each in fields(cap)]


def _init_attr(s: Scope, init: Any, *, takes_cap: bool = True) -> list[str]:
    members = [
        f".{name} = {s.var(thing)}"
        for name in ("send_cq", "recv_cq", "srq")
        if (thing := getattr(init, name)) is not None
    ]
    members += _capacity(init.cap) if takes_cap else []
    kind = constant(init.qp_type)
    members.append(f".qp_type = {kind if kind.startswith('IBV') else f'(enum ibv_qp_type){kind}'}")
    if init.sq_sig_all:
        members.append(".sq_sig_all = 1")
    return members


def _create_qp(s: Scope) -> Text:
    new, init, name = s.argument("qp"), s.argument("init_attr"), s.var(s.argument("qp"))
    if not init.xrcd and not init.max_tso_header and init.qp_type is not QPType.XRC_SEND:
        given = structure("ibv_qp_init_attr", "attr", _init_attr(s, init))
        called = f"ibv_create_qp({s.var(s.argument('pd'))}, &attr)"
        return Text("ibv_create_qp", called, given, name)
    return _extended(s, new, init, s.argument("pd"), None)


def _create_qp_ex(s: Scope) -> Text:
    new, init = s.argument("qp"), s.argument("init_attr")
    text = _extended(s, new, init, init.pd, init.mask())
    if init.send_ops_flags is not None:
        text.after = [f"{text.made}_ex = ibv_qp_to_qp_ex({text.made});"]
    return text


def _extended_made(s: Scope, text: Text | None) -> list[str]:
    assert text is not None
    if text.after and not s.call.errno:
        s.writer.variables[f"{text.made}_ex"] = "ibv_qp_ex"
    return _checked(s, text)


def _extended(s: Scope, new: New, init: Any, pd: Thing | None, mask: int | None) -> Text:
    members = _init_attr(s, init)
    bits = mask
    if bits is None:
        bits = (InitMask.PD if pd else 0) | (InitMask.XRCD if init.xrcd else 0)
        bits |= InitMask.MAX_TSO_HEADER if init.max_tso_header else 0
    members.append(f".comp_mask = {constant(InitMask(bits))}")
    if pd:
        members.append(f".pd = {s.var(pd)}")
    if init.xrcd:
        members.append(f".xrcd = {s.var(init.xrcd)}")
    if init.max_tso_header:
        members.append(f".max_tso_header = {number(init.max_tso_header)}")
    ops = getattr(init, "send_ops_flags", None)
    if ops is not None:
        members.append(f".send_ops_flags = {constant(ops)}")
    called = f"ibv_create_qp_ex({variable(new.node)}, &attr)"
    given = structure("ibv_qp_init_attr_ex", "attr", members)
    return Text("ibv_create_qp_ex", called, given, s.var(new))


def _qp_to_qp_ex(s: Scope) -> Text:
    name = s.var(s.argument("qp"))
    return Text("ibv_qp_to_qp_ex", f"ibv_qp_to_qp_ex({name})", made=f"{name}_ex")


def _face(s: Scope, text: Text | None) -> list[str]:
    """NULL for a queue pair without the extended face; libibverbs gives no errno of its own."""
    assert text is not None
    if s.call.errno:
        return [f"if ({text.called})", f'{TAB}fail("{text.function}", 0);']
    s.writer.variables[text.made] = "ibv_qp_ex"
    return _checked(s, text)


def _open_qp(s: Scope) -> Text:
    new, attr = s.argument("qp"), s.argument("attr")
    kinds = "IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE"
    given = structure("ibv_qp_open_attr", "attr", [
        f".comp_mask = {kinds}", f".qp_num = {s.qpn(new.node, attr.qp_num)}",
        f".xrcd = {s.var(attr.xrcd)}", f".qp_type = {constant(attr.qp_type)}",
    ])  # fmt: skip
    return Text("ibv_open_qp", f"ibv_open_qp({variable(new.node)}, &attr)", given, s.var(new))


# --------------------------------------------------------------------------- states
def address(s: Scope, attr: AhAttr, prefix: str) -> list[str]:
    """The members of an `ibv_ah_attr`, those that are 0 left out."""
    grh = {"dgid", "sgid_index", "hop_limit", "traffic_class", "flow_label"}
    members = []
    for each in fields(attr):
        value = getattr(attr, each.name)
        if not value:
            continue
        text = s.gid(value) if each.name == "dgid" else number(value)
        members.append(f"{prefix}.{'grh.' if each.name in grh else ''}{each.name} = {text}")
    return members


def _modify_qp(s: Scope) -> Text:
    qp, attr, mask = s.argument("qp"), s.argument("attr"), s.argument("attr_mask")
    members: list[str] = []
    bits = Attr(0)
    for name, value in attr.given().items():
        bits |= ATTRIBUTES[name].mask
        members += _attribute(s, qp.node, name, value)
    wanted = constant(bits if mask is None else Attr(mask))
    given = structure("ibv_qp_attr", "attr", members)
    return Text("ibv_modify_qp", f"ibv_modify_qp({s.var(qp)}, &attr, {wanted})", given)


def _attribute(s: Scope, node: str, name: str, value: Any) -> list[str]:
    if isinstance(value, AhAttr):
        return address(s, value, f".{name}")
    if name == "cap":
        return _capacity(value)
    if name == "dest_qp_num":
        return [f".{name} = {s.qpn(node, value)}"]
    width = 8 if name in _WIDTH_8 else 16 if name in _WIDTH_16 else 32
    if not 0 <= int(value) < 1 << width:
        raise NotExportable(f"{name}={int(value)} does not fit in the {width} bits of ibv_qp_attr")
    text = constant(value)
    if name in ("qp_state", "cur_qp_state", "path_mtu", "path_mig_state") and text.isdigit():
        kinds = {"path_mtu": "ibv_mtu", "path_mig_state": "ibv_mig_state"}
        text = f"(enum {kinds.get(name, 'ibv_qp_state')}){text}"
    return [f".{name} = {text}"]


def _query_qp(s: Scope) -> Text:
    mask = s.argument("attr_mask")
    wanted = (
        "IBV_QP_STATE" if s.call.is_late else constant(Attr(0x1FFFFF if mask is None else mask))
    )
    name = s.var(s.argument("qp"))
    given = ["struct ibv_qp_attr attr;", "struct ibv_qp_init_attr init;"]
    return Text("ibv_query_qp", f"ibv_query_qp({name}, &attr, {wanted}, &init)", given)


def _queried(s: Scope, text: Text | None) -> list[str]:
    assert text is not None
    if s.call.is_late and not s.call.errno:
        s.writer.needs.add("expect_state")
        name = s.var(s.argument("qp"))
        shown = s.call.session.names.of(s.argument("qp"))
        return [f'expect_state("{shown}", {name}, {constant(s.call.value.qp_state)});']
    if not s.call.errno and s.call.value.qp_state is not None:
        state = constant(s.call.value.qp_state)
        text.after = [f"if (attr.qp_state != {state})", f'{TAB}fail("qp_state", attr.qp_state);']
    return _checked(s, text)


def _create_ah(s: Scope) -> Text:
    new = s.argument("ah")
    members = [m.removeprefix(".attr") for m in address(s, s.argument("attr"), ".attr")]
    given = structure("ibv_ah_attr", "attr", members)
    called = f"ibv_create_ah({s.var(s.argument('pd'))}, &attr)"
    return Text("ibv_create_ah", called, given, s.var(new))


def _mcast(function: str) -> Callable[[Scope], Text]:
    def handler(s: Scope) -> Text:
        given = [f"union ibv_gid gid = {s.gid(s.argument('gid'))};"]
        called = f"{function}({s.var(s.argument('qp'))}, &gid, {number(s.argument('lid') or 0)})"
        return Text(function, called, given)

    return handler


# --------------------------------------------------------------------------- shared receive queues
def _srq_attr(attr: Any, prefix: str) -> list[str]:
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


# --------------------------------------------------------------------------- work requests
def _sges(s: Scope, node: str, sg: list[Any], name: str) -> tuple[list[str], str]:
    """The declaration of a list of pieces, and the members that name it."""
    if any(isinstance(each, WildPointer) for each in sg):
        raise NotExportable("sg_list is an invalid pointer: C would crash")
    if not sg:
        return [], ""
    pieces = [
        f"{{ .addr = {s.addr(node, each.addr)}, .length = {number(each.length)}, "
        f".lkey = {s.lkey(node, each.lkey)} }}"
        for each in sg
    ]
    if len(sg) == 1:
        return [f"struct ibv_sge {name} = {pieces[0]};"], f"&{name}"
    return [f"struct ibv_sge {name}[] = {{", *(f"{TAB}{piece}," for piece in pieces), "};"], name


def _listed(
    s: Scope, node: str, kind: str, wrs: list[Any], members: Callable[[Any], list[str]]
) -> list[str]:
    """The declarations of a list of work requests, linked by `next`."""
    for wr in wrs:
        _plain(wr)
    given, bodies = list[str](), list[list[str]]()
    for at, wr in enumerate(wrs):
        lines, name = _sges(s, node, wr.sg, "sg" if len(wrs) == 1 else f"sg{at}")
        given += lines
        own = [f".wr_id = {number(wr.wr_id)}"]
        if at + 1 < len(wrs) and wr.next is None:
            own.append(f".next = &wr[{at + 1}]")
        count = len(wr.sg) if wr.num_sge is None else wr.num_sge
        if name:
            own += [f".sg_list = {name}", f".num_sge = {count}"]
        bodies.append(own + members(wr))
    if len(wrs) == 1:
        given += structure(kind, "wr", bodies[0])
    else:
        given.append(f"struct {kind} wr[{len(wrs)}] = {{")
        for body in bodies:
            given += [f"{TAB}{{", *(f"{TAB}{TAB}{member}," for member in body), f"{TAB}}},"]
        given.append("};")
    return [*given, f"struct {kind} *bad_wr;"]


def _plain(wr: Any) -> None:
    """Refuse what C leaves undefined."""
    if wr.rest != "zero":
        raise NotExportable("a work request without memset has what malloc left: undefined in C")
    if wr.next:
        raise NotExportable("next is an invalid pointer: C would crash")
    if wr.num_sge is not None and wr.num_sge > len(wr.sg):
        raise NotExportable("num_sge is more than sg_list has: C would read beyond its end")


def _post_send(s: Scope) -> Text:
    return _posted(s, "qp", "ibv_post_send", "ibv_send_wr", lambda node, wr: _send(s, node, wr))


def _post_recv(s: Scope) -> Text:
    return _posted(s, "qp", "ibv_post_recv", "ibv_recv_wr", lambda _node, _wr: [])


def _post_srq_recv(s: Scope) -> Text:
    return _posted(s, "srq", "ibv_post_srq_recv", "ibv_recv_wr", lambda _node, _wr: [])


def _posted(
    s: Scope, parameter: str, function: str, kind: str, members: Callable[[str, Any], list[str]]
) -> Text:
    queue, wrs = s.argument(parameter), s.argument("wr")
    if queue is None or wrs is None or s.argument("bad_wr") not in (None, "&bad_wr"):
        raise NotExportable(f"{function} with NULL: C would crash")
    if not wrs:
        raise NotExportable(f"{function} without a work request: C would crash")
    node = queue.node
    given = _listed(s, node, kind, wrs, lambda wr: members(node, wr))
    called = f"{function}({s.var(queue)}, {'wr' if len(wrs) > 1 else '&wr'}, &bad_wr)"
    return Text(function, called, given)


def _imm(value: int) -> str:
    return f"htonl({number(swap_octets(value))})"


def _send(s: Scope, node: str, wr: SendWR) -> list[str]:
    opcode = wr.opcode
    if isinstance(opcode, WROpcode) and opcode.name in _TO_COME:
        raise NotExportable(f"verbs.h of rdma-core 44 has no opcode {opcode.name}")
    text = constant(opcode)
    members = [f".opcode = {text if text.startswith('IBV') else f'(enum ibv_wr_opcode){text}'}"]
    if wr.flags:
        members.append(f".send_flags = {constant(SendFlags(wr.flags))}")
    if wr.imm_data:
        members.append(f".imm_data = {_imm(wr.imm_data)}")
    if wr.invalidate_rkey:
        members.append(f".invalidate_rkey = {s.rkey(node, wr.invalidate_rkey)}")
    if wr.remote_srqn:
        members.append(f".qp_type.xrc.remote_srqn = {s.srqn(node, wr.remote_srqn)}")
    qp = s.argument("qp")
    pair = s.world.nodes[node].qps.items.get(qp.number)
    if pair is None:
        raise NotExportable("ibv_post_send on a queue pair that was destroyed: undefined in C")
    memory = s.world.nodes[node].memory
    is_inline = wr.flags & SendFlags.INLINE and wr.sg
    if is_inline and not all(memory.is_mapped(each.addr, each.length) for each in wr.sg):
        raise NotExportable("INLINE bytes at an address without memory: C would crash")
    addressed = TRANSPORTS[pair.qp_type].addressed
    atomic = opcode in (WROpcode.ATOMIC_CMP_AND_SWP, WROpcode.ATOMIC_FETCH_AND_ADD)
    union = "atomic" if atomic else "rdma"
    if atomic:
        operands = ("compare_add", "swap")
        members += [f".wr.atomic.{name} = {number(getattr(wr, name))}" for name in operands]
    has_target = bool(wr.remote_addr or wr.rkey)
    if has_target and addressed:
        raise NotExportable("wr.ud and wr.rdma are one union in C")
    if has_target:
        members.append(f".wr.{union}.remote_addr = {_remote(s, node, wr.remote_addr)}")
        members.append(f".wr.{union}.rkey = {s.rkey(node, wr.rkey)}")
    if wr.ah or wr.remote_qpn or wr.remote_qkey:
        if has_target:
            raise NotExportable("wr.ud and wr.rdma are one union in C")
        members.append(f".wr.ud.ah = {s.numbered(Noun.AH, node, wr.ah)}")
        members.append(f".wr.ud.remote_qpn = {s.qpn(node, wr.remote_qpn)}")
        members.append(f".wr.ud.remote_qkey = {number(wr.remote_qkey)}")
    if opcode == WROpcode.BIND_MW:
        members += _bind_members(s, node, wr)
    if opcode == WROpcode.TSO:
        members += [
            f".tso.hdr = (void *)({s.addr(node, wr.hdr_addr)})"
            if wr.hdr_addr
            else ".tso.hdr = NULL"
        ]
        members += [f".tso.hdr_sz = {wr.hdr_sz}", f".tso.mss = {wr.mss}"]
    return members


def _remote(s: Scope, node: str, value: int) -> str:
    other = next((name for name in s.world.nodes if name != node), node)
    return s.addr(other, value)


def _bind_members(s: Scope, node: str, wr: Any) -> list[str]:
    key = wr.mw_rkey
    if not wr.mw:
        raise NotExportable("BIND_MW without a window: C would read NULL")
    if key is None:
        window = s.world.nodes[node].mws.items.get(wr.mw)
        key = inc_rkey(window.rkey) if window else 0
    members = [f"mw = {s.numbered(Noun.MW, node, wr.mw)}", f"rkey = {s.rkey(node, key)}"]
    members += [f"bind_info.{member}" for member in _bind_info(s, node, wr)]
    return [f".bind_mw.{member}" for member in members]


# --------------------------------------------------------------------------- builders
def _ex(s: Scope) -> str:
    name = f"{s.var(s.argument('qp'))}_ex"
    if name not in s.writer.variables:
        raise NotExportable("the queue pair was not made by create_qp_ex with send_ops_flags")
    return name


def _wr_start(s: Scope) -> Text:
    if s.argument("thread") not in (None, 1):
        raise NotExportable("wr_start by another thread")
    return Text("ibv_wr_start", f"ibv_wr_start({_ex(s)})", returns="nothing")


def _next_fields(s: Scope, ex: str) -> list[str]:
    qpx = s.argument("qpx")
    if qpx is None:
        return []
    lines = [f"{ex}->wr_id = {number(qpx.wr_id)};"] if qpx.wr_id is not None else []
    if qpx.wr_flags is not None:
        lines.append(f"{ex}->wr_flags = {constant(SendFlags(qpx.wr_flags))};")
    return lines


def _wr_set(s: Scope) -> Text | None:
    lines = _next_fields(s, _ex(s))
    return Text("", lines[-1].rstrip(";"), before=lines[:-1], returns="nothing") if lines else None


def _builder(function: str, operands: Callable[[Scope, str], list[str]]) -> Callable[[Scope], Text]:
    def handler(s: Scope) -> Text:
        ex, node = _ex(s), s.argument("qp").node
        called = f"ibv_{function}({', '.join([ex, *operands(s, node)])})"
        return Text(f"ibv_{function}", called, before=_next_fields(s, ex), returns="nothing")

    return handler


def _target(s: Scope, node: str, target: Any) -> list[str]:
    return [s.rkey(node, target.rkey), _remote(s, node, target.remote_addr)]


def _bind_call(s: Scope) -> Text:
    ex, qp, info = _ex(s), s.argument("qp"), s.argument("info")
    members = _bind_members(s, qp.node, info)
    mw, rkey, *rest = (member.removeprefix(".bind_mw.") for member in members)
    given = structure("ibv_mw_bind_info", "info", [m.replace("bind_info", "", 1) for m in rest])
    called = f"ibv_wr_bind_mw({ex}, {mw.partition(' = ')[2]}, {rkey.partition(' = ')[2]}, &info)"
    return Text("ibv_wr_bind_mw", called, given, before=_next_fields(s, ex), returns="nothing")


def _wr_complete(s: Scope) -> Text:
    return Text("ibv_wr_complete", f"ibv_wr_complete({_ex(s)})")


def _wr_abort(s: Scope) -> Text:
    return Text("ibv_wr_abort", f"ibv_wr_abort({_ex(s)})", returns="nothing")


def _wr_set_sge(s: Scope) -> Text:
    sg, node = s.argument("sg"), s.argument("qp").node
    pieces = [s.lkey(node, sg.lkey), s.addr(node, sg.addr), number(sg.length)]
    called = f"ibv_wr_set_sge({', '.join([_ex(s), *pieces])})"
    return Text("ibv_wr_set_sge", called, returns="nothing")


def _wr_set_sge_list(s: Scope) -> Text:
    sg, most = s.argument("sg") or [], s.argument("num_sge")
    if most is not None and most > len(sg):
        raise NotExportable("num_sge is more than sg_list has: C would read beyond its end")
    given, name = _sges(s, s.argument("qp").node, sg, "sg")
    count = len(sg) if most is None else most
    called = f"ibv_wr_set_sge_list({_ex(s)}, {count}, {name or 'NULL'})"
    return Text("ibv_wr_set_sge_list", called, given, returns="nothing")


def _wr_set_inline_data(s: Scope) -> Text:
    buf, node = s.argument("buf"), s.argument("qp").node
    called = f"ibv_wr_set_inline_data({_ex(s)}, (void *)({s.addr(node, buf.addr)}), {buf.length})"
    return Text("ibv_wr_set_inline_data", called, returns="nothing")


def _wr_set_inline_data_list(s: Scope) -> Text:
    bufs, most, node = s.argument("buf") or [], s.argument("num_buf"), s.argument("qp").node
    if most is not None and most > len(bufs):
        raise NotExportable("num_buf is more than buf_list has: C would read beyond its end")
    given = ["struct ibv_data_buf buf[] = {"]
    given += [
        f"{TAB}{{ .addr = (void *)({s.addr(node, b.addr)}), .length = {b.length} }}," for b in bufs
    ]
    count = len(bufs) if most is None else most
    called = f"ibv_wr_set_inline_data_list({_ex(s)}, {count}, buf)"
    return Text("ibv_wr_set_inline_data_list", called, [*given, "};"], returns="nothing")


def _wr_set_ud_addr(s: Scope) -> Text:
    node = s.argument("qp").node
    ah = s.numbered(Noun.AH, node, s.argument("ah"))
    if ah == "NULL":
        raise NotExportable("ibv_wr_set_ud_addr with NULL: C would crash")
    called = (
        f"ibv_wr_set_ud_addr({_ex(s)}, {ah}, {s.qpn(node, s.argument('remote_qpn'))}, "
        f"{number(s.argument('remote_qkey'))})"
    )
    return Text("ibv_wr_set_ud_addr", called, returns="nothing")


def _wr_set_xrc_srqn(s: Scope) -> Text:
    srqn = s.srqn(s.argument("qp").node, s.argument("remote_srqn"))
    return Text("ibv_wr_set_xrc_srqn", f"ibv_wr_set_xrc_srqn({_ex(s)}, {srqn})", returns="nothing")


# --------------------------------------------------------------------------- completions
def _poll_cq(s: Scope) -> Text:
    cq, most = s.argument("cq"), s.argument("num_entries")
    most = 1 if most is None else most
    return Text("ibv_poll_cq", f"ibv_poll_cq({s.var(cq)}, {number(most)}, wc)", returns="-1")


def _polled(s: Scope, text: Text | None) -> list[str]:
    assert text is not None
    cq, most = s.argument("cq"), s.argument("num_entries")
    most = 1 if most is None else most
    if s.call.errno:
        given = [f"struct ibv_wc wc[{max(1, most)}];"]
        text.called += " >= 0"
        return block(given, [f"if ({text.called})", f'{TAB}fail("ibv_poll_cq", 0);'])
    found = s.call.value
    s.writer.completions += len(found)
    s.writer.needs.add("take")
    name, shown = s.var(cq), s.call.session.names.of(cq)
    if not found:
        return [f'take("{shown}", {name}, {most}, 0, NULL);']
    lines = [f'take("{shown}", {name}, {most}, {len(found)}, (struct expected[]){{']
    lines += [f"{TAB}{{ {', '.join(_expected(s, cq.node, cqe))} }}," for cqe in found]
    return [*lines, "});"]


def _expected(s: Scope, node: str, cqe: Any) -> Iterator[str]:
    """What a completion must have: only members that have a meaning in it."""
    row = wc_row(s.world.nodes[node], s.call.session.names, cqe)
    thing = Thing(Noun.QP, node, cqe.qp_num)
    yield f".wr_id = {number(row.wr_id)}"
    yield f".status = {constant(row.status)}"
    if cqe.qp_num in s.world.nodes[node].qps.items and thing in s.call.session.names.name_of:
        yield f".qp = {s.var(thing)}"
    if row.known("opcode", 1):
        yield f".has = OPCODE{_has(row)}"
        yield f".opcode = {constant(row.opcode)}"
        if row.known("byte_len", 1):
            yield f".byte_len = {number(row.byte_len)}"
        if row.known("imm_data", 1):
            yield f".imm_data = {_imm(row.imm_data)}"
        if row.known("src_qp", 1):
            yield f".src_qp = {s.qpn(node, row.src_qp)}"
        if row.wc_flags:
            yield f".wc_flags = {constant(row.wc_flags)}"


def _has(row: Any) -> str:
    parts = {"byte_len": "BYTE_LEN", "imm_data": "IMM_DATA", "src_qp": "SRC_QP"}
    return "".join(f" | {flag}" for name, flag in parts.items() if row.known(name, 1))


def _start_poll(s: Scope) -> Text:
    given = ["struct ibv_poll_cq_attr attr = {};"]
    return Text("ibv_start_poll", f"ibv_start_poll({s.var(s.argument('cq'))}_ex, &attr)", given)


def _next_poll(s: Scope) -> Text:
    return Text("ibv_next_poll", f"ibv_next_poll({s.var(s.argument('cq'))}_ex)")


def _current(s: Scope, text: Text | None) -> list[str]:
    """start_poll and next_poll: wr_id and status stand in the queue's structure."""
    assert text is not None
    if not s.call.errno:
        name, current = f"{s.var(s.argument('cq'))}_ex", s.call.value
        s.writer.completions += 1
        text.after = [
            f"if ({name}->wr_id != {number(current.wr_id)} || {name}->status != {constant(current.status)})",
            f'{TAB}fail("{text.function}", {name}->status);',
        ]
    return _checked(s, text)


def _end_poll(s: Scope) -> Text:
    return Text("ibv_end_poll", f"ibv_end_poll({s.var(s.argument('cq'))}_ex)", returns="nothing")


def _wc_read(s: Scope) -> Text:
    field_, name = s.argument("field"), s.var(s.argument("cq"))
    return Text(f"ibv_wc_read_{field_}", f"ibv_wc_read_{field_}({name}_ex)", returns="nothing")


def _field_read(s: Scope, text: Text | None) -> list[str]:
    assert text is not None
    if s.call.errno:
        raise NotExportable(f"{text.function} of a field that create_cq_ex was not asked for")
    found = s.call.value
    called = text.called
    if found.undefined or found.field in ("completion_ts", "completion_wallclock_ns", "vendor_err"):
        return [f"(void){called};"]
    value = number(found.value)
    if found.field == "imm_data":
        value = _imm(found.value)
    elif found.field == "qp_num":
        value = s.qpn(s.argument("cq").node, found.value)
    return [f"if ({called} != {value})", f'{TAB}fail("{text.function}", {called});']


def _req_notify_cq(s: Scope) -> Text:
    only = int(bool(s.argument("solicited_only")))
    return Text("ibv_req_notify_cq", f"ibv_req_notify_cq({s.var(s.argument('cq'))}, {only})")


def _get_cq_event(s: Scope) -> Text:
    channel = s.var(s.argument("channel"))
    given = ["struct ibv_cq *cq;", "void *context;"]
    called = f"ibv_get_cq_event({channel}, &cq, &context)"
    return Text("ibv_get_cq_event", called, given, returns="-1")


def _event_read(s: Scope, text: Text | None) -> list[str]:
    assert text is not None
    if not s.call.errno:
        cq = s.var(s.call.value.cq)
        s.writer.needs.add("await")
        text.before = [f"await({s.var(s.argument('channel'))}->fd);"]
        text.after = [f"if (cq != {cq})", f'{TAB}fail("the queue of ibv_get_cq_event", 0);']
    return _checked(s, text)


def _ack_cq_events(s: Scope) -> Text:
    count = s.argument("nevents")
    called = f"ibv_ack_cq_events({s.var(s.argument('cq'))}, {1 if count is None else count})"
    return Text("ibv_ack_cq_events", called, returns="nothing")


def _get_async_event(s: Scope) -> Text:
    node = variable(s.argument("node").node)
    name = f"{node}_event"
    s.writer.variables[name] = "*ibv_async_event"
    return Text("ibv_get_async_event", f"ibv_get_async_event({node}, &{name})", returns="-1")


def _async_read(s: Scope, text: Text | None) -> list[str]:
    assert text is not None
    node = variable(s.argument("node").node)
    s.writer.needs.add("async")
    if not s.call.errno:
        s.writer.needs.add("await")
        text.before = [f"await({node}->async_fd);"]
        kind = constant(s.call.value.event)
        text.after = [
            f"if ({node}_event.event_type != {kind})",
            f'{TAB}fail("event_type", {node}_event.event_type);',
        ]
    return _checked(s, text)


def _ack_async_event(s: Scope) -> Text:
    name = f"{variable(s.argument('what').node)}_event"
    if name not in s.writer.variables:
        raise NotExportable("ack_async_event of an event that get_async_event has not read")
    return Text("ibv_ack_async_event", f"ibv_ack_async_event(&{name})", returns="nothing")


# --------------------------------------------------------------------------- devices
def _query_device(s: Scope) -> Text:
    node = variable(s.argument("device").node)
    return Text(
        "ibv_query_device", f"ibv_query_device({node}, &attr)", ["struct ibv_device_attr attr;"]
    )


def _query_device_ex(s: Scope) -> Text:
    node = variable(s.argument("device").node)
    given = ["struct ibv_device_attr_ex attr;"]
    return Text("ibv_query_device_ex", f"ibv_query_device_ex({node}, NULL, &attr)", given)


def _query_port(s: Scope) -> Text:
    node, port = variable(s.argument("device").node), s.argument("port_num")
    given = ["struct ibv_port_attr attr;"]
    return Text(
        "ibv_query_port", f"ibv_query_port({node}, {1 if port is None else port}, &attr)", given
    )


def _query_gid(s: Scope) -> Text:
    node, port = variable(s.argument("device").node), s.argument("port_num")
    called = f"ibv_query_gid({node}, {1 if port is None else port}, {s.argument('index')}, &gid)"
    return Text("ibv_query_gid", called, ["union ibv_gid gid;"], returns="-1")


def _query_pkey(s: Scope) -> Text:
    node, port = variable(s.argument("device").node), s.argument("port_num")
    called = f"ibv_query_pkey({node}, {1 if port is None else port}, {s.argument('index')}, &pkey)"
    return Text("ibv_query_pkey", called, ["__be16 pkey;"], returns="-1")


# --------------------------------------------------------------------------- flows
_ETH = "ibv_flow_spec_eth"


def _create_flow(s: Scope) -> Text:
    new, attr, spec = s.argument("flow"), s.argument("attr"), s.argument("spec")
    given = spec.given() if spec is not None else {}
    if set(given) - {"dst_mac", "src_mac", "ether_type"}:
        raise NotExportable("create_flow with fields of IP, TCP or UDP")
    members = [f".attr.type = {constant(attr.type)}"] if attr and attr.type else []
    members.append(f".attr.size = sizeof(rule){'' if given else ' - sizeof(rule.eth)'}")
    members += [f".attr.priority = {attr.priority}"] if attr and attr.priority else []
    members.append(f".attr.num_of_specs = {int(bool(given))}")
    members.append(f".attr.port = {attr.port if attr else 1}")
    if attr and attr.flags:
        members.append(f".attr.flags = {constant(attr.flags)}")
    if given:
        members += [".eth.type = IBV_FLOW_SPEC_ETH", f".eth.size = sizeof(struct {_ETH})"]
    for name, value in given.items():
        if name == "ether_type":
            members.append(f".eth.val.ether_type = htons({value:#x})")
            members.append(".eth.mask.ether_type = 0xffff")
            continue
        octets = ", ".join(f"{octet:#04x}" for octet in value.to_bytes(6, "big"))
        members.append(f".eth.val.{name} = {{ {octets} }}")
        members.append(f".eth.mask.{name} = {{ 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }}")
    s.writer.needs.add("flow")
    lines = structure("flow_rule", "rule", members)
    called = f"ibv_create_flow({s.var(s.argument('qp'))}, &rule.attr)"
    return Text("ibv_create_flow", called, lines, s.var(new))


# --------------------------------------------------------------------------- memory of the program
def _at(s: Scope, region: Region) -> tuple[str, int, int]:
    """Where the bytes of a region are, as `char *`; its start, and its stop."""
    mr = s.world.nodes[region.thing.node].mrs.items.get(region.thing.number)
    if mr is None:
        raise NotExportable("memory of a region that is no more")
    start = region.start or 0
    stop = mr.length if region.stop is None else region.stop
    name = s.var(region.thing)
    base = f"(char *){name}->addr"
    return (f"{base} + {start}" if start else base), start, stop


def _write(s: Scope) -> Text | None:
    where, _, _ = _at(s, s.argument("where"))
    return _copied(where, s.argument("text").encode("latin-1", "replace"))


def _copied(where: str, octets: bytes) -> Text | None:
    if not octets:
        return None
    literals = string_lines(octets)
    if len(literals) == 1:
        return Text("", f"memcpy({where}, {literals[0]}, {len(octets)})", returns="nothing")
    given = [
        "static const char octets[] =",
        *(TAB + each for each in literals[:-1]),
        f"{TAB}{literals[-1]};",
    ]
    return Text("", f"memcpy({where}, octets, {len(octets)})", given, returns="nothing")


def _fill(s: Scope) -> Text | None:
    where, start, stop = _at(s, s.argument("where"))
    byte = s.argument("byte") or 0
    if stop <= start:
        return None
    return Text("", f"memset({where}, {byte:#04x}, {stop - start})", returns="nothing")


def _poke(s: Scope) -> Text | None:
    return _copied(
        f"(void *){s.argument('addr'):#x}", s.argument("text").encode("latin-1", "replace")
    )


def _map_memory(s: Scope) -> None:
    s.writer.ranges.append((s.argument("addr"), s.argument("length")))


_HANDLERS: dict[str, Callable[[Scope], Text | None]] = {
    "alloc_pd": _alloc_pd, "alloc_td": _alloc_td, "alloc_parent_domain": _alloc_parent_domain,
    "dealloc_pd": _destroyer("ibv_dealloc_pd", "pd"), "dealloc_td": _destroyer("ibv_dealloc_td", "td"),
    "reg_mr": _reg_mr, "reg_mr_iova": _reg_mr, "rereg_mr": _rereg_mr,
    "dereg_mr": _destroyer("ibv_dereg_mr", "mr"), "alloc_mw": _alloc_mw,
    "dealloc_mw": _destroyer("ibv_dealloc_mw", "mw"), "bind_mw": _bind_mw,
    "create_comp_channel": _create_comp_channel,
    "destroy_comp_channel": _destroyer("ibv_destroy_comp_channel", "channel"),
    "create_cq": _create_cq, "create_cq_ex": _create_cq_ex, "resize_cq": _resize_cq,
    "destroy_cq": _destroyer("ibv_destroy_cq", "cq"),
    "create_qp": _create_qp, "create_qp_ex": _create_qp_ex, "qp_to_qp_ex": _qp_to_qp_ex,
    "open_qp": _open_qp, "modify_qp": _modify_qp, "query_qp": _query_qp,
    "destroy_qp": _destroyer("ibv_destroy_qp", "qp"), "create_ah": _create_ah,
    "destroy_ah": _destroyer("ibv_destroy_ah", "ah"), "attach_mcast": _mcast("ibv_attach_mcast"),
    "detach_mcast": _mcast("ibv_detach_mcast"), "create_srq": _create_srq,
    "create_srq_ex": _create_srq_ex, "modify_srq": _modify_srq, "query_srq": _query_srq,
    "get_srq_num": _get_srq_num, "destroy_srq": _destroyer("ibv_destroy_srq", "srq"),
    "open_xrcd": _open_xrcd, "close_xrcd": _destroyer("ibv_close_xrcd", "xrcd"),
    "create_flow": _create_flow, "destroy_flow": _destroyer("ibv_destroy_flow", "flow"),
    "post_send": _post_send, "post_recv": _post_recv, "post_srq_recv": _post_srq_recv,
    "wr_start": _wr_start, "wr_set": _wr_set, "wr_complete": _wr_complete, "wr_abort": _wr_abort,
    "wr_send": _builder("wr_send", lambda _s, _n: []),
    "wr_send_imm": _builder("wr_send_imm", lambda s, _n: [_imm(s.argument("imm_data"))]),
    "wr_send_inv": _builder("wr_send_inv", lambda s, n: [s.rkey(n, s.argument("invalidate_rkey"))]),
    "wr_local_inv": _builder("wr_local_inv", lambda s, n: [s.rkey(n, s.argument("invalidate_rkey"))]),
    "wr_rdma_write": _builder("wr_rdma_write", lambda s, n: _target(s, n, s.argument("target"))),
    "wr_rdma_write_imm": _builder("wr_rdma_write_imm", lambda s, n: [
        *_target(s, n, s.argument("target")), _imm(s.argument("imm_data")),
    ]),
    "wr_rdma_read": _builder("wr_rdma_read", lambda s, n: _target(s, n, s.argument("target"))),
    "wr_atomic_cmp_swp": _builder("wr_atomic_cmp_swp", lambda s, n: [
        *_target(s, n, s.argument("operands")), number(s.argument("operands").compare),
        number(s.argument("operands").swap),
    ]),
    "wr_atomic_fetch_add": _builder("wr_atomic_fetch_add", lambda s, n: [
        *_target(s, n, s.argument("operands")), number(s.argument("operands").add),
    ]),
    "wr_send_tso": _builder("wr_send_tso", lambda s, n: [
        f"(void *)({s.addr(n, s.argument('header').hdr_addr)})", str(s.argument("header").hdr_sz),
        str(s.argument("header").mss),
    ]),
    "wr_bind_mw": _bind_call,
    "wr_set_sge": _wr_set_sge, "wr_set_sge_list": _wr_set_sge_list,
    "wr_set_inline_data": _wr_set_inline_data,
    "wr_set_inline_data_list": _wr_set_inline_data_list,
    "wr_set_ud_addr": _wr_set_ud_addr, "wr_set_xrc_srqn": _wr_set_xrc_srqn,
    "poll_cq": _poll_cq, "start_poll": _start_poll, "next_poll": _next_poll,
    "end_poll": _end_poll, "wc_read": _wc_read, "req_notify_cq": _req_notify_cq,
    "get_cq_event": _get_cq_event, "ack_cq_events": _ack_cq_events,
    "get_async_event": _get_async_event, "ack_async_event": _ack_async_event,
    "query_device": _query_device, "query_device_ex": _query_device_ex, "query_port": _query_port,
    "query_gid": _query_gid, "query_pkey": _query_pkey,
    "write": _write, "fill": _fill, "poke": _poke, "map_memory": _map_memory,
}  # fmt: skip
_FINISHERS: dict[str, Callable[[Scope, Text | None], list[str]]] = {
    "reg_mr": _registered, "reg_mr_iova": _registered, "rereg_mr": _reregistered,
    "create_qp_ex": _extended_made, "qp_to_qp_ex": _face, "alloc_mw": _window_made, "bind_mw": _bound, "query_qp": _queried, "poll_cq": _polled,
    "start_poll": _current, "next_poll": _current, "wc_read": _field_read,
    "get_cq_event": _event_read, "get_async_event": _async_read,
}  # fmt: skip
__all__ = ["RecvWR", "QpAttr", "Text", "Writer", "block", "structure"]

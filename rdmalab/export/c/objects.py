"""Calls of C that make, change and destroy objects."""

from collections.abc import Mapping
from dataclasses import fields

from rdmalab.command import New, Noun, Thing
from rdmalab.export.c.text import TAB, Scope, Text, checked, plain, structure
from rdmalab.export.replay import structs
from rdmalab.export.replay.calls import Bound, NotExportable
from rdmalab.export.replay.names import constant, number, variable
from rdmalab.export.replay.program import Verb
from rdmalab.hca.attributes import AhAttr
from rdmalab.spec.rules import errno_name
from rdmalab.spec.states import Attr
from rdmalab.world.relations import DESTROYERS


def _alloc_parent_domain(s: Scope) -> Text:
    new = s.argument("parent")
    members = [f".{name} = {s.var(s.argument(name))}" for name in ("pd", "td")]
    given = structure("ibv_parent_domain_init_attr", "init", members)
    return Text(f"ibv_alloc_parent_domain({variable(new.node)}, &init)", given, s.var(new))


_ADDR = "@addr"  # where it lies is known when it is registered


def _reg_mr(s: Scope) -> Text:
    new, hca_va = s.argument("mr"), s.argument("hca_va")
    function = "ibv_reg_mr" if hca_va is None else "ibv_reg_mr_iova"
    where = "" if hca_va is None else f", {number(hca_va)}"
    length, access = number(s.argument("length")), constant(s.argument("access"))
    given = f"{s.var(s.argument('pd'))}, (void *){_ADDR}, {length}{where}, {access}"
    return Text(f"{function}({given})", made=s.var(new))


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
    return checked(s, text)


def _rereg_mr(s: Scope) -> Text:
    addr, length = s.argument("addr"), s.argument("length") or 0
    memory = s.world.nodes[s.argument("mr").node].memory
    if addr is not None and length and memory.is_mapped(addr, length):
        s.writer.ranges.append((addr, length))
    where = "NULL" if addr is None else f"(void *){number(addr)}"
    values = [
        s.var(s.argument("mr")), constant(s.argument("flags")), s.var(s.argument("pd")),
        where, number(length), constant(s.argument("access") or 0),
    ]  # fmt: skip
    return Text(f"ibv_rereg_mr({', '.join(values)})")


def _reregistered(s: Scope, text: Text | None) -> list[str]:
    """ibv_rereg_mr returns a code of its own."""
    assert text is not None
    wrong = "ret" if not s.call.errno else f"!ret || errno != {errno_name(s.call.errno)}"
    return [f"ret = {text.called};", f"if ({wrong})", f'{TAB}fail("ibv_rereg_mr", errno);']


def _alloc_mw(s: Scope) -> Text:
    kind = s.argument("type")
    named = constant(kind) if kind in (1, 2) else f"(enum ibv_mw_type){kind}"
    new, pd = s.argument("mw"), s.var(s.argument("pd"))
    return Text(f"ibv_alloc_mw({pd}, {named})", made=s.var(new))


def _window_keyed(s: Scope, text: Text | None) -> list[str]:
    """A window has a key from now on, which its variable holds."""
    if not s.call.errno:
        given = s.argument("mw")
        mw = given if isinstance(given, Thing) else s.call.value  # a name, of alloc_mw
        s.writer.keys[mw] = s.world.nodes[mw.node].mws.items[mw.number].rkey
    return checked(s, text)


def _bind_mw(s: Scope) -> Text:
    asked, qp, mw = s.argument("asked"), s.argument("qp"), s.argument("mw")
    given = structure("ibv_mw_bind", "bind", [
        f".wr_id = {number(asked.wr_id)}",
        f".send_flags = {constant(asked.flags)}",
        *(f".bind_info.{member}" for member in bind_info(s, qp.node, asked)),
    ])  # fmt: skip
    return Text(f"ibv_bind_mw({s.var(qp)}, {s.var(mw)}, &bind)", given)


def bind_info(s: Scope, node: str, asked: Bound) -> list[str]:
    """The members of an `ibv_mw_bind_info`."""
    members = [f"mr = {s.numbered(Noun.MR, node, asked.bind_mr)}"]
    if asked.bind_length or asked.bind_addr:
        members.append(f"addr = {s.addr(node, asked.bind_addr)}")
        members.append(f"length = {number(asked.bind_length)}")
    if asked.bind_access:
        members.append(f"mw_access_flags = {constant(asked.bind_access)}")
    return members


def _create_comp_channel(s: Scope) -> Text:
    new = s.argument("channel")
    name = s.var(new)
    after = [f"fcntl({name}->fd, F_SETFL, O_NONBLOCK); /* an empty channel says EAGAIN */"]
    return Text(f"ibv_create_comp_channel({variable(new.node)})", made=name, after=after)


def _create_cq(s: Scope) -> Text:
    new, context = s.argument("cq"), s.argument("cq_context")
    values = [
        variable(new.node), number(s.argument("cqe")),
        f"(void *){number(context)}" if context else "NULL",
        s.var(s.argument("channel")), number(s.argument("comp_vector") or 0),
    ]  # fmt: skip
    return Text(f"ibv_create_cq({', '.join(values)})", made=s.var(new))


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
        f"ibv_create_cq_ex({variable(new.node)}, &attr)",
        structure("ibv_cq_init_attr_ex", "attr", members), f"{name}_ex",
        after=[f"{name} = ibv_cq_ex_to_cq({name}_ex);"],
    )  # fmt: skip


def _members(given: Mapping[str, str]) -> list[str]:
    return [f".{name} = {value}" for name, value in given.items()]


def capacity(cap: Bound) -> list[str]:
    """The members of an `ibv_qp_cap`."""
    return [f".cap.{each.name} = {number(getattr(cap, each.name))}" for each in fields(cap)]


def _init_attr(s: Scope, init: Bound) -> list[str]:
    members = [
        f".{name} = {s.var(thing)}"
        for name in ("send_cq", "recv_cq", "srq")
        if (thing := getattr(init, name)) is not None
    ]
    members += capacity(init.cap)
    kind = constant(init.qp_type)
    members.append(f".qp_type = {kind if kind.startswith('IBV') else f'(enum ibv_qp_type){kind}'}")
    return [*members, ".sq_sig_all = 1"] if init.sq_sig_all else members


def _create_qp(s: Scope) -> Text:
    new, init, pd = s.argument("qp"), s.argument("init_attr"), s.argument("pd")
    mask = structs.needed_extension(init, pd)
    if mask is not None:
        return _extended(s, new, init, pd, mask)
    given = structure("ibv_qp_init_attr", "attr", _init_attr(s, init))
    return Text(f"ibv_create_qp({s.var(pd)}, &attr)", given, s.var(new))


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
    return checked(s, text)


def _extended(s: Scope, new: New, init: Bound, pd: Thing | None, mask: int) -> Text:
    more = structs.extended_members(s, init, pd, mask, constant)
    members = [*_init_attr(s, init), *_members(more)]
    given = structure("ibv_qp_init_attr_ex", "attr", members)
    return Text(f"ibv_create_qp_ex({variable(new.node)}, &attr)", given, s.var(new))


def _qp_to_qp_ex(s: Scope) -> Text:
    name = s.var(s.argument("qp"))
    return Text(f"ibv_qp_to_qp_ex({name})", made=f"{name}_ex")


def _face(s: Scope, text: Text | None) -> list[str]:
    """NULL for a queue pair without the extended face; libibverbs gives no errno of its own."""
    assert text is not None
    if s.call.errno:
        return [f"if ({text.called})", f'{TAB}fail("{text.function}", 0);']
    s.writer.variables[text.made] = "ibv_qp_ex"
    return checked(s, text)


def _open_qp(s: Scope) -> Text:
    new, attr = s.argument("qp"), s.argument("attr")
    kinds = "IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE"
    given = structure("ibv_qp_open_attr", "attr", [
        f".comp_mask = {kinds}", f".qp_num = {s.qpn(new.node, attr.qp_num)}",
        f".xrcd = {s.var(attr.xrcd)}", f".qp_type = {constant(attr.qp_type)}",
    ])  # fmt: skip
    return Text(f"ibv_open_qp({variable(new.node)}, &attr)", given, s.var(new))


def address(s: Scope, attr: AhAttr, prefix: str = "") -> list[str]:
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
    qp, (asked, mask) = s.argument("qp"), structs.asked_attributes(s)
    members = [each for item in asked.items() for each in _attribute(s, qp.node, *item)]
    given = structure("ibv_qp_attr", "attr", members)
    return Text(f"ibv_modify_qp({s.var(qp)}, &attr, {constant(mask)})", given)


def _attribute(s: Scope, node: str, name: str, value: Bound) -> list[str]:
    if isinstance(value, AhAttr):
        return address(s, value, f".{name}")
    if name == "cap":
        return capacity(value)
    text = structs.attribute(s, node, name, value, constant)
    if name in ("qp_state", "cur_qp_state", "path_mtu", "path_mig_state") and text.isdigit():
        kinds = {"path_mtu": "ibv_mtu", "path_mig_state": "ibv_mig_state"}
        text = f"(enum {kinds.get(name, 'ibv_qp_state')}){text}"
    return [f".{name} = {text}"]


def _query_qp(s: Scope) -> Text:
    mask = s.argument("attr_mask")
    asked = Attr.STATE if s.call.is_late else Attr(0x1FFFFF if mask is None else mask)
    given = ["struct ibv_qp_attr attr;", "struct ibv_qp_init_attr init;"]
    name = s.var(s.argument("qp"))
    return Text(f"ibv_query_qp({name}, &attr, {constant(asked)}, &init)", given)


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
    return checked(s, text)


def _create_ah(s: Scope) -> Text:
    given = structure("ibv_ah_attr", "attr", address(s, s.argument("attr")))
    pd, new = s.var(s.argument("pd")), s.argument("ah")
    return Text(f"ibv_create_ah({pd}, &attr)", given, s.var(new))


def _mcast(s: Scope) -> Text:
    given = [f"union ibv_gid gid = {s.gid(s.argument('gid'))};"]
    values = f"{s.var(s.argument('qp'))}, &gid, {number(s.argument('lid') or 0)}"
    return Text(f"ibv_{s.call.word}({values})", given)


def _srq_attr(attr: Bound) -> list[str]:
    return [
        f".attr.{name} = {number(size)}" for name, size in structs.srq_sizes(attr).items() if size
    ]


def _create_srq(s: Scope) -> Text:
    given = structure("ibv_srq_init_attr", "init", _srq_attr(s.argument("attr")))
    pd, new = s.var(s.argument("pd")), s.argument("srq")
    return Text(f"ibv_create_srq({pd}, &init)", given, s.var(new))


def _create_srq_ex(s: Scope) -> Text:
    new, init = s.argument("srq"), s.argument("init_attr")
    more = structs.srq_members(s, init, constant)
    members = [*_srq_attr(init.attr), f".comp_mask = {structs.srq_bits(more)}", *_members(more)]
    given = structure("ibv_srq_init_attr_ex", "init", members)
    return Text(f"ibv_create_srq_ex({variable(new.node)}, &init)", given, s.var(new))


def _modify_srq(s: Scope) -> Text:
    given, mask = structs.srq_changes(s, constant)
    attr = structure("ibv_srq_attr", "attr", _members(given))
    return Text(f"ibv_modify_srq({s.var(s.argument('srq'))}, &attr, {mask})", attr)


def _open_xrcd(s: Scope) -> Text:
    structs.judge_descriptor(s)
    new, flags = s.argument("xrcd"), s.argument("oflag")
    members = [
        ".comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS", ".fd = -1",
        f".oflags = {constant(flags) if flags else '0'}",
    ]  # fmt: skip
    given = structure("ibv_xrcd_init_attr", "init", members)
    return Text(f"ibv_open_xrcd({variable(new.node)}, &init)", given, s.var(new))


VERBS: dict[str, Verb[Scope, Text]] = {
    **{verb: plain(f"ibv_{verb}({{{noun}}})") for noun, verb in DESTROYERS.items()},
    "alloc_pd": plain("ibv_alloc_pd({node})", made="pd"),
    "alloc_td": plain(
        "ibv_alloc_td({node}, &init)", "struct ibv_td_init_attr init = {};", made="td"
    ),
    "alloc_parent_domain": Verb(_alloc_parent_domain),
    "reg_mr": Verb(_reg_mr, _registered),
    "reg_mr_iova": Verb(_reg_mr, _registered),
    "rereg_mr": Verb(_rereg_mr, _reregistered),
    "alloc_mw": Verb(_alloc_mw, _window_keyed),
    "bind_mw": Verb(_bind_mw, _window_keyed),
    "create_comp_channel": Verb(_create_comp_channel),
    "create_cq": Verb(_create_cq),
    "create_cq_ex": Verb(_create_cq_ex),
    "resize_cq": plain("ibv_resize_cq({cq}, {cqe})"),
    "create_qp": Verb(_create_qp),
    "create_qp_ex": Verb(_create_qp_ex, _extended_made),
    "qp_to_qp_ex": Verb(_qp_to_qp_ex, _face),
    "open_qp": Verb(_open_qp),
    "modify_qp": Verb(_modify_qp),
    "query_qp": Verb(_query_qp, _queried),
    "create_ah": Verb(_create_ah),
    "attach_mcast": Verb(_mcast),
    "detach_mcast": Verb(_mcast),
    "create_srq": Verb(_create_srq),
    "create_srq_ex": Verb(_create_srq_ex),
    "modify_srq": Verb(_modify_srq),
    "query_srq": plain("ibv_query_srq({srq}, &attr)", "struct ibv_srq_attr attr;"),
    "get_srq_num": plain("ibv_get_srq_num({srq}, &srq_num)", "uint32_t srq_num;"),
    "open_xrcd": Verb(_open_xrcd),
}

"""Calls of C about the states of queue pairs, and addresses."""

from collections.abc import Callable
from dataclasses import fields

from rdmalab.export.c.objects import capacity
from rdmalab.export.c.text import TAB, Scope, Text, Verb, checked, structure
from rdmalab.export.replay.calls import Bound, NotExportable
from rdmalab.export.replay.values import attribute_width, constant, number
from rdmalab.hca.attributes import AhAttr, mask_of
from rdmalab.spec.states import Attr


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
    asked = attr.given()
    members = [each for item in asked.items() for each in _attribute(s, qp.node, *item)]
    wanted = constant(mask_of(asked) if mask is None else Attr(mask))
    given = structure("ibv_qp_attr", "attr", members)
    return Text("ibv_modify_qp", f"ibv_modify_qp({s.var(qp)}, &attr, {wanted})", given)


def _attribute(s: Scope, node: str, name: str, value: Bound) -> list[str]:
    if isinstance(value, AhAttr):
        return address(s, value, f".{name}")
    if name == "cap":
        return capacity(value)
    if name == "dest_qp_num":
        return [f".{name} = {s.qpn(node, value)}"]
    width = attribute_width(name)
    if not 0 <= int(value) < 1 << width:
        raise NotExportable(f"{name}={int(value)} does not fit in the {width} bits of ibv_qp_attr")
    text = constant(value)
    if name in ("qp_state", "cur_qp_state", "path_mtu", "path_mig_state") and text.isdigit():
        kinds = {"path_mtu": "ibv_mtu", "path_mig_state": "ibv_mig_state"}
        text = f"(enum {kinds.get(name, 'ibv_qp_state')}){text}"
    return [f".{name} = {text}"]


def _query_qp(s: Scope) -> Text:
    mask = s.argument("attr_mask")
    asked = Attr.STATE if s.call.is_late else Attr(0x1FFFFF if mask is None else mask)
    wanted = constant(asked)
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
    return checked(s, text)


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


VERBS: dict[str, Verb] = {
    "modify_qp": Verb(_modify_qp),
    "query_qp": Verb(_query_qp, _queried),
    "create_ah": Verb(_create_ah),
    "attach_mcast": Verb(_mcast("ibv_attach_mcast")),
    "detach_mcast": Verb(_mcast("ibv_detach_mcast")),
}

"""Calls of pyverbs about the states of queue pairs, and addresses."""

from rdmalab.export.pyverbs.objects import cap
from rdmalab.export.pyverbs.text import Lines, Scope, Verb, called, checked, named, number
from rdmalab.export.replay.calls import NotExportable
from rdmalab.export.replay.values import attribute_width
from rdmalab.hca.attributes import AhAttr, mask_of
from rdmalab.spec.states import Attr


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


VERBS: dict[str, Verb] = {
    "modify_qp": Verb(_modify_qp),
    "query_qp": Verb(_query_qp, _queried),
    "create_ah": Verb(_create_ah),
}

"""Completions and events, compared with those of the lab."""

from rdmalab.export.pyverbs.requests import imm
from rdmalab.export.pyverbs.text import TAB, Lines, Scope, called, errno_of, named, number, plain
from rdmalab.export.replay.calls import Bound, NotExportable
from rdmalab.export.replay.names import variable
from rdmalab.export.replay.program import Verb
from rdmalab.export.replay.requests import is_comparable, pair_of
from rdmalab.views.completions import wc_row


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
    if not found and not s.call.is_late:
        return []  # in pyverbs of the lab a poll in vain lets time pass
    if not found:
        return [f"{begin}, [])"]
    rows = [f"{TAB}{_expected(s, cq.node, cqe)}," for cqe in found]
    return [f"{begin}, [", *rows, "])"]


def _expected(s: Scope, node: str, cqe: Bound) -> str:
    row = wc_row(s.world.nodes[node], s.call.session.names, cqe)
    values: dict[str, str] = {"wr_id": number(row.wr_id), "status": named(row.status)}
    if pair := pair_of(s, node, cqe):
        values["qp_num"] = f"{pair}.qp_num"
    for name in ("opcode", "byte_len", "wc_flags"):
        if row.known(name, 1):
            values[name] = named(getattr(row, name))
    if row.known("imm_data", 1):
        s.writer.needs.add("socket")
        values["imm_data"] = imm(row.imm_data)
    if row.known("src_qp", 1):
        values["src_qp"] = s.qpn(node, row.src_qp)
    return called("dict", **values)


def _start_poll(s: Scope) -> Lines:
    attr = called(s.use("cq", "PollCqAttr"))
    return Lines(f"{s.var(s.argument('cq'))}.start_poll({attr})", refusable=False)


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


def _wc_read(s: Scope) -> Lines:
    field_ = {"completion_ts": "timestamp"}.get(s.argument("field"), s.argument("field"))
    return Lines(f"{s.var(s.argument('cq'))}.read_{field_}()", refusable=False)


def _field_read(s: Scope, lines: Lines | None) -> list[str]:
    assert lines is not None
    if s.call.errno:
        raise NotExportable(f"a field that create_cq_ex was not asked for: {s.argument('field')}")
    found = s.call.value
    if not is_comparable(found):
        return [lines.called]
    value = number(found.value)
    if found.field == "qp_num":
        value = s.qpn(s.argument("cq").node, found.value)
    s.writer.needs.add("expect")
    return [f'expect("{found.field}", {lines.called}, {value})']


def _req_notify_cq(s: Scope) -> Lines:
    only = bool(s.argument("solicited_only"))
    return Lines(f"{s.var(s.argument('cq'))}.req_notify({only or ''})")


def _event_read(s: Scope, lines: Lines | None) -> list[str]:
    if s.call.errno:
        raise NotExportable("get_cq_event finds no event here, and pyverbs would wait for one")
    cq = s.var(s.call.value.cq)
    return [f"{s.var(s.argument('channel'))}.get_cq_event({cq})"]


def _async_read(s: Scope, lines: Lines | None) -> list[str]:
    assert lines is not None
    if s.call.errno:
        raise NotExportable("get_async_event finds no event here, and pyverbs would wait for one")
    s.writer.needs.add("expect")
    node = variable(s.argument("node").node)
    kind = named(s.call.value.event)
    return [lines.called, f'expect("{node} event_type", {node}_event.event_type, {kind})']


VERBS: dict[str, Verb[Scope, Lines]] = {
    "poll_cq": plain("", end=_polled),
    "start_poll": Verb(_start_poll, _current),
    "next_poll": plain("{cq}.poll_next()", end=_current),
    "end_poll": plain("{cq}.end_poll()", refusable=False),
    "wc_read": Verb(_wc_read, _field_read),
    "req_notify_cq": Verb(_req_notify_cq),
    "get_cq_event": plain("", end=_event_read),
    "ack_cq_events": plain("{cq}.ack_events({nevents})", nevents=1),
    "get_async_event": plain("{node}_event = {node}.get_async_event()", end=_async_read),
    "ack_async_event": plain("{node}_event.ack()", refusable=False),
}

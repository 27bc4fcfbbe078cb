"""Completions and events, compared with those of the lab."""

from rdmalab.command import Noun, Thing
from rdmalab.export.pyverbs.requests import imm
from rdmalab.export.pyverbs.text import TAB, Lines, Scope, Verb, called, errno_of, named, number
from rdmalab.export.replay.calls import Bound, NotExportable
from rdmalab.export.replay.names import variable
from rdmalab.views.completions import wc_row


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
    if not found and not s.call.is_late:
        return []  # in pyverbs of the lab a poll in vain lets time pass
    if not found:
        return [f"{begin}, [])"]
    rows = [f"{TAB}{_expected(s, cq.node, cqe)}," for cqe in found]
    return [f"{begin}, [", *rows, "])"]


def _expected(s: Scope, node: str, cqe: Bound) -> str:
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
        values["imm_data"] = imm(row.imm_data)
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
    return Lines(f"{s.var(s.argument('cq'))}.req_notify({only or ''})")


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


VERBS: dict[str, Verb] = {
    "poll_cq": Verb(_poll_cq, _polled),
    "start_poll": Verb(_start_poll, _current),
    "next_poll": Verb(_next_poll, _current),
    "end_poll": Verb(_end_poll),
    "wc_read": Verb(_wc_read, _field_read),
    "req_notify_cq": Verb(_req_notify_cq),
    "get_cq_event": Verb(_get_cq_event, _event_read),
    "ack_cq_events": Verb(_ack_cq_events),
    "get_async_event": Verb(_get_async_event, _async_read),
    "ack_async_event": Verb(_ack_async_event),
}

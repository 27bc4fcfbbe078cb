"""Completions and events, compared with those of the lab."""

from collections.abc import Iterator

from rdmalab.export.c.text import TAB, Scope, Text, block, checked, plain
from rdmalab.export.replay.calls import Bound, NotExportable
from rdmalab.export.replay.names import constant, number, variable
from rdmalab.export.replay.program import Verb
from rdmalab.export.replay.requests import is_comparable, pair_of
from rdmalab.views.completions import wc_row


def _poll_cq(s: Scope) -> Text:
    cq, most = s.argument("cq"), s.argument("num_entries")
    most = 1 if most is None else most
    return Text(f"ibv_poll_cq({s.var(cq)}, {number(most)}, wc)", returns="-1")


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


def _expected(s: Scope, node: str, cqe: Bound) -> Iterator[str]:
    """Members that a completion must have: only those that have a meaning in it."""
    row = wc_row(s.world.nodes[node], s.call.session.names, cqe)
    yield f".wr_id = {number(row.wr_id)}"
    yield f".status = {constant(row.status)}"
    if pair := pair_of(s, node, cqe):
        yield f".qp = {pair}"
    if row.known("opcode", 1):
        yield f".has = OPCODE{_has(row)}"
        yield f".opcode = {constant(row.opcode)}"
        if row.known("byte_len", 1):
            yield f".byte_len = {number(row.byte_len)}"
        if row.known("imm_data", 1):
            yield f".imm_data = {s.immediate(row.imm_data)}"
        if row.known("src_qp", 1):
            yield f".src_qp = {s.qpn(node, row.src_qp)}"
        if row.wc_flags:
            yield f".wc_flags = {constant(row.wc_flags)}"


def _has(row: Bound) -> str:
    parts = {"byte_len": "BYTE_LEN", "imm_data": "IMM_DATA", "src_qp": "SRC_QP"}
    return "".join(f" | {flag}" for name, flag in parts.items() if row.known(name, 1))


def _current(s: Scope, text: Text | None) -> list[str]:
    """start_poll and next_poll: wr_id and status stand in the queue's structure."""
    assert text is not None
    if not s.call.errno:
        name, current = f"{s.var(s.argument('cq'))}_ex", s.call.value
        s.writer.completions += 1
        text.after = [
            f"if ({name}->wr_id != {number(current.wr_id)} || "
            f"{name}->status != {constant(current.status)})",
            f'{TAB}fail("{text.function}", {name}->status);',
        ]
    return checked(s, text)


def _wc_read(s: Scope) -> Text:
    name = s.var(s.argument("cq"))
    return Text(f"ibv_wc_read_{s.argument('field')}({name}_ex)", returns="nothing")


def _field_read(s: Scope, text: Text | None) -> list[str]:
    assert text is not None
    if s.call.errno:
        raise NotExportable(f"{text.function} of a field that create_cq_ex was not asked for")
    found, called = s.call.value, text.called
    if not is_comparable(found):
        return [f"(void){called};"]
    value = number(found.value)
    if found.field == "imm_data":
        value = s.immediate(found.value)
    elif found.field == "qp_num":
        value = s.qpn(s.argument("cq").node, found.value)
    return [f"if ({called} != {value})", f'{TAB}fail("{text.function}", {called});']


def _event_read(s: Scope, text: Text | None) -> list[str]:
    assert text is not None
    if not s.call.errno:
        cq = s.var(s.call.value.cq)
        s.writer.needs.add("await")
        text.before = [f"await({s.var(s.argument('channel'))}->fd);"]
        text.after = [f"if (cq != {cq})", f'{TAB}fail("the queue of ibv_get_cq_event", 0);']
    return checked(s, text)


def _get_async_event(s: Scope) -> Text:
    node = variable(s.argument("node").node)
    return Text(f"ibv_get_async_event({node}, &{node}_event)", returns="-1")


def _async_read(s: Scope, text: Text | None) -> list[str]:
    assert text is not None
    node = variable(s.argument("node").node)
    s.writer.variables[f"{node}_event"] = "*ibv_async_event"
    if not s.call.errno:
        s.writer.needs.add("await")
        text.before = [f"await({node}->async_fd);"]
        kind = constant(s.call.value.event)
        text.after = [
            f"if ({node}_event.event_type != {kind})",
            f'{TAB}fail("event_type", {node}_event.event_type);',
        ]
    return checked(s, text)


def _ack_async_event(s: Scope) -> Text:
    name = f"{variable(s.argument('what').node)}_event"
    if name not in s.writer.variables:
        raise NotExportable("ack_async_event of an event that get_async_event has not read")
    return Text(f"ibv_ack_async_event(&{name})", returns="nothing")


VERBS: dict[str, Verb[Scope, Text]] = {
    "poll_cq": Verb(_poll_cq, _polled),
    "start_poll": plain(
        "ibv_start_poll({cq}_ex, &attr)", "struct ibv_poll_cq_attr attr = {};", end=_current
    ),
    "next_poll": plain("ibv_next_poll({cq}_ex)", end=_current),
    "end_poll": plain("ibv_end_poll({cq}_ex)", returns="nothing"),
    "wc_read": Verb(_wc_read, _field_read),
    "req_notify_cq": plain("ibv_req_notify_cq({cq}, {solicited_only})", solicited_only=0),
    "get_cq_event": plain(
        "ibv_get_cq_event({channel}, &cq, &context)",
        "struct ibv_cq *cq;",
        "void *context;",
        returns="-1",
        end=_event_read,
    ),
    "ack_cq_events": plain("ibv_ack_cq_events({cq}, {nevents})", returns="nothing", nevents=1),
    "get_async_event": Verb(_get_async_event, _async_read),
    "ack_async_event": Verb(_ack_async_event),
}

"""An Invocation as canonical text: qualified names, enum names, units; parsed again it is equal."""

import re

from rdmalab.command import (
    Command,
    Direction,
    Expression,
    Invocation,
    Lines,
    Moment,
    NotUnderstood,
    Unit,
    kinds,
)
from rdmalab.grammar.arguments import (
    Keys,
    Slot,
    flat_record,
    keys_of_command,
    keys_of_record,
    meaning,
)
from rdmalab.grammar.nodes import Literal
from rdmalab.grammar.quantities import spelled
from rdmalab.grammar.syntax import Atom, Reader, Value
from rdmalab.grammar.text import in_quotes
from rdmalab.grammar.tokens import scan
from rdmalab.grammar.trees import render as render_expression
from rdmalab.grammar.values import NULLS, word_for

HEXADECIMAL = ("addr", "remote_addr", "lkey", "rkey", "remote_qkey", "qkey", "imm_data",
               "invalidate_rkey")  # fmt: skip
"""Arguments that are read in hexadecimal, as panes show them."""
_PLAIN = re.compile(r"[A-Za-z0-9_@/.:+-]+")
_COULD_BE_A_NAME = re.compile(r"[A-Z]|[A-Za-z_]\w*\.[A-Za-z_]\w*", re.ASCII)


def render(invocation: Invocation, command: Command) -> str:
    """The command as one line: positional parameters as words, the others as `key=value`."""
    keys = keys_of_command(command)
    spoken = {p.name for p in command.parameters if p.spoken}
    words = [invocation.name]
    waiting: list[
        kinds.ArgumentKind
    ] = []  # positional parameters that would take the next word if they could
    for parameter in command.parameters:
        name, kind = parameter.name, parameter.kind
        if name not in invocation.arguments:
            waiting += [kind] if parameter.positional else []
            continue
        value = invocation.arguments[name]
        if parameter.positional and _is_word(value, kind, waiting, spoken):
            words.append(_shielded(value, kind, spoken))
        else:
            words += _texts(keys.at((name,)), value, keys, spoken)
        if isinstance(kind, kinds.ExpressionKind):
            waiting.append(kind)  # it takes every word after it
    return " ".join(words)


def _is_word(
    value: object, kind: kinds.ArgumentKind, waiting: list[kinds.ArgumentKind], spoken: set[str]
) -> bool:
    """True if the parser would give this word to the right parameter."""
    if flat_record(kind, lists=True) is not None:
        return False
    if isinstance(value, Expression) and isinstance(value.node, Literal):
        return not waiting  # a number alone looks like a mistake for an earlier parameter
    words = Reader(scan(_shielded(value, kind, spoken))).values()
    is_spoken = isinstance(words[0], Atom) and words[0].text in spoken
    return not is_spoken and not any(_accepts(other, words[:1]) for other in waiting)


def _accepts(kind: kinds.ArgumentKind, word: list[Value]) -> bool:
    if isinstance(kind, kinds.ExpressionKind):
        return True
    try:
        meaning(word, kind, "A")
    except NotUnderstood:
        return False
    return True


def _texts(slot: Slot, value: object, keys: Keys, spoken: set[str]) -> list[str]:
    """`key=value`, or several where a record is flattened or a list of records repeated."""
    key, kind = keys.written(slot), slot.kind
    record = keys.record_in(slot)
    is_records = isinstance(kind, kinds.ListKind) and record is not None
    items = value if is_records and isinstance(value, list) else []
    flat = items[0] if len(items) == 1 else value
    if record is not None and isinstance(flat, dict):
        inner = [(keys.at((*slot.path, name)), v) for name, v in flat.items()]
        texts = [text for below, v in inner for text in _texts(below, v, keys, spoken)]
        may_be_absent = kind.nullable and kind is record
        is_understood = slot.parameter.required and not may_be_absent and record.short is None
        return texts if texts or is_understood else [f"{key}={{}}"]
    if items and record is not None:
        return [f"{key}={value_text(item, record)}" for item in items]
    equals = " " if slot.parameter.spoken and len(slot.path) == 1 else "="
    text = _shielded(value, kind, spoken)
    if slot.path[-1] in HEXADECIMAL and text.isdecimal() and len(text) > 1:
        text = f"{int(text):#x}"
    return [f"{key}{equals}{text}"]


def _shielded(value: object, kind: kinds.ArgumentKind, spoken: set[str]) -> str:
    """The text of a value; a spoken keyword in a question would end it, unless in parentheses."""
    text = value_text(value, kind)
    if isinstance(value, Expression) and spoken.intersection(t.text for t in scan(text)):
        return f"({text})"
    return text


def value_text(value: object, kind: kinds.ArgumentKind) -> str:
    """The canonical text of one value."""
    if value is None:
        return "NULL"
    if isinstance(value, Expression):
        return render_expression(value.node) if value.node is not None else value.text
    if isinstance(value, Lines):
        return f"{{{value.text}}}"
    if isinstance(value, list):
        item = kind.item if isinstance(kind, kinds.ListKind) else kind
        return ",".join(value_text(v, item) for v in value) or "[]"
    if isinstance(value, dict) and isinstance(kind, kinds.RecordKind):
        keys = keys_of_record(kind)
        texts = [t for name, v in value.items() for t in _texts(keys.at((name,)), v, keys, set())]
        return "{" + " ".join(texts) + "}"
    return _scalar_text(value, kind)


def _moment_text(moment: Moment) -> str:
    if moment.event is not None:
        return str(moment.event)
    return moment.mark if moment.at_ns is None else spelled(moment.at_ns, Unit.NS)


def _scalar_text(value: object, kind: kinds.ArgumentKind) -> str:
    match kind:
        case kinds.EnumKind() if isinstance(value, int):
            return word_for(int(value), kind)
        case kinds.BooleanKind() if isinstance(value, int):
            return str(int(value))
        case kinds.IntegerKind() if isinstance(value, int):
            return spelled(value, kind.unit)
        case kinds.TextKind() | kinds.ProseKind() if isinstance(value, str):
            return _text(value, kind)
    if isinstance(value, Direction):
        return "->".join(value)
    return _moment_text(value) if isinstance(value, Moment) else str(value)


def _text(value: str, kind: kinds.TextKind | kinds.ProseKind) -> str:
    is_name = kind.short is not None and _COULD_BE_A_NAME.fullmatch(value)
    if _PLAIN.fullmatch(value) and value not in NULLS and not is_name:
        return value
    return in_quotes(value)

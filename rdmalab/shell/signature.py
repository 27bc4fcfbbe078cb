"""The line under the prompt: the argument at the cursor, or what is still needed."""

from rdmalab.command import Command, Noun, kinds
from rdmalab.grammar.arguments import Slot, flat_record, keys_of_command
from rdmalab.grammar.partial import Expected, expect
from rdmalab.guide.usage import usage, value_word
from rdmalab.session.session import Session
from rdmalab.shell.legal_arguments import (
    CompletionContext,
    about,
    asked_move,
    attribute_of,
    judge_key,
)
from rdmalab.spec.states import ATTRIBUTES, MOVES, fields_of
from rdmalab.world.relations import exists

_UNSAID = (None, "", 0)  # defaults that go without saying


def signature(session: Session, line: str, cursor: int) -> str:
    """Help for the place of the cursor; empty if there is none."""
    expected = expect(line, cursor, session.vocabulary, session.default_node, session.aliases)
    if expected.is_verb:
        known = session.vocabulary.get(expected.partial.removeprefix("ibv_"))
        return known.summary if known is not None else ""
    if expected.command is None:
        return ""
    here = CompletionContext(session, expected, line[:cursor])
    if len(expected.values) == 1 and not expected.keys:
        return _of_value(here, expected.values[0])
    if (slot := expected.keys.get(expected.partial)) is not None:
        return _of_value(here, slot)
    return _of_command(here, expected.command)


# --------------------------------------------------------------------------- one argument
def _of_value(here: CompletionContext, slot: Slot) -> str:
    name = _written(here.expected, slot)
    word = value_word(slot.kind) or slot.path[-1].upper()
    parts = [f"{name}={word}" if not slot.parameter.positional else word]
    parts += [text for text in (_range(here, slot), _named(here, slot), _sentence(slot)) if text]
    if not slot.parameter.required and slot.parameter.default not in _UNSAID:
        parts.append(f"default {slot.parameter.default}")
    if mark := _mark(here, slot):
        parts.append(f"[{mark}]")
    return "   ".join(parts)


def _written(expected: Expected, slot: Slot) -> str:
    if expected.command is None:
        return slot.path[-1]
    return keys_of_command(expected.command).written(slot) or slot.path[-1]


def _range(here: CompletionContext, slot: Slot) -> str:
    row = ATTRIBUTES.get(attribute_of(slot))
    kind: kinds.ArgumentKind = slot.kind
    if row is None or not isinstance(kind, kinds.IntegerKind) or slot.spread is not None:
        return ""
    caps = here.session.world.nodes[here.node or here.session.default_node].profile.caps
    return f"{row.low}..{row.highest(caps)}"


def _sentence(slot: Slot) -> str:
    row = ATTRIBUTES.get(attribute_of(slot))
    if row is not None:
        return row.sentence
    kind = slot.kind.item if isinstance(slot.kind, kinds.ListKind) else slot.kind
    if isinstance(kind, kinds.ExpressionKind) and kind.is_topic:
        return "a queue, a work request by wr_id, a program, bytes, an errno; empty: all errors"
    is_flags = isinstance(kind, kinds.EnumKind) and kind.is_flags
    return "one or more, with | between" if is_flags else ""


def _named(here: CompletionContext, slot: Slot) -> str:
    """About the object whose name is being typed: `B.mr0 4096 bytes, lkey 0x1a01, LOCAL_WRITE`."""
    kind = slot.kind.item if isinstance(slot.kind, kinds.ListKind) else slot.kind
    if not isinstance(kind, kinds.ThingKind) and kind.short is None:
        return ""
    name = here.expected.partial.partition("[")[0]
    session = here.session
    thing = session.names.find(name) or session.names.find(f"{session.default_node}.{name}")
    if thing is None or not exists(session.world, thing) or thing.noun is Noun.NODE:
        return ""
    return f"{session.names.of(thing)} {about(session.world, thing)}"


def _mark(here: CompletionContext, slot: Slot) -> str:
    verdict = judge_key(here, slot)
    if verdict is not None and verdict.word:
        return verdict.word
    return "required" if slot.parameter.required else ""


# --------------------------------------------------------------------------- the whole command
def _of_command(here: CompletionContext, command: Command) -> str:
    """The keys still required; if none, the syntax of the command."""
    if command.name == "modify_qp" and (text := _moving(here)):
        return text
    lacks = [
        key
        for key, slot in here.expected.keys.items()
        if slot.parameter.required and flat_record(slot.kind, lists=True) is None
    ]
    if lacks and here.node:
        return f"{command.name} still needs: {' '.join(f'{key}=' for key in lacks)}"
    return usage(command)


def _moving(here: CompletionContext) -> str:
    """`RESET→INIT still needs: port_num= pkey_index=`."""
    move = asked_move(here)
    if move is None or here.given("attr", "qp_state") is None:
        return ""
    given = {attribute_of(p.slot) for p in here.expected.given.values() if p.slot is not None}
    required = fields_of(MOVES[move.qp.qp_type, move.qp.state, move.to].required)
    lacks = ["ah" if name == "ah_attr" else name for name in required if name not in given]
    if not lacks:
        return f"{move.name} has all required attributes"
    return f"{move.name} still needs: {' '.join(f'{name}=' for name in lacks)}"

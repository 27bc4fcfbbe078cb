"""An incomplete line: its arguments so far, and what may follow. Works on any broken text."""

from collections.abc import Mapping
from dataclasses import field

from rdmalab.command import (
    NOWHERE,
    ArgumentKind,
    Command,
    EnumKind,
    ExpressionKind,
    ListKind,
    RecordKind,
    Span,
)
from rdmalab.grammar.arguments import ArgumentPart, Gathering, Slot, keys_of_record
from rdmalab.grammar.line import NO_ALIASES
from rdmalab.grammar.sentence import Sentence, find_verb
from rdmalab.grammar.syntax import Atom, Braces, Value, commands
from rdmalab.grammar.tokens import Lexeme, Token, folded, opens_lines, scan, scan_expression
from rdmalab.grammar.values import alternatives
from rdmalab.spec.row import dataclass


@dataclass(slots=True)
class Expected:
    """The words legal at the cursor: a verb, a value for one of `values`, one of `keys`.

    is_line: the verb begins a line of a program, which has words of its own besides.
    given: arguments elsewhere in the line, by dotted key (a Part holds its value, or what is wrong
    with it). partial: the piece of text at the cursor that a completion replaces. record:
    the kind of record in whose braces the cursor stands. struct: the name of a struct inside
    a struct of C in whose braces it stands; its fields belong to the record around it.
    """

    command: Command | None = None
    is_verb: bool = False
    is_line: bool = False
    values: tuple[Slot, ...] = ()
    keys: dict[str, Slot] = field(default_factory=dict)
    given: dict[str, ArgumentPart] = field(default_factory=dict)
    partial: str = ""
    place: Span = NOWHERE
    record: RecordKind | None = None
    struct: str = ""


def expect(
    line: str,
    cursor: int,
    vocabulary: Mapping[str, Command],
    default_node: str | None = None,
    aliases: Mapping[str, str] = NO_ALIASES,
) -> Expected:
    """The arguments of the line so far, and what may come at the cursor."""
    cursor = max(0, min(cursor, len(line)))
    before = folded(line[:cursor], scan(line[:cursor]))
    if before and before[-1].lexeme is Lexeme.COMMENT and before[-1].place.stop == cursor:
        return Expected(place=Span(cursor, cursor))
    tokens_before = [t for t in commands(before)[-1] if t.lexeme is not Lexeme.COMMENT]
    if not tokens_before or (len(tokens_before) == 1 and tokens_before[0].place.stop == cursor):
        is_line = any(opens_lines(before, at) for at in range(len(before)))
        return _at(
            cursor,
            tokens_before[-1] if tokens_before else None,
            Expected(is_verb=True, is_line=is_line),
        )
    command, rest = find_verb(tokens_before, vocabulary, aliases)
    if command is None:
        return Expected(place=Span(cursor, cursor))
    expected = _in_arguments(Sentence(command, rest, default_node), cursor)
    expected.command = command
    expected.given = _given(line, cursor, tokens_before[0], (vocabulary, default_node, aliases))
    later = [p.slot for p in expected.given.values() if p.argument.place.start >= cursor]
    expected.keys = {
        key: slot
        for key, slot in expected.keys.items()
        if expected.record or expected.struct or slot not in later
    }
    return expected


def _at(cursor: int, token: Token | Atom | None, expected: Expected) -> Expected:
    """With the partial text that reaches to the cursor, if any."""
    expected.place = Span(cursor, cursor)
    if token is not None and token.place.stop == cursor:
        expected.partial, expected.place = token.text, token.place
    return expected


def _given(
    line: str,
    cursor: int,
    verb: Token,
    how: tuple[Mapping[str, Command], str | None, Mapping[str, str]],
) -> dict[str, ArgumentPart]:
    """The arguments of the command, before and after the cursor but not at it."""
    vocabulary, default_node, aliases = how
    candidates = commands(folded(line, scan(line))) + commands(
        scan(line)
    )  # closed behind the cursor?
    tokens = next(tokens for tokens in candidates if tokens[:1] == [verb])
    command, rest = find_verb(tokens, vocabulary, aliases)
    parts = Sentence(command, rest, default_node).parts if command else []
    return {
        part.slot.dotted: part
        for outer in parts
        for part in outer.inner or [outer]
        if part.slot and not (part.argument.place.start <= cursor <= part.argument.place.stop)
    }


def _in_arguments(sentence: Sentence, cursor: int) -> Expected:
    last = sentence.parts[-1] if sentence.parts else None
    if last is None or not _is_open(last, cursor):
        return _at(cursor, None, _anything(sentence))
    if not _is_plain_word(last):
        return _in_value(last, cursor, sentence.gathering)
    if last.argument.place.stop != cursor:
        return _at(cursor, None, _anything(sentence))
    word = last.argument.values[-1]
    again = _without_last(sentence, last)
    return _at(cursor, word if isinstance(word, Atom) else None, _anything(again))


def _is_plain_word(part: ArgumentPart) -> bool:
    """True if the word may yet become another word, or a key."""
    if part.argument.key is not None or isinstance(part.argument.values[-1], Braces):
        return False
    return part.slot is None or not isinstance(part.slot.kind, ExpressionKind)


def _without_last(sentence: Sentence, last: ArgumentPart) -> Sentence:
    """The command before its last word was begun."""
    start = last.argument.place.start
    tokens = [token for token in sentence.tokens if token.place.start < start]
    return Sentence(sentence.command, tokens, sentence.default_node)


def _anything(sentence: Sentence) -> Expected:
    """A word for a positional parameter, up to the first required one, or a key."""
    values: list[Slot] = []
    for slot in sentence.free_positionals():
        values.append(slot)
        if slot.parameter.required:
            break
    return Expected(values=tuple(values), keys=_free_keys(sentence.gathering))


def _free_keys(gathering: Gathering) -> dict[str, Slot]:
    keys = gathering.keys
    free = [slot for slot in keys.slots if gathering.is_free(slot)]
    return {key: slot for slot in free if (key := keys.written(slot))}


def _is_open(part: ArgumentPart, cursor: int) -> bool:
    """True if what is written at the cursor goes on with this argument."""
    if part.slot is not None and isinstance(part.slot.kind, ExpressionKind):
        return True
    if part.argument.place.stop == cursor or not part.argument.values:
        return True
    last = part.argument.values[-1]
    if isinstance(last, Braces):
        return not last.is_closed
    return not last.text or last.tokens[-1].is_("|", "->")


def _in_value(part: ArgumentPart, cursor: int, gathering: Gathering) -> Expected:
    slot = part.slot
    last = part.argument.values[-1] if part.argument.values else None
    if slot is None:  # an unknown key may have any value
        is_open = isinstance(last, Braces) and not last.is_closed
        return (
            _in_struct(part, cursor, gathering) if is_open else Expected(place=Span(cursor, cursor))
        )
    item = slot.kind.item if isinstance(slot.kind, ListKind) else slot.kind
    if isinstance(last, Braces) and not last.is_closed and isinstance(item, RecordKind):
        return _in_braces(last, item, cursor, gathering.default_node)
    expected = Expected(values=(slot,))
    if isinstance(item, ExpressionKind) and isinstance(last, Atom):
        expected.keys = _free_keys(gathering) if last.place.stop < cursor else {}
        return _at(cursor, _last_path(last), expected)
    return _at(cursor, _last_piece(last, item), expected)


def _last_piece(value: Value | None, kind: ArgumentKind) -> Atom | None:
    """The piece that a completion replaces: of `A|B` only the last; None if there is none."""
    if not isinstance(value, Atom):
        return None
    is_flags = isinstance(kind, EnumKind) and kind.is_flags
    return alternatives(value)[-1] if is_flags and value.tokens else value


def _last_path(question: Atom) -> Atom | None:
    """The path or word with which a question ends so far."""
    tokens = scan_expression(question.text, question.place.start)
    count = 0
    for token in reversed(tokens):
        is_step = token.lexeme is Lexeme.WORD or token.is_(".")
        if not is_step or (count and token.place.stop != tokens[-count].place.start):
            break
        count += 1
    return Atom.of(tokens[-count:]) if count else None


def _in_struct(part: ArgumentPart, cursor: int, gathering: Gathering) -> Expected:
    """In the braces of a struct inside a struct of C, `wr.rdma={rem`."""
    struct = part.argument.key.text if part.argument.key else ""
    last = part.inner[-1] if part.inner else None
    if last is not None and last.argument.key is not None and _is_open(last, cursor):
        return _in_value(last, cursor, gathering)
    keys = {k: s for k, s in gathering.keys.below(struct).items() if gathering.is_free(s)}
    word = last.argument.values[-1] if last is not None and last.argument.key is None else None
    expected = Expected(keys=keys, struct=struct)
    return _at(cursor, word if isinstance(word, Atom) else None, expected)


def _in_braces(braces: Braces, kind: RecordKind, cursor: int, node: str | None) -> Expected:
    gathering = Gathering(keys_of_record(kind), node)
    parts = [gathering.read(argument) for argument in braces.arguments]
    last = parts[-1] if parts else None
    expected = Expected(keys=_free_keys(gathering), record=kind)
    if last is None or not _is_open(last, cursor):
        return _at(cursor, None, expected)
    if last.argument.key is None:
        word = last.argument.values[-1]
        return _at(cursor, word if isinstance(word, Atom) else None, expected)
    inner = _in_value(last, cursor, gathering)
    inner.record = inner.record or kind
    return inner

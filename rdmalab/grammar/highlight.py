"""A line in colour: every character has a role, taken from the same reading as the parser's."""

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from itertools import groupby

from rdmalab.command import Command, NotUnderstood, Ref, Span, kinds
from rdmalab.grammar.arguments import ArgumentPart, Gathering, keys_of_record
from rdmalab.grammar.line import NO_ALIASES
from rdmalab.grammar.nodes import COMPARISONS, KEYWORDS
from rdmalab.grammar.sentence import Sentence, find_verb
from rdmalab.grammar.syntax import Atom, Braces, Value, commands
from rdmalab.grammar.tokens import Lexeme, Token, folded, scan, scan_expression
from rdmalab.grammar.values import NULLS, scalar
from rdmalab.spec.programs import WORDS


class Role(Enum):
    """The kind of a character, from which faces choose its colour."""

    SPACE = auto()
    VERB = auto()
    KEY = auto()
    ENUM = auto()
    NUMBER = auto()
    STRING = auto()
    NAME = auto()
    KEYWORD = auto()
    WORD = auto()
    OPERATOR = auto()
    COMMENT = auto()
    ERROR = auto()


_PLAIN = {
    Lexeme.WORD: Role.WORD,
    Lexeme.NUMBER: Role.NUMBER,
    Lexeme.STRING: Role.STRING,
    Lexeme.OPERATOR: Role.OPERATOR,
    Lexeme.BREAK: Role.OPERATOR,
    Lexeme.COMMENT: Role.COMMENT,
    Lexeme.LINES: Role.OPERATOR,
    Lexeme.MARK: Role.NAME,
    Lexeme.ERROR: Role.ERROR,
}
_OF_KIND: dict[type[kinds.ArgumentKind], Role] = {
    kinds.BooleanKind: Role.NUMBER,
    kinds.DirectionKind: Role.NAME,
    kinds.MomentKind: Role.NUMBER,
    kinds.EnumKind: Role.ENUM,
    kinds.IntegerKind: Role.NUMBER,
    kinds.NewKind: Role.NAME,
    kinds.ThingKind: Role.NAME,
    kinds.WordKind: Role.KEYWORD,
}

Stroke = tuple[Span, Role]


def paint(
    line: str,
    vocabulary: Mapping[str, Command],
    default_node: str | None = None,
    aliases: Mapping[str, str] = NO_ALIASES,
) -> list[Stroke]:
    """The roles of all characters from left to right, without a gap."""
    roles = [Role.SPACE] * len(line)
    tokens = scan(line)
    strokes = [(t.place, _PLAIN[t.lexeme]) for t in tokens]
    for tokens_of_command in commands(_spoken(folded(line, tokens, half=True))):
        if tokens_of_command:
            strokes += _command(tokens_of_command, vocabulary, default_node, aliases)
    for token in folded(line, tokens, half=True):
        if token.lexeme is Lexeme.LINES:
            strokes += _program(token, vocabulary, default_node)
    for place, role in strokes:
        roles[place.start : place.stop] = [role] * len(roles[place.start : place.stop])
    return list(_runs(line, roles))


def _spoken(tokens: list[Token]) -> list[Token]:
    return [token for token in tokens if token.lexeme is not Lexeme.COMMENT]


def _program(
    lines: Token, vocabulary: Mapping[str, Command], default_node: str | None
) -> Iterator[Stroke]:
    """The lines of a program: each is a command, or begins with a word of its own."""
    inside = scan(lines.text.removesuffix("}")[1:], lines.place.start + 1)
    for tokens_of_command in commands(_spoken(inside)):
        if tokens_of_command and tokens_of_command[0].text in WORDS:
            yield tokens_of_command[0].place, Role.KEYWORD
        elif tokens_of_command:
            yield from _command(tokens_of_command, vocabulary, default_node, NO_ALIASES)


def _runs(line: str, roles: list[Role]) -> Iterator[Stroke]:
    """Neighbours of one role together; white space has its own role unless it is quoted."""
    for at, character in enumerate(line):
        if character.isspace() and roles[at] not in (Role.STRING, Role.COMMENT):
            roles[at] = Role.SPACE
    start = 0
    for role, run in groupby(roles):
        stop = start + len(list(run))
        yield Span(start, stop), role
        start = stop


def _command(
    tokens: list[Token],
    vocabulary: Mapping[str, Command],
    default_node: str | None,
    aliases: Mapping[str, str],
) -> Iterator[Stroke]:
    command, rest = find_verb(tokens, vocabulary, aliases)
    if command is not None:
        for part in Sentence(command, rest, default_node).parts:
            yield from _part(part, default_node)
    yield tokens[0].place, Role.VERB if command else Role.ERROR


def _part(part: ArgumentPart, default_node: str | None) -> Iterator[Stroke]:
    key = part.argument.key
    if key is not None:
        yield key.place, Role.KEY if part.slot or part.inner else Role.ERROR
    for inner in part.inner:
        yield from _part(inner, default_node)
    if part.inner:
        return
    for value in part.argument.values:
        if part.slot is not None:
            yield from _value(value, part.slot.kind, default_node)
    if part.wrong is not None and not _is_nested(part):
        yield from _error(part.wrong, part.argument.values)


def _is_nested(part: ArgumentPart) -> bool:
    """True if the mistake is inside braces and is painted there."""
    place = part.wrong.place if part.wrong else Span(0, 0)
    return any(
        isinstance(v, Braces) and v.place.start < place.start and place.stop <= v.place.stop
        for v in part.argument.values
    )


def _error(wrong: NotUnderstood, values: list[Value]) -> Iterator[Stroke]:
    """The place that is wrong; a quote that is still being typed is no error."""
    last = values[-1] if values else None
    if not (isinstance(last, Atom) and last.text.startswith('"') and last.place == wrong.place):
        yield wrong.place, Role.ERROR


def _value(value: Value, kind: kinds.ArgumentKind, default_node: str | None) -> Iterator[Stroke]:
    item = kind.item if isinstance(kind, kinds.ListKind) else kind
    if isinstance(value, Atom):
        if isinstance(item, kinds.ExpressionKind):
            yield from _question(value)
        else:
            yield from _atom(value, kind, item, default_node)
    elif isinstance(item, kinds.RecordKind):
        gathering = Gathering(keys_of_record(item), default_node)
        for argument in value.arguments:
            yield from _part(gathering.read(argument), default_node)


def _atom(
    atom: Atom, kind: kinds.ArgumentKind, item: kinds.ArgumentKind, default_node: str | None
) -> Iterator[Stroke]:
    role = _OF_KIND.get(type(item), Role.WORD)
    if atom.text in NULLS and (kind.nullable or item.nullable):
        role = Role.KEYWORD
    elif item.short is not None and _is_reference(atom, item, default_node):
        role = Role.NAME
    for token in atom.tokens:
        if token.lexeme is Lexeme.WORD:
            is_number = role is Role.ENUM and token.text[:1].isdecimal()
            yield token.place, Role.NUMBER if is_number else role


def _is_reference(atom: Atom, kind: kinds.ArgumentKind, default_node: str | None) -> bool:
    try:
        return isinstance(scalar(atom, kind, default_node), Ref)
    except NotUnderstood:
        return False


def _question(atom: Atom) -> Iterator[Stroke]:
    """An expression: names before a comparison, words after it and in filters."""
    last = ""
    tokens = scan_expression(atom.text, atom.place.start)
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        yield token.place, _role_in_question(token, last, following)
        last = token.text


def _role_in_question(token: Token, last: str, following: Token | None) -> Role:
    if token.lexeme is not Lexeme.WORD:
        return _PLAIN[token.lexeme]
    if token.text in KEYWORDS:
        return Role.KEYWORD
    if following is not None and following.is_("="):
        return Role.KEY
    is_path = following is not None and following.is_(".", "[", "(")
    return Role.ENUM if last in ("=", *COMPARISONS) and not is_path else Role.NAME

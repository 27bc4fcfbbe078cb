"""Tokens → arguments without meaning: which words are keys, which belong together.

Any tokens give arguments: an unknown part stays an Atom, which is refused where it gets a meaning.
Completion and colour use the same tree as the parser.
"""

from dataclasses import field
from typing import TypeAlias

from rdmalab.command import Span
from rdmalab.grammar.tokens import MAX_DEPTH, Lexeme, Token, folded, opens_lines, scan
from rdmalab.spec.row import dataclass

_JOINS = ("|", "->")
_OPENS, _CLOSES = ("[", "("), ("]", ")")
_APART = (",", "{", "}", "=", "==", "!=", "<", ">", "<=", ">=")


@dataclass(slots=True)
class Atom:
    """One value without braces or commas: `12`, `A.mr0[0:64]`, `LOCAL_WRITE|REMOTE_WRITE`."""

    text: str
    place: Span
    tokens: list[Token] = field(default_factory=list)

    @classmethod
    def of(cls, tokens: list[Token]) -> "Atom":
        """The tokens glued together; there is at least one."""
        place = Span(tokens[0].place.start, tokens[-1].place.stop)
        return cls("".join(t.text for t in tokens), place, tokens)


@dataclass(slots=True)
class Braces:
    """`{key=value …}`."""

    arguments: list["Argument"]
    place: Span
    is_closed: bool = True


Value: TypeAlias = Atom | Braces


@dataclass(slots=True)
class Argument:
    """`key=value,value` or a word; no values where none was written."""

    key: Token | None
    values: list[Value]
    place: Span

    @property
    def value_place(self) -> Span:
        """Place of its values; of a flag, its own."""
        if not self.values:
            return self.place
        return Span(self.values[0].place.start, self.values[-1].place.stop)


class Reader:
    """Walks the tokens of one command."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = [t for t in tokens if t.lexeme not in (Lexeme.COMMENT, Lexeme.BREAK)]
        self.at = 0

    def peek(self, ahead: int = 0) -> Token | None:
        """The token that comes, if the command has one more."""
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else None

    def take(self) -> Token:
        """Return the current token and move to the next one."""
        self.at += 1
        return self.tokens[self.at - 1]

    @property
    def is_key_next(self) -> bool:
        return self._is_key(0)

    def _is_key(self, ahead: int) -> bool:
        word, equals = self.peek(ahead), self.peek(ahead + 1)
        is_word = word is not None and word.lexeme is Lexeme.WORD
        return is_word and equals is not None and equals.is_("=")

    def key(self) -> Token:
        """The key that comes, and its `=`."""
        token = self.take()
        self.take()
        return token

    def argument(self, depth: int = 0) -> Argument:
        """`key=value` or a word; there must be a token."""
        if not self.is_key_next:
            values = self.values(depth)
            return Argument(None, values, Span(values[0].place.start, values[-1].place.stop))
        key = self.key()
        equals = self.tokens[self.at - 1].place
        values = self.values(depth) if self._has_value else []
        stop = values[-1].place.stop if values else equals.stop
        return Argument(key, values, Span(key.place.start, stop))

    @property
    def _has_value(self) -> bool:
        token = self.peek()
        return token is not None and not token.is_("}") and not self.is_key_next

    def values(self, depth: int = 0) -> list[Value]:
        """One value, or several with commas; an empty Atom where one is left out."""
        values = [self._one(depth)]
        while (comma := self.peek()) is not None and comma.is_(","):
            self.take()
            values.append(self._one(depth))
        return values

    def _one(self, depth: int) -> Value:
        token = self.peek()
        if token is None or token.is_(",") or (depth and token.is_("}")) or self.is_key_next:
            stop = self.tokens[self.at - 1].place.stop if self.at else 0
            return Atom("", Span(stop, stop))
        if token.is_("{") and depth < MAX_DEPTH:
            return self._braces(depth + 1)
        return self._atom()

    def _braces(self, depth: int) -> Braces:
        start = self.take().place.start
        arguments: list[Argument] = []
        while (token := self.peek()) is not None and not token.is_("}"):
            arguments.append(self.argument(depth))
        is_closed = self.peek() is not None
        last = self.take() if is_closed else self.tokens[-1]
        return Braces(arguments, Span(start, last.place.stop), is_closed)

    def _atom(self) -> Atom:
        tokens = [self.take()]
        inside = int(tokens[0].is_(*_OPENS))
        while (token := self.peek()) is not None and self._goes_on(tokens[-1], token, inside):
            tokens.append(self.take())
            inside += token.is_(*_OPENS) - token.is_(*_CLOSES)
        return Atom.of(tokens)

    def _goes_on(self, last: Token, token: Token, inside: int) -> bool:
        if inside > 0:
            return not token.is_("{", "}")
        if last.is_(*_APART) or token.is_(*_APART):
            return False
        if last.place.stop == token.place.start:
            return True
        return token.is_(*_JOINS) or (last.is_(*_JOINS) and not self.is_key_next)


def commands(tokens: list[Token]) -> list[list[Token]]:
    """The tokens of each command: `;` and new lines outside of braces stand between two."""
    lines: list[list[Token]] = [[]]
    depth = 0
    for at, token in enumerate(tokens):
        if opens_lines(tokens, at):  # half written: what is typed after it is a line of its own
            lines[-1].append(token)
            lines.append([])
            continue
        depth = max(0, depth + token.is_("{") - token.is_("}"))
        if token.lexeme is Lexeme.BREAK and (token.text == ";" or not depth):
            lines.append([])
            depth = 0
        else:
            lines[-1].append(token)
    return lines


def command_texts(line: str) -> list[str]:
    """The text of each command of a line, also where one of them cannot be understood."""
    parts = [part for part in commands(folded(line, scan(line))) if part]
    return [line[part[0].place.start : part[-1].place.stop] for part in parts]

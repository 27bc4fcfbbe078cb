"""The lexer: a line, or an expression, becomes tokens that know their columns.

`scan` and `scan_expression` take any text and never fail: completion and colour work on half a
line. `tokenize` also demands that every quote, brace and bracket is closed.
"""

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from rdmalab.command import NotUnderstood, Span

LINES_KEY = "lines"
MAX_DEPTH = 16  # of braces, brackets and parentheses


class Lexeme(Enum):
    """The kinds of tokens."""

    WORD = auto()
    NUMBER = auto()  # only in expressions: in a line, the kind of argument decides
    STRING = auto()
    OPERATOR = auto()
    BREAK = auto()  # between two commands
    COMMENT = auto()
    LINES = auto()  # `{line; line}` behind `lines=`, whole: `folded` makes them
    MARK = auto()  # only in expressions: `@ready`, a checkpoint
    ERROR = auto()  # only in expressions: no such character


class Token(NamedTuple):
    """A piece of text and where it stands."""

    lexeme: Lexeme
    text: str
    place: Span

    def is_(self, *texts: str) -> bool:
        """True if it is one of these operators."""
        return self.lexeme is Lexeme.OPERATOR and self.text in texts


# A number and its unit with a space between them, as the program itself tells times: `12.4 ms`.
_GAP = r"[0-9][0-9_]*(?:\.[0-9]+)? [\ \t]+ (?: s | (?i:ns|us|µs|μs|ms|[kmg]?bps|[kmg]ib) )"
# An event as the program itself shows it, `ev 120`.
_EVENT = r"ev [\ \t]+ [0-9]+"
_LINE = re.compile(
    rf"""
    (?P<COMMENT> (?<![^\s;]) \# [^\n]* )
  | (?P<STRING> "(?:\\.|[^"\n])*"? )
  | (?P<BREAK> [;\n] )
  | (?P<OPERATOR> -> | [=!<>]= | [=<>|,{{}}\[\]()] )
  | (?P<QUANTITY> (?: {_GAP} | {_EVENT} ) (?= [\s,;{{}}<>)\]!|] | == | \Z ) (?! \s*=(?!=) ) )
  | (?P<WORD> (?: [^\s"=<>|,;{{}}\[\]()!-] | -(?!>) | !(?!=) )+ )
    """,
    re.VERBOSE,
)
_EXPRESSION = re.compile(
    rf"""
    (?P<STRING> "(?:\\.|[^"\n])*"? )
  | (?P<NUMBER> {_GAP} (?![\w.=(]) | [0-9][0-9A-Za-z_µμ]* (?:\.[0-9][0-9A-Za-z_µμ]*)? )
  | (?P<WORD> [A-Za-z_][A-Za-z0-9_]* )
  | (?P<MARK> @[A-Za-z0-9_./:+-]* )
  | (?P<OPERATOR> [=!<>]= | // | [-+*<>().,=\[\]:] )
  | (?P<ERROR> \S )
    """,
    re.VERBOSE,
)
_WHOLE_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
_LEXEMES = {**Lexeme.__members__, "QUANTITY": Lexeme.WORD}
_PAIRS = {"{": "}", "[": "]", "(": ")"}


def _scan(pattern: re.Pattern[str], text: str, offset: int) -> Iterator[Token]:
    for match in pattern.finditer(text):
        start, stop = match.span()
        lexeme = _LEXEMES[match.lastgroup or ""]
        yield Token(lexeme, match[0], Span(offset + start, offset + stop))


def scan(line: str, offset: int = 0) -> list[Token]:
    """The tokens of a line or of several, comments and breaks included."""
    return list(_scan(_LINE, line, offset))


def scan_expression(text: str, offset: int = 0) -> list[Token]:
    """The tokens of an expression, where `-` and `.` are operators."""
    return list(_scan(_EXPRESSION, text, offset))


def is_closed(string: Token) -> bool:
    """True if a quoted string has its second quote."""
    return _WHOLE_STRING.fullmatch(string.text) is not None


def folded(line: str, tokens: list[Token], offset: int = 0, *, half: bool = False) -> list[Token]:
    """Each `lines={…}` with its braces as one token: new lines and `;` in it divide nothing else.

    half: also what is not closed yet; else it stays as it is.
    """
    found: list[Token] = []
    ends = _closing_braces(tokens)
    at = 0
    while at < len(tokens):
        stop = None
        if opens_lines(tokens, at):
            stop = ends.get(at, len(tokens) - 1 if half else None)
        if stop is None:
            found.append(tokens[at])
            at += 1
            continue
        place = Span(tokens[at].place.start, tokens[stop].place.stop)
        found.append(Token(Lexeme.LINES, line[place.start - offset : place.stop - offset], place))
        at = stop + 1
    return found


def opens_lines(tokens: list[Token], at: int) -> bool:
    """True if the lines of a program begin with this token."""
    if at < 2 or not tokens[at].is_("{") or not tokens[at - 1].is_("="):
        return False
    return tokens[at - 2].lexeme is Lexeme.WORD and tokens[at - 2].text == LINES_KEY


def _closing_braces(tokens: list[Token]) -> dict[int, int]:
    """The index of the brace that closes, by the index of the brace that opens."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for at, token in enumerate(tokens):
        if token.is_("{"):
            opened.append(at)
        elif token.is_("}") and opened:
            ends[opened.pop()] = at
    return ends


def tokenize(line: str, offset: int = 0) -> list[Token]:
    """`scan` without comments; NotUnderstood where a quote, brace or bracket is not closed."""
    tokens_here = folded(line, scan(line, offset), offset)
    tokens = [t for t in tokens_here if t.lexeme is not Lexeme.COMMENT]
    opened: list[Token] = []
    for token in tokens:
        if token.lexeme is Lexeme.STRING and not is_closed(token):
            raise NotUnderstood("this quote is never closed", token.place, 'end it with "')
        if token.is_(*_PAIRS):
            _open(opened, token)
        elif token.is_(*_PAIRS.values()):
            _close(opened, token)
        elif token.lexeme is Lexeme.BREAK:
            _stop(opened, token)
    if opened:
        raise _never_closed(opened[-1])
    return tokens


def _open(opened: list[Token], token: Token) -> None:
    if len(opened) == MAX_DEPTH:
        raise NotUnderstood("nested too deep", token.place, f"at most {MAX_DEPTH} levels")
    opened.append(token)


def _close(opened: list[Token], token: Token) -> None:
    if not opened:
        raise NotUnderstood(f'nothing is open for this "{token.text}"', token.place, "leave it out")
    opener = opened.pop()
    if (closer := _PAIRS[opener.text]) != token.text:
        raise NotUnderstood(f'"{opener.text}" is closed by another', token.place, f"write {closer}")


def _stop(opened: list[Token], token: Token) -> None:
    """A new line may stand inside braces, a `;` may not."""
    if opened and (token.text == ";" or opened[-1].text != "{"):
        raise _never_closed(opened[-1])


def _never_closed(opener: Token) -> NotUnderstood:
    closer = _PAIRS[opener.text]
    return NotUnderstood(
        f'this "{opener.text}" is never closed', opener.place, f"end it with {closer}"
    )

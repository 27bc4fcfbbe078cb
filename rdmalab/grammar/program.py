"""The lines of a program: verbs, and the words of `spec/programs.py`, parsed and matched.

Every line holds the index of the next one: execution needs a counter and no parser.
"""

from collections.abc import Callable, Iterator, Mapping

from rdmalab.command import Command, Invocation, New, NotUnderstood, Ref, Span, Unit
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.hints import quoted, suggest, verb_of
from rdmalab.grammar.nodes import Call, Node, operands
from rdmalab.grammar.quantities import whole
from rdmalab.grammar.syntax import commands
from rdmalab.grammar.tokens import Lexeme, Token, tokenize
from rdmalab.grammar.trees import is_function, paths
from rdmalab.spec.programs import FREE, NOT_FOR_PROGRAMS, WORDS
from rdmalab.spec.row import dataclass
from rdmalab.spec.rules import ERRNO_NAMES

MAX_LINES = 500
_POLL, _UNTIL = "poll_cq", "until"
_ERRNOS = {name: number for number, name in ERRNO_NAMES.items()}


@dataclass(slots=True)
class Line:
    """One line. word: of `spec/programs.py`, empty for a verb. number: counted from 1.

    amount: turns of a loop (0: no limit), ns of a sleep, the errno that a try wants (0: any).
    jump: the index at which it goes on: of an `if` when the answer is no, of an `else` always, of
    the `end` of a loop while turns are left; -1: nowhere else.
    """

    word: str
    number: int
    text: str
    invocation: Invocation | None = None
    question: Node | None = None
    amount: int = 0
    jump: int = -1


@dataclass(slots=True)
class Reading:
    """The context of reading lines: the reader of a verb, the vocabulary, the node."""

    source: str
    verb: Callable[[list[Token]], Invocation]
    vocabulary: Mapping[str, Command]
    node: str


def read_program(reading: Reading, place: Span) -> list[Line]:
    """The lines that stand at a place of the source; NotUnderstood where they mean nothing."""
    tokens = tokenize(reading.source[place.start : place.stop], place.start)
    parts = [line for line in commands(tokens) if line]
    if not parts:
        raise NotUnderstood("a program has a line at least", place, "write one: poll_cq A.cq0")
    if len(parts) > MAX_LINES:
        place = parts[MAX_LINES][0].place
        raise NotUnderstood("a program this long", place, f"at most {MAX_LINES} lines")
    lines = [_line(reading, number, line) for number, line in enumerate(parts, 1)]
    _match(lines, [line[0].place for line in parts])
    return lines


def text_of(lines: list[Line]) -> str:
    """All of them in one line."""
    return "; ".join(line.text for line in lines)


def _line(reading: Reading, number: int, tokens: list[Token]) -> Line:
    word, rest = tokens[0].text, tokens[1:]
    read = _READERS.get(word) if tokens[0].lexeme is Lexeme.WORD else None
    line = Line(word if read else "", number, spaced(tokens))
    if read is None:
        line.invocation = _verb(reading, tokens)
    else:
        read(reading, line, tokens[0], rest)
    return line


def spaced(tokens: list[Token]) -> str:
    """The tokens as they were written, with one space where there was any."""
    text, stop = "", tokens[0].place.start
    for token in (t for t in tokens if t.lexeme is not Lexeme.BREAK):
        text += (" " if token.place.start > stop else "") + token.text
        stop = token.place.stop
    return text


# --------------------------------------------------------------------------- verbs
# Words of other languages for what the lines of a program say.
_OTHERWISE = dict.fromkeys(("repeat", "for", "while", "times"), "did you mean loop?")


def _verb(reading: Reading, tokens: list[Token]) -> Invocation:
    try:
        invocation = reading.verb(tokens)
    except NotUnderstood as wrong:
        if wrong.place == tokens[0].place and wrong.message.startswith("no verb"):
            word = tokens[0].text
            near = _OTHERWISE.get(word.lower()) or suggest(
                verb_of(word), [*reading.vocabulary, *WORDS]
            )
            wrong.hint = near if near.startswith("did you mean") else wrong.hint
        raise
    _check_verb(reading, invocation, tokens[0].place)
    return invocation


def _check_verb(reading: Reading, invocation: Invocation, place: Span) -> None:
    command = reading.vocabulary[invocation.name]
    if not command.in_programs:
        message = f"{invocation.name} is a word of the prompt, not of a program"
        raise NotUnderstood(message, place, "help lines lists what a program can say")
    for value in invocation.arguments.values():
        if isinstance(value, Ref | New):
            if value.node != reading.node:
                whose = f"{value} is not on {reading.node}, where this program runs"
                raise NotUnderstood(whose, value.place, f"start one on {value.node}")
            return


# --------------------------------------------------------------------------- words
def _alone(_reading: Reading, line: Line, _word: Token, rest: list[Token]) -> None:
    if rest:
        message = f"unexpected {quoted(rest[0].text)}"
        raise NotUnderstood(message, rest[0].place, f"write {WORDS[line.word].usage}")


def _loop(reading: Reading, line: Line, word: Token, rest: list[Token]) -> None:
    if rest:
        line.amount = _number(rest[0], Unit.NUMBER)
        _alone(reading, line, word, rest[1:])


def _sleep(reading: Reading, line: Line, word: Token, rest: list[Token]) -> None:
    if not rest:
        raise _incomplete(line, word)
    line.amount = _number(rest[0], Unit.NS)
    _alone(reading, line, word, rest[1:])


def _number(token: Token, unit: Unit) -> int:
    number = whole(token.text, unit, token.place)
    if number < 1:
        raise NotUnderstood(f"{quoted(token.text)} is too little", token.place, "at least 1")
    return number


def _if(reading: Reading, line: Line, word: Token, rest: list[Token]) -> None:
    line.question = _question(reading, line, word, rest)


def _wait(reading: Reading, line: Line, word: Token, rest: list[Token]) -> None:
    line.question = _question(reading, line, word, rest)
    for path in paths(line.question):
        if path.steps == ("now",):
            message = "wait looks when something happens, not at the clock"
            raise NotUnderstood(message, path.place, "write sleep 10us")


def _poll(reading: Reading, line: Line, word: Token, rest: list[Token]) -> None:
    until = next((at for at, t in enumerate(rest) if t.text == _UNTIL), len(rest))
    verb = Token(Lexeme.WORD, _POLL, word.place)
    line.invocation = _verb(reading, [verb, *rest[:until]])
    if until < len(rest):
        line.question = _question(reading, line, rest[until], rest[until + 1 :])


def _try(reading: Reading, line: Line, word: Token, rest: list[Token]) -> None:
    if rest and rest[0].text in _ERRNOS:
        line.amount, rest = _ERRNOS[rest[0].text], rest[1:]
    if not rest:
        raise _incomplete(line, word)
    line.invocation = _verb(reading, rest)


def _question(reading: Reading, line: Line, word: Token, rest: list[Token]) -> Node:
    if not rest:
        raise _incomplete(line, word)
    start, stop = rest[0].place.start, rest[-1].place.stop
    node: Node = parse_expression(reading.source[start:stop], reading.node, start).node
    _check_question(node)
    return node


def _check_question(node: Node) -> None:
    """Totals and the like are counted over the log; a thread sees what is there."""
    logged = [call.place for call in _calls(node)]
    logged += [path.place for path in paths(node) if path.steps[0] in ("wire", "log")]
    if logged:
        raise NotUnderstood("a program cannot look into the log", logged[0], NOT_FOR_PROGRAMS)


def _calls(node: Node) -> Iterator[Call]:
    if isinstance(node, Call) and not is_function(node):
        yield node
        return
    for each in operands(node):
        yield from _calls(each)


def _incomplete(line: Line, word: Token) -> NotUnderstood:
    return NotUnderstood(f"{word.text} lacks something", word.place, WORDS[line.word].usage)


_READERS: dict[str, Callable[[Reading, Line, Token, list[Token]], None]] = {
    "loop": _loop, "if": _if, "else": _alone, "end": _alone, "wait": _wait, "poll": _poll,
    "sleep": _sleep, "stop": _alone, "try": _try,
}  # fmt: skip


# --------------------------------------------------------------------------- blocks
def _match(lines: list[Line], places: list[Span]) -> None:
    """Each `else` and `end` finds its `if` or `loop`, and each loop has something that takes time.

    Otherwise it would loop without end at the same nanosecond.
    """
    opened: list[int] = []
    for at, line in enumerate(lines):
        if line.word in ("loop", "if"):
            opened.append(at)
        elif line.word in ("else", "end"):
            begun = lines[opened[-1]].word if opened else ""
            if begun not in _BEGUN_BY[line.word]:
                raise NotUnderstood(f"{line.word} of what?", places[at], _WANTED[line.word])
            _CLOSERS[line.word](lines, opened, places, at)
    if opened:
        line = lines[opened[-1]]
        raise NotUnderstood(f"this {line.word} has no end", places[opened[-1]], "write end")


_BEGUN_BY = {"else": ("if",), "end": ("if", "else", "loop")}
_WANTED = {"else": "an if stands before it", "end": "a loop or an if stands before it"}


def _else(lines: list[Line], opened: list[int], _places: list[Span], at: int) -> None:
    lines[opened.pop()].jump = at + 1
    opened.append(at)


def _end(lines: list[Line], opened: list[int], places: list[Span], at: int) -> None:
    begin = opened.pop()
    if lines[begin].word != "loop":
        lines[begin].jump = at
    elif all(line.word in FREE for line in lines[begin:at]):
        raise NotUnderstood("nothing in this loop takes time", places[begin], "add sleep 1us")
    else:
        lines[at].jump = begin + 1


_CLOSERS = {"else": _else, "end": _end}

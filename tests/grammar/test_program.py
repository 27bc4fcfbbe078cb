"""The lines of programs: read, matched, written down again; every mistake at its place."""

import pytest

from rdmalab.command import Invocation, Lines, NotUnderstood
from rdmalab.grammar.format import render
from rdmalab.grammar.line import parse
from rdmalab.grammar.program import MAX_LINES, Line
from rdmalab.vocabulary import VOCABULARY


def started(lines: str) -> Invocation:
    (invocation,) = parse(f"program A.tx lines={{{lines}}}", VOCABULARY, None, file=True)
    return invocation


def read(lines: str) -> list[Line]:
    found = started(lines).arguments["lines"]
    assert isinstance(found, Lines)
    return found.parsed


def mistake(lines: str) -> tuple[str, str, str]:
    """What is said, the text at the place of it, and the hint."""
    line = f"program A.tx lines={{{lines}}}"
    with pytest.raises(NotUnderstood) as caught:
        parse(line, VOCABULARY, None, file=True)
    wrong = caught.value
    return wrong.message, line[wrong.place.start : wrong.place.stop], wrong.hint


def test_a_verb_is_read_as_at_the_prompt() -> None:
    (line,) = read("poll_cq A.cq0 num_entries=4")
    (answer,) = parse("poll_cq A.cq0 num_entries=4", VOCABULARY)
    assert (line.word, line.number, line.invocation) == ("", 1, answer)


def test_names_without_a_node_are_those_of_the_program() -> None:
    line = parse("program B.rx lines={poll_cq cq0; wait cq0.count > 0}", VOCABULARY, "A")[0]
    first, second = line.arguments["lines"].parsed
    assert first.invocation.arguments["cq"].node == "B"
    assert str(second.question.left) == "B.cq0.count"


def test_lines_are_divided_by_semicolons_and_new_lines_and_comments_are_none() -> None:
    lines = read("\n  loop 3 # thrice\n poll_cq A.cq0; sleep 1us\n\n end ")
    assert [line.text for line in lines] == ["loop 3", "poll_cq A.cq0", "sleep 1us", "end"]
    assert [line.amount for line in lines] == [3, 0, 1000, 0]


def test_braces_and_quotes_inside_a_line_divide_nothing() -> None:
    (first, second) = read(
        'write A.mr0[0:3] "a;}"; post_recv A.qp0 wr={wr_id=1\n sg=A.mr0[0:8]} wr={wr_id=2}'
    )
    assert first.text == 'write A.mr0[0:3] "a;}"'
    assert second.text == "post_recv A.qp0 wr={wr_id=1 sg=A.mr0[0:8]} wr={wr_id=2}"


@pytest.mark.parametrize(
    "lines",
    [
        "poll_cq A.cq0",
        "loop; poll A.cq0; end",
        "loop 2; if A.cq0.count == 0; sleep 1.5us; else; poll_cq A.cq0 num_entries=4; end; end",
        "try ENOMEM post_send A.qp0 opcode=SEND sg=A.mr0[0:64]; try poll_cq A.cq0; stop",
        "poll A.cq0 until A.cq0.count == 0 and not A.qp0.state == ERR; wait A.qp0.state == RTS",
        'write A.mr0[0:3] "};\\n"',
    ],
)
def test_written_in_one_line_it_is_the_same(lines: str) -> None:
    invocation = started(lines.replace("; ", " # why\n  "))
    text = render(invocation, VOCABULARY["program"])
    assert "\n" not in text
    (again,) = parse(text, VOCABULARY, None, file=True)
    assert again == invocation
    assert again.arguments["lines"].parsed == invocation.arguments["lines"].parsed


def test_where_each_line_goes_on() -> None:
    lines = read("loop; if A.cq0.count == 0; sleep 1us; else; stop; end; end; stop")
    assert [line.jump for line in lines] == [-1, 4, -1, 5, -1, -1, 1, -1]


@pytest.mark.parametrize(
    ("lines", "message", "at", "hint"),
    [
        ("", "a program has a line at least", "", "write one: poll_cq A.cq0"),
        ("polll A.cq0", 'no verb "polll"', "polll", "did you mean poll?"),
        ("poll_cp A.cq0", 'no verb "poll_cp"', "poll_cp", "did you mean poll_cq?"),
        ("post_sned A.qp0", 'no verb "post_sned"', "post_sned", "did you mean post_send?"),
        ("poll_cq A.cq0; poll_cq A.cq0 num=3", 'no key "num"', "num", "did you mean num_entries?"),
        ("run 5us", "run is a word of the prompt, not of a program", "run",
         "help lines lists what a program can say"),
        ("stop A.tx", 'unexpected "A.tx"', "A.tx", "write stop"),
        ("program A.x lines={stop}", "program is a word of the prompt, not of a program", "program",
         "help lines lists what a program can say"),
        ("poll_cq B.cq0", "B.cq0 is not on A, where this program runs", "B.cq0", "start one on B"),
        ("loop 0; stop; end", '"0" is too little', "0", "at least 1"),
        ("loop x; stop; end", '"x" is not a number', "x", "write 12 or 0x1f"),
        ("sleep 5", '"5" has no unit', "5", "did you mean 5us?"),
        ("sleep", "sleep lacks something", "sleep", "sleep TIME"),
        ("wait", "wait lacks something", "wait", "wait QUESTION"),
        ("wait now > 5us", "wait looks when something happens, not at the clock", "now",
         "write sleep 10us"),
        ("wait A.cq0.count >", "a name or a value is missing here", "", "write A.qp0.state or 12"),
        ("wait not A.cq0.total(status=SUCCESS) == 1", "a program cannot look into the log",
         "A.cq0.total(status=SUCCESS)", "use the current value: A.cq0.total == 4"),
        ("poll A.cq0 until wire.last.psn == 1 or now > 5us", "a program cannot look into the log",
         "wire.last.psn", "use the current value: A.cq0.total == 4"),
        ("if A.cq0.count = 1; stop; end", 'unexpected "="', "=", "did you mean ==?"),
        ("poll", "poll_cq needs cq", "poll", "for example: poll_cq A.cq0 num_entries=4"),
        ("poll A.cq0 until", "until lacks something", "until", "poll CQ [until QUESTION]"),
        ("try ENOMEM", "try lacks something", "try", "try [ERRNO] VERB"),
        ("end", "end of what?", "end", "a loop or an if stands before it"),
        ("loop; stop; else; end", "else of what?", "else", "an if stands before it"),
        ("loop; stop", "this loop has no end", "loop", "write end"),
        ("if A.cq0.count == 0; stop; else; stop", "this else has no end", "else", "write end"),
        ("loop; loop 2; end; end", "nothing in this loop takes time", "loop", "add sleep 1us"),
        ("sleep 1us 2us", 'unexpected "2us"', "2us", "write sleep TIME"),
        ('write A.mr0[0:2] "a', 'this quote is never closed', '"a}', 'end it with "'),
        ("poll_cq (A.cq0", 'this "(" is never closed', "(", "end it with )"),
    ],
)  # fmt: skip
def test_a_mistake_stands_where_it_was_made(lines: str, message: str, at: str, hint: str) -> None:
    assert mistake(lines) == (message, at, hint)


def test_a_program_has_an_end() -> None:
    assert len(read("stop;" * MAX_LINES)) == MAX_LINES
    assert mistake("stop;" * (MAX_LINES + 1))[0] == "a program this long"


def test_lines_are_wanted_in_braces() -> None:
    with pytest.raises(NotUnderstood, match='"stop" are no lines'):
        parse("program A.tx lines=stop", VOCABULARY, "A")


def test_elsewhere_a_semicolon_still_ends_a_command() -> None:
    with pytest.raises(NotUnderstood, match="never closed"):
        parse("post_recv A.qp0 wr={wr_id=1; wr_id=2}", VOCABULARY, "A")

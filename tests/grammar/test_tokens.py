"""The lexer: every character belongs to a token or is white space, and nothing stays open."""

import time

import pytest
from hypothesis import given

from rdmalab.command import NotUnderstood, Span
from rdmalab.grammar.tokens import MAX_DEPTH, Lexeme, folded, scan, scan_expression, tokenize
from tests.grammar.strategies import questions, texts


def shapes(line: str) -> list[str]:
    return [f"{t.lexeme.name}:{t.text}" for t in scan(line)]


def test_a_command_in_tokens() -> None:
    assert shapes('write A.mr0[0:5] "a \\"b" # why') == [
        *("WORD:write", "WORD:A.mr0", "OPERATOR:[", "WORD:0:5", "OPERATOR:]"),
        *('STRING:"a \\"b"', "COMMENT:# why"),
    ]


def test_words_may_hold_dashes_but_no_arrow() -> None:
    assert shapes("no-completion A->B x!=y @a-") == [
        *("WORD:no-completion", "WORD:A", "OPERATOR:->", "WORD:B"),
        *("WORD:x", "OPERATOR:!=", "WORD:y", "WORD:@a-"),
    ]


def test_a_hash_starts_a_comment_only_where_a_word_starts() -> None:
    assert shapes("a#b;#c") == ["WORD:a#b", "BREAK:;", "COMMENT:#c"]


def test_a_comment_ends_with_its_line() -> None:
    assert shapes("a # b\nc") == ["WORD:a", "COMMENT:# b", "BREAK:\n", "WORD:c"]


@pytest.mark.parametrize(
    ("line", "shape"),
    [
        ("run 10 us", ["WORD:run", "WORD:10 us"]),
        ("x=1.5 ms y", ["WORD:x", "OPERATOR:=", "WORD:1.5 ms", "WORD:y"]),
        ("why at=ev 120 x", ["WORD:why", "WORD:at", "OPERATOR:=", "WORD:ev 120", "WORD:x"]),
        ("prev 3 ev x", ["WORD:prev", "WORD:3", "WORD:ev", "WORD:x"]),
        ("sleep 3 s;sleep 4  ns}", [
            *("WORD:sleep", "WORD:3 s", "BREAK:;", "WORD:sleep", "WORD:4  ns", "OPERATOR:}"),
        ]),
        ("rate=25 Gbps", ["WORD:rate", "OPERATOR:=", "WORD:25 Gbps"]),
        ("a 10 us=1", ["WORD:a", "WORD:10", "WORD:us", "OPERATOR:=", "WORD:1"]),
        ("a 10 us =1", ["WORD:a", "WORD:10", "WORD:us", "OPERATOR:=", "WORD:1"]),
        ("step 2 S", ["WORD:step", "WORD:2", "WORD:S"]),
        ("a 10 user", ["WORD:a", "WORD:10", "WORD:user"]),
        ("qp0 us", ["WORD:qp0", "WORD:us"]),
    ],
)  # fmt: skip
def test_a_number_and_its_unit_may_have_a_space_between(line: str, shape: list[str]) -> None:
    assert shapes(line) == shape


@given(texts)
def test_tokens_and_white_space_are_the_whole_text(text: str) -> None:
    at = 0
    for token in scan(text):
        assert text[at : token.place.start].strip() == ""
        assert text[token.place.start : token.place.stop] == token.text
        at = token.place.stop
    assert text[at:].strip() == ""


@given(questions)
def test_tokens_of_a_question_know_their_columns(text: str) -> None:
    for token in scan_expression(text, 7):
        assert text[token.place.start - 7 : token.place.stop - 7] == token.text


@pytest.mark.parametrize(
    ("line", "place", "hint"),
    [
        ('write "hello', (6, 12), 'end it with "'),
        ('write "hello\\"', (6, 14), 'end it with "'),
        ("a wr={b", (5, 6), "end it with }"),
        ("a wr={b ; c", (5, 6), "end it with }"),
        ("a mr0[0:5 b", (5, 6), "end it with ]"),
        ("a (\n)", (2, 3), "end it with )"),
        ("a }", (2, 3), "leave it out"),
        ("a {b]", (4, 5), "write }"),
        ("{" * (MAX_DEPTH + 1), (MAX_DEPTH, MAX_DEPTH + 1), f"at most {MAX_DEPTH} levels"),
    ],
)
def test_what_is_open_is_named(line: str, place: tuple[int, int], hint: str) -> None:
    with pytest.raises(NotUnderstood) as wrong:
        tokenize(line)
    assert (wrong.value.place, wrong.value.hint) == (Span(*place), hint)


def test_braces_may_hold_a_new_line() -> None:
    assert [t.lexeme for t in tokenize("{a\nb}")].count(Lexeme.BREAK) == 1


def test_each_brace_finds_its_end_once() -> None:
    line = "program A.x " + "lines={ " * 20_000
    start = time.process_time()
    tokens = scan(line)
    assert folded(line, tokens) == tokens
    assert time.process_time() - start < 2

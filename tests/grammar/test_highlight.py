"""Colours: every character once, from the same reading as the parser's."""

from itertools import pairwise

import pytest
from hypothesis import given

from rdmalab.grammar.highlight import Role, paint
from rdmalab.vocabulary import VOCABULARY as WORDS
from tests.grammar.strategies import texts
from tests.grammar.vocabulary import ALIASES, VOCABULARY

LETTERS = {
    Role.SPACE: " ", Role.VERB: "v", Role.KEY: "k", Role.ENUM: "e", Role.NUMBER: "n",
    Role.STRING: "s", Role.NAME: "a", Role.KEYWORD: "w", Role.WORD: ".", Role.OPERATOR: "o",
    Role.COMMENT: "c", Role.ERROR: "!",
}  # fmt: skip


def painted(line: str) -> str:
    strokes = paint(line, VOCABULARY, "A", ALIASES)
    return "".join(LETTERS[role] * (place.stop - place.start) for place, role in strokes)


LINES = [
    "post_send A.qp0 opcode=SEND flags=FENCE|0x100 rkey=B.mr0 wr_id=0x7  # why",
    "vvvvvvvvv aaaaa kkkkkkoeeee kkkkkoeeeeeonnnnn kkkkoaaaaa kkkkkonnn  ccccc",
    "post_send qp0 wr={opcode=SEND sg=mr0[0:5],{addr=1}} wr={x=1 opcode=SENT}",
    "vvvvvvvvv aaa kkookkkkkkoeeee kkoaaaoaaaoookkkkonoo kkoo!o. kkkkkko!!!!o",
    'write A.mr0[0:5] "hello \\n" ; nonsense 12',
    "vvvvv aaaaaoaaao ssssssssss o !!!!!!!! ..",
    'write A.mr0 "hel',
    "vvvvv aaaaa ssss",
    "fault drop B->A opcode=ACK by=3us",
    "vvvvv wwww aooa kkkkkko... kkonnn",
    "s 5 pakcet",
    "v n !!!!!!",
    "until A.qp0.state == ERR and wire.count(from=A) > 2 within 2ms",
    "vvvvv aoaaaoaaaaa oo eee www aaaaoaaaaaokkkkoeo o n kkkkkk nnn",
    'until why(qp0.wr[7]) == "x" and not B.idle',
    "vvvvv aaaoaaaoaaonoo oo sss www www aoaaaa",
    "post_send qp0 flag=1 sg=NULL opcode= bad_wr=on",
    "vvvvvvvvv aaa !!!!o. kkowwww !!!!!!o kkkkkkonn",
    "modify_qp A.qp0 dest_qp_num=1x rq_psn=7",
    "vvvvvvvvv aaaaa kkkkkkkkkkko!! kkkkkkon",
    "poll_cq A.cq0 num_entries={a=1}",
    "vvvvvvv aaaaa kkkkkkkkkkko!!!!!",
    "fault drop A->B drop",
    "vvvvv wwww aooa !!!!",
]


@pytest.mark.parametrize(("line", "roles"), list(zip(LINES[::2], LINES[1::2], strict=True)))
def test_a_line_in_colour(line: str, roles: str) -> None:
    assert painted(line) == roles


@given(texts)
def test_every_character_is_painted_once(text: str) -> None:
    at = 0
    for place, _ in paint(text, VOCABULARY, "A", ALIASES):
        assert place.start == at < place.stop
        at = place.stop
    assert at == len(text)


@given(texts)
def test_neighbours_differ(text: str) -> None:
    roles = [role for _, role in paint(text, VOCABULARY, None, ALIASES)]
    assert all(a is not b for a, b in pairwise(roles))


@pytest.mark.parametrize("end", ["", "}"])
def test_each_line_of_a_program_is_painted_separately(end: str) -> None:
    line = f"program A.tx lines={{loop 2; poll_cq A.cq0; plol; end{end}"
    strokes = paint(line, WORDS, "A")
    roles = {line[place.start : place.stop]: role for place, role in strokes}
    assert roles["program"] is roles["poll_cq"] is Role.VERB
    assert roles["loop"] is roles["end"] is Role.KEYWORD
    assert roles["A.cq0"] is roles["A.tx"] is Role.NAME
    assert roles["plol"] is Role.ERROR
    assert "".join(line[place.start : place.stop] for place, _ in strokes) == line

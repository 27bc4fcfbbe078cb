"""Questions that cannot mean anything are refused before they are asked, in every face."""

import pytest

from rdmalab.command import NotUnderstood
from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab
from rdmalab.scenario.loader import FileError, loads
from rdmalab.views.query_fields import fields
from rdmalab.views.query_types import check_types, nouns_by_prefix
from rdmalab.vocabulary import VOCABULARY
from tests.each import each
from tests.labs import misread

SENSELESS = [
    ("wire.last.opcode == FOO", '"FOO" is no opcode'),
    ("wire.last.opcode == NACK", '"NACK" is no opcode'),
    ("wire.count(opcode=FOO) == 1", '"FOO" is no opcode'),
    ("wire.any(syndrome=NACK)", '"NACK" is no syndrome'),
    ("wire.count(opcod=ACK) == 1", 'wire.count has no "opcod"'),
    ("log.any(errno=ENOMEN)", '"ENOMEN" is no errno'),
    ("A.cq0.total(status=SUCESS) == 1", '"SUCESS" is no completion status'),
    ("A.qp0.state == RST", '"RST" is no QP state'),
    ("now > 0 and not A.qp0.state == RST", '"RST" is no QP state'),
    ("A.qp0.stat == RTS", 'A.qp0 has no "stat"'),
    ("A.cq0.next.status == SUCESS", '"SUCESS" is no completion status'),
    ("A.cq0.next.status.name == SUCCESS", "A.cq0.next.status has no fields"),
    ("A.cq0.count == many", 'a number is never compared with the word "many"'),
    ("A.mr0[0:4] == 7", "a range of bytes is never compared with a number"),
    ("A.mr0[0] == FOO", 'a number is never compared with the word "FOO"'),
    ("A.qp0.wr[7].status == FOO", '"FOO" is no state of a work request'),
    ("A.port.state == ACTIV", '"ACTIV" is no port state'),
    ("A.cq0.total(status!=SUCESS) == 1", '"SUCESS" is no completion status'),
    ("A.cq0.total(statu!=SUCCESS) == 1", 'A.cq0.total has no "statu"'),
    ("any(A.qp.stat == RTS)", 'A.qp has no "stat"'),
    ("count(B.qp.state == RST) > 0", '"RST" is no QP state'),
    ("min(A.cq0.cout, 2) == 1", 'A.cq0 has no "cout"'),
    ("A.qp0.wr[7].complete_ns > 1", 'A.qp0.wr[7] has no "complete_ns"'),
    ("B.cq0.totl(status=SUCCESS) == 1", "B.cq0.totl cannot be called"),
    ("wire.counts(psn=1) == 1", "wire.counts cannot be called"),
    ("A.qp0.path_mtu == 1000000 and idle == perhaps", "a yes or no is never compared"),
]


def refusal(question: str) -> NotUnderstood:
    with pytest.raises(NotUnderstood) as refused:
        check_types(parse_expression(question).node, nouns_by_prefix)
    return refused.value


@each("question, message", SENSELESS)
def test_type_errors_are_found_without_a_world(question: str, message: str) -> None:
    refused = refusal(question)
    assert refused.message.startswith(message)
    assert refused.hint


def test_a_misspelled_call_has_the_name_that_was_meant() -> None:
    assert refusal("B.cq0.totl() > 0").hint == "did you mean B.cq0.total?"
    assert refusal("log.cont() > 0").hint == "did you mean log.count?"


@pytest.mark.parametrize("word", ["break ", "watch ", "until ", "trace "])
@pytest.mark.parametrize(("question", "message"), SENSELESS)
def test_it_is_refused_at_the_prompt_and_nothing_is_set(
    word: str, question: str, message: str
) -> None:
    lab = Lab()
    lab.do("use rc_pair")
    event = lab.session.world.event
    assert misread(lab, f"{word}{question}").message.startswith(message)
    assert not lab.session.breakpoints
    assert lab.session.world.event == event


@pytest.mark.parametrize("line", ["wait", "if", "poll A.cq0 until"])
def test_it_is_refused_in_a_program(line: str) -> None:
    lab = Lab()
    lab.do("use rc_pair")
    end = "; end" if line == "if" else ""
    wrong = misread(lab, f"program A.x lines={{{line} A.qp0.state == RST{end}}}")
    assert wrong.message == '"RST" is no QP state'
    assert wrong.hint == "did you mean RESET?"


def test_it_is_refused_in_python() -> None:
    lab = Lab()
    lab.do("use rc_pair")
    with pytest.raises(NotUnderstood, match="is no completion status"):
        lab.look("A.cq0.next.status == SUCESS")  # no completion is there yet


@pytest.mark.parametrize(
    "step",
    ["- do: step\n  expect:\n  - A.qp0.state == RST", "- run: until A.qp0.state == RST",
     "- do: break A.qp0.state == RST",
     "- why: A.qp0\n  cause: sqd\n  goal:\n  - A.qp0.state == RST"],
)  # fmt: skip
def test_a_file_with_it_cannot_be_played(step: str) -> None:
    with pytest.raises(FileError) as wrong:
        loads(f"rdmalab: 1\ntitle: t\nsteps:\n- use rc_pair\n{step}\n", "f", VOCABULARY)
    assert wrong.value.message == '"RST" is no QP state'
    assert wrong.value.hint == "did you mean RESET?"
    assert wrong.value.place is not None
    assert wrong.value.text.splitlines()[wrong.value.place.line - 1].endswith("RST")


def test_a_program_of_a_file_with_it_cannot_be_played() -> None:
    text = (
        "rdmalab: 1\ntitle: t\nprograms:\n  A.x: [step, 'wait A.qp0.state == RST']\nsteps: [run]\n"
    )
    with pytest.raises(FileError):
        loads(text, "f", VOCABULARY)


@each(
    "question",
    ["wire.last.opcode == ACK", "A.mine.state == RTS", "A.mine.count == 1", "A.qp0.srq == NULL",
     "A.cq0.next.status == IBV_WC_SUCCESS", "A.mr0[0:5] == \"hello\"", "A.mr0[7] == 0x41",
     "A.qp0.state == 3", "log.last.errno == ENOMEM", "log.last.errno == 0", "idle", "now >= 10us",
     'why(A.qp0.wr[7]) == "rem-access"', "why(A.qp0.wr[7]) == rem", "wire.last.opcode == \"ACK\"",
     "any(A.qp.state == RTS)", "count(A.mr) // 2 == 1", "log.count(verb!=poll_cq, since=@x) > 1",
     "B.qp0.recv_wr[3].posted_ns < 10us", "all(A.cq.total(opcode!=RECV) == max(1, 2))",
     "A.qp0.sq.max_used == 1", "wire.count(from=A, len=64) == 2"],
)  # fmt: skip
def test_what_may_mean_something_is_asked(question: str) -> None:
    check_types(parse_expression(question).node, nouns_by_prefix)


@each("path", sorted({row.path for row in fields() if "(" not in row.path}))
def test_every_field_that_can_be_asked_has_a_type(path: str) -> None:
    check_types(parse_expression(path).node, nouns_by_prefix)


def test_a_name_is_what_the_commands_of_the_file_make_of_it() -> None:
    text = (
        "rdmalab: 1\ntitle: t\nsteps:\n- alloc_pd A.qp0\n- do: step\n  expect: [A.qp0.used == 0]\n"
    )
    with pytest.raises(FileError, match='has no "used"'):
        loads(text, "f", VOCABULARY)

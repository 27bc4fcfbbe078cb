from rdmalab.command import Noun
from rdmalab.grammar.partial import expect
from rdmalab.hca.qp import QueuePair
from rdmalab.shell.completion_context import CompletionContext, about, rights
from tests.shell.prompts import Prompt


def bearings(prompt: Prompt, line: str) -> CompletionContext:
    session = prompt.lab.session
    return CompletionContext(session, expect(line, len(line), session.vocabulary, "A"), line)


def test_context_has_the_node_given_arguments_and_objects() -> None:
    here = bearings(Prompt("use rc_pair"), "modify_qp B.qp0 state=RTS timeout=14 ")
    assert here.node == "B"
    assert here.given("attr", "timeout") == 14
    assert here.given("attr", "rnr_retry") is None
    qp = here.object("qp")
    assert isinstance(qp, QueuePair)
    assert qp.number == 0x11


def test_what_was_destroyed_is_not_found() -> None:
    here = bearings(Prompt("use rc_pair", "destroy_qp B.qp0"), "modify_qp B.qp0 state=RTS ")
    assert here.object("qp") is None


def test_flags_that_are_there_already() -> None:
    here = bearings(Prompt(), "reg_mr A.mr1 access=LOCAL_WRITE|remote_read|RE")
    assert here.flags_before() == {"LOCAL_WRITE", "REMOTE_READ"}


def test_a_few_words_on_each_thing() -> None:
    session = Prompt("use rc_pair").lab.session
    lines = [about(session.world, session.names.thing_of[name]) for name in session.names.all()]
    assert "RC 0x11 RTS" in lines
    assert "0/16 completions" in lines
    here = {noun for noun in Noun if session.names.all(noun)}
    assert here == {Noun.NODE, Noun.PD, Noun.MR, Noun.CQ, Noun.QP}
    assert rights(0) == "read by its own HCA only"

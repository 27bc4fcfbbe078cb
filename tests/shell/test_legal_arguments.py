import pytest

from rdmalab.command import Noun
from rdmalab.grammar.partial import expect
from rdmalab.hca.qp import QueuePair
from rdmalab.shell.legal_arguments import CompletionContext, about, rights
from rdmalab.shell.prompt_setup import choices
from rdmalab.spec.states import MOVES, QPState, QPType, fields_of
from tests.shell.prompts import Prompt

UP = (
    "modify_qp A.qp0 state=INIT port_num=1 pkey_index=0 qp_access_flags=0",
    "to_rts A.qp0 B.qp0",
    "modify_qp A.qp0 state=SQD",
)


@pytest.mark.parametrize("height", range(len(UP) + 1))
def test_what_is_offered_is_what_the_table_takes(height: int) -> None:
    session = Prompt("use rc_pair", "reset A.qp0", *UP[:height]).lab.session
    now = session.world.nodes["A"].qps.items[0x11].state
    for to in QPState:
        move = MOVES.get((QPType.RC, now, to))
        line = f"modify_qp A.qp0 state={to.name} "
        keys = {choice.text.rstrip("=") for choice in choices(session, line, len(line))[0]}
        taken = set(fields_of(move.required | move.optional)) if move else set()
        # on RoCE there is no alternate path; `ah=B` says all of ah_attr
        wanted = {"ah" if n == "ah_attr" else n for n in taken if not n.startswith("alt_")}
        assert keys == wanted, line


def test_an_alternate_path_is_offered_on_an_infiniband_port() -> None:
    session = Prompt("use rc_pair link_layer=InfiniBand").lab.session
    line = "modify_qp A.qp0 alt_timeout=14 "
    keys = {choice.text.rstrip("=") for choice in choices(session, line, len(line))[0]}
    assert {"alt_ah", "alt_pkey_index", "alt_port_num", "path_mig_state"} <= keys
    assert "alt_timeout" not in keys


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

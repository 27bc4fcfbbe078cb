"""What panes are handed."""

from rdmalab.command import Noun
from rdmalab.lab import Lab
from rdmalab.session.names import Names
from rdmalab.tui.app_model import AppModel
from rdmalab.tui.world_view import REACH, WorldView
from rdmalab.world.world import World


def lab_and_view() -> tuple[Lab, WorldView]:
    lab = Lab()
    lab.do("use rc_pair")
    return lab, WorldView(AppModel(lab))


def test_a_sentence_that_means_nothing_shows_why() -> None:
    _, it = lab_and_view()
    view = it.view_of("show A.qp9")
    assert view.rows == []
    assert "A.qp9" in view.hint


def test_looking_leaves_no_trace() -> None:
    lab, it = lab_and_view()
    before = (len(lab.session.journal), len(lab.session.world.trace.records), len(lab.all_replies))
    it.view_of("show A.qp0")
    assert before == (
        len(lab.session.journal),
        len(lab.session.world.trace.records),
        len(lab.all_replies),
    )


def test_nodes_by_side() -> None:
    _, it = lab_and_view()
    assert [it.node(0), it.node(1), it.node(2)] == ["A", "B", ""]


def test_the_peer_of_what_was_named_is_meant_too() -> None:
    lab, it = lab_and_view()
    for node in "AB":
        made = f"create_qp {node}.qp1 pd={node}.pd0 qp_type=RC send_cq={node}.cq0"
        lab.do(f"{made} recv_cq={node}.cq0 max_send_wr=4 max_recv_wr=4")
    lab.do("connect A.qp1 B.qp1")
    lab.do("post_recv A.qp0 sg=A.mr0[0:64]")
    assert [it.name(t) for n in "AB" if (t := it.meant(n, Noun.QP))] == ["A.qp0", "B.qp0"]
    lab.do("post_recv B.qp1 sg=B.mr0[0:64]")
    assert [it.name(t) for n in "AB" if (t := it.meant(n, Noun.QP))] == ["A.qp1", "B.qp1"]


def test_within_a_frame_a_sentence_is_looked_up_once_and_never_afterwards() -> None:
    lab, it = lab_and_view()
    with it.frame():
        assert it.view_of("show A.qp0") is it.view_of("show A.qp0")
    before = it.view_of("show cq").rows
    lab.do("create_cq A.cq1 cqe=4")
    assert it.view_of("show cq").rows != before


def test_what_a_pane_asks_reaches_back_so_far_and_no_further() -> None:
    lab, it = lab_and_view()
    lab.do("post_recv B.qp0 sg=B.mr0[0:64]")
    lab.do("post_send A.qp0 opcode=SEND sg=A.mr0[0:64]; run")
    assert it.view_of("show wire").rows
    for _ in range(REACH // 2):
        lab.do("write A.mr0[0:1] 1")
    view = it.view_of("show wire last=20")
    assert (view.rows, view.hint) == (
        [],
        f"no packet in the last {REACH:,} records: show wire looks further back",
    )
    (reply,) = lab.do("show wire last=20")
    assert len(reply.value.rows) == 2
    assert lab.session.world.trace.reach == 0


def test_a_question_is_asked_once_a_frame_and_reaches_back_so_far() -> None:
    lab, it = lab_and_view()
    asked: list[int] = []

    def question(world: World, names: Names, number: int) -> int:
        asked.append(world.trace.reach)
        assert names is lab.session.names
        return number + 1

    with it.frame():
        assert [it.ask(question, 1), it.ask(question, 1), it.ask(question, 2)] == [2, 2, 3]
    assert asked == [REACH, REACH]
    assert it.ask(question, 1) == 2
    assert lab.session.world.trace.reach == 0


def test_what_a_key_chose_is_meant_until_a_command_names_another() -> None:
    lab, it = lab_and_view()
    lab.do("use rc_pair")
    lab.do("use rc_pair")

    def meant() -> list[str]:
        return [it.name(t) for n in "AB" if (t := it.meant(n, Noun.QP))]

    assert meant() == ["A.qp2", "B.qp2"]
    it.choose("B.qp0")
    assert meant() == ["A.qp0", "B.qp0"]
    lab.do("post_recv A.qp1 sg=A.mr1[0:64]")
    assert meant() == ["A.qp1", "B.qp1"]
    it.choose("A.qp0")
    lab.do("destroy_qp A.qp0")
    assert meant() == ["A.qp1", "B.qp1"]
    it.choose("A.nothing")
    assert meant() == ["A.qp1", "B.qp1"]

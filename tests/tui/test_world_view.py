"""What panes are handed."""

from rdmalab.command import Noun
from rdmalab.lab import Lab
from rdmalab.session.names import Names
from rdmalab.tui.app_model import AppModel
from rdmalab.tui.world_view import REACH, WireRows, WorldView
from rdmalab.views import ladder
from rdmalab.world.world import World
from tests.labs import well


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


# --------------------------------------------------------------------------- rows of the wire
SEND = "post_send A.qp0 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED"
WRITE = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:600] remote=B.mr0[0] flags=SIGNALED"


def polling() -> Lab:
    """A program polls for a SEND whose receive is missing."""
    lab = Lab()
    well(lab, "use rc_pair")
    lab.start("A.tx", [f"{SEND} wr_id=7", "poll A.cq0"])
    return lab


def texts(lab: Lab, rows: WireRows, last: int = 20) -> list[str]:
    return [row.text for row in rows.newest(lab.session, last)]


def expected(lab: Lab, last: int = 20) -> list[str]:
    found = ladder.rows(lab.session.world, lab.session.names, last=last)
    return [row.text for row in found]


def test_packets_stay_however_many_polls_come() -> None:
    lab, rows = polling(), WireRows(500)
    for _ in range(4):
        well(lab, "step 3000")
        assert texts(lab, rows) == expected(lab)
    assert len(texts(lab, rows)) >= 6


def test_only_the_newest_rows_are_given_and_more_if_they_are_asked_for() -> None:
    lab, rows = Lab(), WireRows(500)
    for line in ("use rc_pair", *[WRITE, "run"] * 4):
        well(lab, line)
    for last in (3, 10, 5, 10):
        assert texts(lab, rows, last) == expected(lab, last)


def test_a_packet_in_flight_is_read_again_until_it_has_arrived() -> None:
    lab, rows = Lab(), WireRows(500)
    for line in ("use rc_pair", WRITE):
        well(lab, line)
    fates = []
    for _ in range(8):
        well(lab, "step 1")
        fates.append([row.fate_text for row in rows.newest(lab.session, 20)])  # type: ignore[union-attr]
        now = ladder.rows(lab.session.world, lab.session.names, last=20)
        assert fates[-1] == [row.fate_text for row in now]  # type: ignore[union-attr]
    assert len({str(each) for each in fates}) > 2


def test_the_past_and_another_branch_have_their_own_packets() -> None:
    lab, rows = Lab(), WireRows(500)
    for line in ("use rc_pair", WRITE, "run", WRITE, "run"):
        well(lab, line)
    for line in ("back 3", "back 2", "forward", "goto 16", SEND, "run 3us", "switch main"):
        texts(lab, rows)
        lab.do(line)
        assert texts(lab, rows) == expected(lab), line


def test_another_session_begins_with_its_own_packets() -> None:
    lab, rows = polling(), WireRows(500)
    well(lab, "step 1000")
    assert texts(lab, rows)
    assert texts(Lab(), rows) == []

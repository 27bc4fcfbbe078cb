import pytest

from rdmalab.command import NotUnderstood
from rdmalab.lab import Lab
from rdmalab.views.completions import CqRow
from rdmalab.views.ladder import PacketRow
from rdmalab.views.queues import QpRow
from rdmalab.views.states import DiagramRow
from rdmalab.workbench.show import Leave, View


def lab(*lines: str) -> Lab:
    made = Lab()
    for line in ("use rc_pair", *lines):
        assert not any(reply.failed for reply in made.do(line))
    return made


def view(of: Lab, line: str) -> View:
    found = of.do(line)[-1].value
    assert isinstance(found, View)
    return found


def test_a_name_alone_shows_the_thing() -> None:
    found = view(lab(), "show qp0")
    assert found.title == "A.qp0"
    assert [type(row) for row in found.rows] == [DiagramRow, QpRow]


def test_everything_in_brief() -> None:
    found = view(lab(), "show")
    assert sum(isinstance(row, QpRow) for row in found.rows) == 2
    assert sum(isinstance(row, CqRow) for row in found.rows) == 2


def test_the_wire_is_filtered() -> None:
    busy = lab("post_send A.qp0 opcode=SEND sg=A.mr0[0:64]", "step 5")
    assert {row.opcode for row in view(busy, "show wire opcode=ACKNOWLEDGE").rows} == {
        "ACKNOWLEDGE"
    }
    assert {row.source for row in view(busy, "show wire from=B").rows} == {"B"}
    assert {row.source for row in view(busy, "show wire A->B").rows} == {"A"}
    assert len(view(busy, "show wire psn=0 last=1").rows) == 1
    assert isinstance(view(busy, "show wire").rows[0], PacketRow)


def test_only_what_is_meant_is_shown() -> None:
    both = lab()
    assert len(view(both, "show cq A.cq0").rows) == 1
    assert len(view(both, "show cq B").rows) == 1
    assert len(view(both, "show pd").rows) == 2
    unclear = both.do("show sq")[-1].error
    assert isinstance(unclear, NotUnderstood)
    assert unclear.hint == "there is: A.qp0 B.qp0"


def test_changes_of_any_event() -> None:
    some = lab()
    assert [row.text for row in view(some, "changes 0").rows] == ["A.pd0.exists no → yes"]
    assert view(some, "changes").title == "changes of event 13"


def test_the_journal_is_canonical() -> None:
    rows = view(lab(), "show journal last=1").rows
    assert rows[0].text.startswith("modify_qp B.qp0 qp_state=RTS timeout=14")


def test_the_default_node() -> None:
    some = lab("node B")
    assert some.session.default_node == "B"
    assert view(some, "show qp0").title == "B.qp0"


def test_quit_asks_to_leave() -> None:
    assert isinstance(lab().do("quit")[-1].value, Leave)


def test_changes_name_every_field_that_differs() -> None:
    """All that `diff` finds between the moments before and after, but what follows from it."""
    busy = lab("post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED", "step 5")
    assert [row.text for row in view(busy, "changes 15").rows] == [
        "A.qp0.wr[1].status POSTED → ON_WIRE", "A.qp0.sq.waiting 1 → 0", "A.qp0.sq.on_wire 0 → 1",
        "A.qp0.next_psn 0 → 1", "A.qp0.ack_timer.armed no → yes",
        "A.qp0.ack_timer.at_ns - → 67108964",
    ]  # fmt: skip
    for event in range(1, 20):
        names = {row.text.partition(" ")[0] for row in view(busy, f"changes {event}").rows}
        for row in view(busy, f"diff ev{event - 1} ev{event}").rows:
            path = f"{row.name}.{row.field}".lstrip(".")
            follows = path.rpartition(".")[2] in ("now", "free", "left_ns")
            made = row.old == "(does not exist)"
            assert path in names or follows or made or row.name, (event, row)
    assert view(busy, "show time").rows[0].event == 19


def test_changes_of_any_moment_and_of_what_is_still_to_come() -> None:
    busy = lab("post_send A.qp0 opcode=SEND sg=A.mr0[0:64]", "step 1", "checkpoint left")
    left = [row.text for row in view(busy, "changes").rows]
    assert left
    busy.do("run 2us")
    busy.do("goto 5")
    for moment in ("15", "ev15", "@left", "0.1us"):
        found = view(busy, f"changes {moment}")
        assert (found.title, [row.text for row in found.rows]) == ("changes of event 15", left)
    assert busy.session.world.event == 5


def test_an_event_that_never_was_has_not_changed_nothing() -> None:
    some = lab()
    wrong = some.do("changes 999")[-1].error
    assert isinstance(wrong, NotUnderstood)
    assert wrong.message == "there is no event 999 yet"
    assert view(some, "changes start").title == "changes of the start"


@pytest.mark.parametrize("noun", ["qp", "cq", "mr", "srq", "ah", "mw", "channel", "program"])
def test_a_list_of_nothing_says_once_what_to_type(noun: str) -> None:
    hint = view(Lab(), f"show {noun}").hint
    assert hint.startswith("no ")
    assert hint.endswith("; begin with: use rc_pair")
    assert hint.count(": ") == 1


def test_an_empty_world_offers_the_protection_domain_with_which_one_begins_by_hand() -> None:
    assert view(Lab(), "show pd").hint.endswith("; type: alloc_pd A.pd0, or use rc_pair")

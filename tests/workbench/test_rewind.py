"""The words of the past: checkpoints, branches, and what differs between two moments."""

import pytest

from rdmalab.lab import Lab
from rdmalab.workbench.rewind import BranchRow, CheckpointRow
from rdmalab.workbench.view_requests import View
from tests.labs import BUSY, RECV, SEND, everything, lab_of, misread, refusal, trip, well

WRITE = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:64] remote=B.mr0[100] flags=SIGNALED"


def printed(lab: Lab, line: str) -> list[str]:
    view = well(lab, line).value
    assert isinstance(view, View)
    return [row.text for row in view.rows]


def branch(lab: Lab) -> str:
    return lab.session.history.branch.name


def written() -> Lab:
    return lab_of('write A.mr0[0:5] "hello"', WRITE, "run")


# --------------------------------------------------------------------------- branches
def test_a_command_in_the_past_opens_a_branch_and_so_does_a_refused_one() -> None:
    lab = written()
    end = everything(lab)
    trip(lab, "goto 13")
    well(lab, "alloc_pd A.pd1")
    assert branch(lab) == "branch-1"
    trip(lab, "goto 13")
    assert refusal(lab, "post_send A.qp0 opcode=SEND sg=A.mr0[0:64] num_sge=9").errno
    assert branch(lab) == "branch-2"
    well(lab, "switch main")
    assert everything(lab) == end


@pytest.mark.parametrize(
    "line",
    ["post_sned A.qp0", "destroy_qp A.qp7", "show A.qp0", "break idle", "checkpoint x",
     "diff start", "trace idle", "faults", "changes"],
)  # fmt: skip
def test_what_is_not_understood_or_only_looks_does_not(line: str) -> None:
    lab = written()
    trip(lab, "goto 13")
    before = everything(lab)
    lab.do(line)
    assert (branch(lab), everything(lab)) == ("main", before)
    assert not lab.session.history.live


def test_at_the_end_of_a_branch_it_goes_on_without_another() -> None:
    lab = written()
    trip(lab, "goto 13")
    trip(lab, "goto end")
    well(lab, WRITE)
    assert list(lab.session.history.branches) == ["main"]


def test_names_and_their_things_belong_to_a_branch() -> None:
    lab = written()
    trip(lab, "goto 13")
    well(lab, "alloc_pd A.mine")
    well(lab, "destroy_qp A.qp0")
    assert refusal(lab, "query_qp A.qp0").errno
    well(lab, "switch main")
    assert misread(lab, "dealloc_pd A.mine").message == "nothing is called A.mine"
    well(lab, "query_qp A.qp0")
    well(lab, "alloc_pd A.mine")
    well(lab, "switch branch-1")
    well(lab, "dealloc_pd A.mine")


def test_branches_of_branches_are_listed_with_the_checkpoints() -> None:
    lab = written()
    well(lab, "checkpoint all")
    trip(lab, "goto 15")
    well(lab, SEND)
    trip(lab, "goto 14")
    well(lab, RECV)
    well(lab, "checkpoint mine")
    view = well(lab, "branches").value
    assert [row.text for row in view.rows] == [
        "  main  20 events, 16 commands",
        "  branch-1  from main at ev 15: 17 events, 17 commands",
        "* branch-2  from branch-1 at ev 14: 16 events, 16 commands",
        "@all  ev 19 at 2.217 us on main",
        "@mine  ev 15 at 0.000 us on branch-2",
    ]
    assert {type(row) for row in view.rows} == {BranchRow, CheckpointRow}
    trip(lab, "goto start")
    assert printed(lab, "branches")[2].startswith("* branch-2  from branch-1 at ev 14: 16 events")


def test_a_checkpoint_that_is_given_again_moves() -> None:
    lab = written()
    well(lab, "checkpoint x")
    trip(lab, "back 3")
    assert well(lab, "checkpoint x").value == (
        "@x is event 16 at 0.100 us, no longer event 19 at 2.217 us"
    )
    trip(lab, "goto end")
    trip(lab, "goto @x")
    assert lab.session.world.event == 16


def test_to_the_branch_one_is_on_is_to_its_end() -> None:
    lab = written()
    end = everything(lab)
    trip(lab, "goto 3")
    assert well(lab, "switch main").value == "on main, at event 19, 2.217 us"
    assert everything(lab) == end
    error = misread(lab, "switch other")
    assert (error.message, error.hint) == ("no branch is called other", "there is: main")
    assert (error.place.start, error.place.stop) == (7, 12)


# --------------------------------------------------------------------------- diff
def test_what_differs_field_by_field_and_byte_by_byte() -> None:
    found = printed(written(), "diff 14")
    assert "now 0.000 us → 2.217 us" in found
    assert "A.cq0.count 0 → 1" in found
    assert "A.cq0.last - → wr0 RDMA_WRITE SUCCESS" in found
    assert "B.mr0[100].5 bytes 00 00 00 00 00 → 68 65 6c 6c 6f" in found
    assert not any(line.startswith("A.mr0[") for line in found)


@pytest.mark.parametrize(
    "moments",
    [
        "start",
        "start end",
        "end start",
        "ev14 1us",
        "@there",
        "@there @here",
        "@here @there",
        "1us",
    ],
)
def test_the_world_is_as_it_was_afterwards(moments: str) -> None:
    lab = lab_of(*BUSY, "checkpoint there", "run", "goto 15", "alloc_pd A.pd1", "checkpoint here")
    trip(lab, "run 2us")
    before, live = everything(lab), lab.session.history.live
    well(lab, f"diff {moments}")
    assert (branch(lab), everything(lab), lab.session.history.live) == ("branch-1", before, live)
    trip(lab, "back 3")
    before = everything(lab)
    well(lab, f"diff {moments}")
    assert (branch(lab), everything(lab), lab.session.history.live) == ("branch-1", before, False)
    trip(lab, "run")


def test_now_is_on_this_branch_even_after_a_moment_of_another() -> None:
    lab = written()
    well(lab, "checkpoint done")
    trip(lab, "goto 13")
    well(lab, "destroy_qp A.qp0")
    view = well(lab, "diff @done").value
    assert view.title == "from event 19 of main to event 14"
    found = [row.text for row in view.rows]
    assert "A.qp0 RTS → (gone)" in found
    assert not any(line.startswith("A.qp0.") for line in found)
    assert "B.mr0[100].5 bytes 68 65 6c 6c 6f → 00 00 00 00 00" in found
    assert "A.mr0[0].5 bytes 68 65 6c 6c 6f → 00 00 00 00 00" in found


def test_an_object_of_one_moment_alone_is_one_row_with_its_name() -> None:
    lab = written()
    well(lab, "create_cq A.cq7 cqe=4")
    assert printed(lab, "diff ev19") == ["A.cq7 (does not exist) → exists"]


def test_the_end_of_a_branch_is_a_moment() -> None:
    lab = written()
    trip(lab, "goto 13")
    well(lab, "modify_qp A.qp0 state=ERR")
    found = printed(lab, "diff @main")
    assert "A.qp0.state RTS → ERR" in found
    assert branch(lab) == "branch-1"
    assert printed(lab, "diff main") == found
    assert printed(lab, "diff ev3 now") == printed(lab, "diff ev3")


def test_a_moment_that_never_was_is_a_mistake_with_a_caret() -> None:
    lab = written()
    before = everything(lab)
    for line, message, start in [
        ("diff ev12 ev99", "there is no event 99 yet", 10),
        ("diff 5s", "this is the newest event", 5),
        ("diff start @no", "no checkpoint is called no", 11),
        ("diff elsewhere", "no moment is called elsewhere", 5),
        ("diff !", '"!" is no moment', 5),
    ]:
        error = misread(lab, line)
        assert (error.message, error.place.start) == (message, start)
    assert everything(lab) == before


def test_nothing_differs_from_itself() -> None:
    view = well(written(), "diff end").value
    assert (view.rows, view.title) == ([], "from event 19 to event 19")
    assert well(written(), "diff start ev0").value.title == "from the start to event 0"


def test_before_the_first_event_is_the_start_and_no_event_has_number_minus_one() -> None:
    lab = written()
    trip(lab, "goto start")
    assert well(lab, "checkpoint x").value == "@x is the start at 0.000 us"
    well(lab, "alloc_pd A.other")
    assert printed(lab, "branches")[1:] == [
        "* branch-1  from main at the start: 1 event, 1 command",
        "@x  the start at 0.000 us on main",
    ]


def test_a_checkpoint_that_moves_to_another_branch_says_from_where() -> None:
    lab = written()
    well(lab, "checkpoint x")
    trip(lab, "goto 13")
    well(lab, "alloc_pd A.other")
    moved = "@x is event 14 at 0.000 us, no longer event 19 of main at 2.217 us"
    assert well(lab, "checkpoint x").value == moved
    assert well(lab, "checkpoint x").value == "@x is event 14 at 0.000 us"


def test_a_moment_that_is_lacking_is_asked_for_as_one_writes_it() -> None:
    lab = written()
    assert misread(lab, "goto").message == "goto needs moment"
    assert misread(lab, "goto").hint.startswith("write an event, 30, a time, 9.2us")
    assert misread(lab, "break").hint == "write a question: A.qp0.state == ERR"
    assert misread(lab, "switch").hint == "for example: switch main"


def test_the_end_of_another_branch_is_compared_with_now() -> None:
    lab = lab_of("checkpoint c", SEND)
    trip(lab, "goto @c")
    well(lab, RECV)
    before = everything(lab)
    view = well(lab, "diff main").value
    assert view.title == "from event 14 of main to event 14"
    rows = [row.text for row in view.rows]
    assert "A.qp0.sq.posted 1 → 0" in rows
    assert "B.qp0.rq.posted 0 → 1" in rows
    back = [row.text for row in well(lab, "diff now main").value.rows]
    assert "A.qp0.sq.posted 0 → 1" in back
    assert everything(lab) == before
    assert well(lab, "diff @main").value.rows == view.rows
    assert "main branch-1 @c" in misread(lab, "goto nowhere").hint
    trip(lab, "goto main")
    assert lab.session.history.branch.name == "main"
    trip(lab, "goto c")  # as @c: no branch has this name
    assert lab.session.history.here == lab.session.checkpoints["c"][1]

"""The tape."""

import pytest

from rdmalab.lab import Lab
from rdmalab.views.timeline import Mark, TimelineRow, cell_of, mark_rows, tape_row, trouble_events

RUN = (
    "use rc_pair",
    "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]",
    "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED",
    "run",
)


def lab(*lines: str) -> Lab:
    made = Lab()
    for line in (*RUN, *lines):
        assert not made.do(line)[-1].failed, line
    return made


def tape(it: Lab, cells: int = 1000) -> TimelineRow:
    return tape_row(it.session.history, it.session.names, it.session.checkpoints, cells)


def test_each_command_has_a_cell_where_there_is_room() -> None:
    it = lab()
    row = tape(it)
    events = {entry.event for entry in it.session.journal}
    assert len(row.asked) == it.session.world.event + 2
    assert {cell - 1 for cell, count in enumerate(row.asked) if count} == events
    assert row.here == len(row.asked) - 1


@pytest.mark.parametrize("cells", [1, 2, 3, 7, 20])
def test_in_any_number_of_cells_no_command_is_lost(cells: int) -> None:
    it = lab()
    row = tape(it, cells)
    assert len(row.asked) == cells
    assert sum(row.asked) == len(it.session.journal)
    for entry in it.session.journal:
        assert row.asked[row.cell(entry.event)]


@pytest.mark.parametrize("end", [-1, 0, 1, 99, 10**6])
@pytest.mark.parametrize("cells", [1, 2, 60])
def test_the_ends_are_in_the_first_and_the_last_cell(end: int, cells: int) -> None:
    assert cell_of(-1, end, cells) == 0
    assert cell_of(end, end, cells) == (cells - 1 if end >= 0 else 0)


def test_an_empty_world_has_a_tape() -> None:
    row = tape(Lab())
    assert (row.event, row.end, row.live, row.here) == (-1, -1, True, 0)
    assert row.text == "start, LIVE, at 0.000 us; on main; next: nothing is planned"


def test_the_past_knows_what_was_asked_next_and_what_is_planned() -> None:
    it = lab()
    asked = it.session.journal[-1]
    it.do(f"goto {asked.event - 1}")
    row = tape(it)
    assert (row.event, row.live, row.end) == (asked.event - 1, False, it.session.history.end.event)
    assert row.soon == "0.000 us post_send again"
    it.do("step")
    assert " A.qp0 sends" in tape(it).soon
    it.do("goto end")
    assert tape(it).soon == "nothing is planned"


def test_checkpoints_of_the_shared_past_are_on_both_branches() -> None:
    it = lab("goto 5", "checkpoint both", "goto 15", "checkpoint late", "goto 8", "alloc_pd A.pd7")
    it.do("checkpoint mine")
    history, checkpoints = it.session.history, it.session.checkpoints
    assert [(row.mark, row.name, row.event) for row in mark_rows(history, checkpoints)] == [
        (Mark.CHECKPOINT, "both", 5),
        (Mark.FORK, "main", 8),
        (Mark.CHECKPOINT, "mine", 9),
    ]
    it.do("switch main")
    assert [(row.mark, row.name) for row in mark_rows(history, checkpoints)] == [
        (Mark.CHECKPOINT, "both"),
        (Mark.FORK, "branch-1"),
        (Mark.CHECKPOINT, "late"),
    ]


def test_a_checkpoint_after_the_fork_of_a_grandchild_is_not_ours() -> None:
    it = lab("goto 12", "alloc_pd A.pd7", "checkpoint first", "goto 4", "alloc_pd A.pd8")
    it.do("checkpoint second")
    found = mark_rows(it.session.history, it.session.checkpoints)
    assert [row.name for row in found if row.mark is Mark.CHECKPOINT] == ["second"]


def test_events_with_troubles() -> None:
    lab = Lab()
    for line in (
        "use rc_pair",
        "fault drop A->B nth=2",
        "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote_addr=4 rkey=7",
        "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0]",
        "run",
    ):
        assert not lab.do(line)[-1].failed, line
    world, names = lab.session.world, lab.session.names
    found = [meaning.name for _, meaning in sorted(trouble_events(world, names).items())]
    assert found == ["LOST", "REFUSED", "FAILED"]
    lab.do("alloc_pd A.pd9")
    world.trace.reach = 1
    assert trouble_events(world, names) == {}

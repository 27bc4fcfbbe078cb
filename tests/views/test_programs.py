"""Programs in rows: where each stands, its lines, and who will do nothing more by itself."""

from rdmalab.command import Thing
from rdmalab.lab import Lab
from rdmalab.spec.programs import ProgramState
from rdmalab.views.programs import line_rows, program_row, stuck_rows
from tests.labs import lab_of, well

_LINES = "loop 2; if A.cq0.count == 0; sleep 1us; else; stop; end; end; poll_cq A.cq0"


def _thing(lab: Lab, name: str) -> Thing:
    thing = lab.session.names.find(name)
    assert thing is not None
    return thing


def test_a_row_says_where_a_program_stands() -> None:
    lab = lab_of(f"program A.tx lines={{{_LINES}}}", "run 1us")
    row = program_row(lab.session.world, lab.session.names, _thing(lab, "A.tx"))
    assert (row.state, row.line, row.lines, row.doing) == (
        ProgramState.SLEEPING, 2, 8, "if A.cq0.count == 0",
    )  # fmt: skip
    assert row.text == "A.tx SLEEPING before line 2 since 0.100 us: if A.cq0.count == 0"
    assert lab.look("A.tx.state == SLEEPING and A.tx.line == 2")


def test_its_lines_are_indented_and_the_one_that_comes_is_marked() -> None:
    lab = lab_of(f"program A.tx lines={{{_LINES}}}", "run 1us")
    rows = line_rows(lab.session.world, _thing(lab, "A.tx"))
    assert [row.text for row in rows] == [
        "loop 2", "  if A.cq0.count == 0", "    sleep 1us", "  else", "    stop", "  end", "end",
        "poll_cq A.cq0",
    ]  # fmt: skip
    assert [row.number for row in rows if row.comes] == [2]
    lab.run()
    assert not any(row.comes for row in line_rows(lab.session.world, _thing(lab, "A.tx")))


def test_who_is_stuck() -> None:
    lab = lab_of(
        "program A.done lines={stop}",
        "program A.failed lines={poll_cq A.cq9}",
        "program B.waits lines={wait B.cq0.count > 0}",
        "program B.runs lines={loop; poll_cq B.cq0; end}",
        "run 1us",
    )
    texts = [row.text for row in stuck_rows(lab.session.world, lab.session.names)]
    assert texts == [
        "A.failed FAILED in line 1 at 0.000 us: poll_cq A.cq9: nothing is called A.cq9",
        "B.waits WAITING in line 1 since 0.000 us: wait B.cq0.count > 0",
    ]
    done = program_row(lab.session.world, lab.session.names, _thing(lab, "A.done"))
    assert done.text == "A.done DONE at 0.000 us"
    well(lab, "stop B.waits")
    assert len(stuck_rows(lab.session.world, lab.session.names)) == 1


def test_why_of_a_program_waiting_on_a_channel() -> None:
    lab = lab_of("program B.rx lines={get_cq_event B.ch0}", "run", pair="use rc_pair channel=1")

    def why() -> object:
        return lab.look("B.rx.why")

    assert why() == "no completion queue of it is armed: req_notify_cq"
    well(lab, "req_notify_cq B.cq0")
    assert why() == "the next completion ends the wait"
    well(lab, "destroy_qp B.qp0")
    well(lab, "destroy_cq B.cq0")
    assert why() == "no completion queue was made with it: create_cq … channel=…"

"""The words that start, stop and list programs."""

from tests.labs import lab_of, misread, refusal, well


def test_starting_is_journaled_and_what_it_does_is_not() -> None:
    lab = lab_of("program A.tx lines={poll_cq A.cq0; poll_cq A.cq0}", "run")
    names = [entry.invocation.name for entry in lab.session.journal]
    assert names.count("program") == 1
    assert "poll_cq" not in names
    assert lab.look("log.count(verb=poll_cq, node=A)") == 2


def test_nothing_happens_before_time_runs() -> None:
    lab = lab_of('program A.tx lines={write A.mr0 "x"}')
    assert lab.look("A.mr0[0]") == 0
    lab.run()
    assert lab.look("A.mr0[0]") == ord("x")


def test_a_mistake_starts_nothing() -> None:
    lab = lab_of()
    event = lab.session.world.event
    assert (
        misread(lab, "program A.tx lines={poll_cq A.cq0; plol A.cq0}").hint == "did you mean poll?"
    )
    assert misread(lab, "program C.tx lines={stop}").message == "there is no node C"
    taken = misread(lab, "program A.cq0 lines={stop}").message
    assert taken == "A.cq0 is a completion queue, no name for a program"
    assert misread(lab, "program A.tx").message == "program also needs lines"
    assert lab.session.world.event == event


def test_what_is_stopped_is_gone() -> None:
    lab = lab_of("program A.tx lines={loop; sleep 1us; end}", "run 5us", "stop A.tx")
    assert refusal(lab, "stop A.tx").rule == "use-after-destroy"
    assert well(lab, "programs").value.rows == []


def test_the_list_has_all_and_show_has_the_lines() -> None:
    lab = lab_of("program A.tx lines={stop}", "program B.rx lines={sleep 1us; stop}", "step 2")
    rows = well(lab, "programs").value.rows
    assert [(row.name, row.state.name) for row in rows] == [("A.tx", "DONE"), ("B.rx", "SLEEPING")]
    assert [type(row).__name__ for row in well(lab, "show B.rx").value.rows] == [
        "ProgramRow", "LineRow", "LineRow",
    ]  # fmt: skip
    assert well(lab, "show program").value.rows == rows

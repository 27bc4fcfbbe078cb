"""What there is to read follows the session, back into the past too."""

from rdmalab.scenario.files import found
from rdmalab.scenario.reading import about, reading
from rdmalab.scenario.runner import Runner
from rdmalab.session.branch import TimePoint
from tests.scenario.playing import runner
from tests.scenario.stops import next_stop

ASKED = """\
  - alloc_pd A.pd0
  - note: One.
  - alloc_pd A.pd1
  - predict: Which name comes next?
    choices: [A.pd2, A.pd3]
  - alloc_pd A.pd2
  - reveal: a) The first one that is free.
  - alloc_pd A.pd3
  - name: The end
    do: alloc_pd A.pd4
"""


def walked(stops: int) -> Runner:
    walk = runner(ASKED, "about: What it shows.\n")
    for _ in range(stops):
        next_stop(walk)
    return walk


def read(walk: Runner) -> tuple[str, str]:
    """(what stands above the stop, the stop)."""
    page = reading(walk)
    return " ".join(filter(None, (page.about, *page.revealed))), page.stop.text if page.stop else ""


def test_a_stop_is_read_before_it_runs() -> None:
    assert read(walked(0)) == ("What it shows.", "")
    assert read(walked(1)) == ("What it shows.", "One.")
    assert read(walked(2)) == ("", "Which name comes next?")


def test_the_answer_is_read_above_the_next_stop() -> None:
    assert read(walked(3)) == ("a) The first one that is free.", "The end")


def test_an_answer_is_read_below_its_question_until_the_next_stop() -> None:
    walk = walked(2)
    while walk.coming is not None and walk.coming.line != "alloc_pd A.pd3":
        assert reading(walk).after == ()
        walk.next_step()
    assert read(walk) == ("", "Which name comes next?")
    assert reading(walk).after == ("a) The first one that is free.",)


def test_what_is_read_goes_back_with_the_session() -> None:
    walk = walked(4)
    assert walk.over
    history = walk.session.history
    seen = []
    for event in range(history.here.event - 1, -2, -1):
        history.seek(TimePoint(event, 0))
        seen.append(read(walk))
    assert seen[0] == ("a) The first one that is free.", "The end")
    assert ("", "Which name comes next?") in seen
    assert seen[-2:] == [("What it shows.", "One."), ("What it shows.", "")]


def test_a_scenario_that_does_not_say_what_it_shows_has_its_title() -> None:
    assert reading(runner(ASKED)).about == "t"


def test_a_value_that_is_drawn_for_each_student_is_its_name() -> None:
    assert "The first SIZE bytes of A.mr0" in about(found("labs/by-hand"))

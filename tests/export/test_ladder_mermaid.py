"""The ladder as a sequence diagram: each packet of the plan, no syntax taken from a text."""

import re

import pytest

from rdmalab.export.ladder_mermaid import drawn, is_mermaid, mermaid
from rdmalab.export.ladder_plan import WHOLE, LadderPlan, PlannedRow, Remark, plan
from rdmalab.lab import Lab
from tests.export.ladder_stories import STORIES, played
from tests.labs import RECV, SEND, lab_of

_ARROW = re.compile(r"    (\w)(->>|-x|-\))(\w): (.*)")


def test_each_packet_of_the_plan_is_an_arrow() -> None:
    lab = lab_of()
    lab.do("fault drop A->B nth=2")
    for _ in range(3):
        lab.do(RECV)
        lab.do(SEND)
    lab.run()
    world, names = lab.session.world, lab.session.names
    arrows = [m for line in mermaid(world, names).splitlines() if (m := _ARROW.fullmatch(line))]
    planned = plan(world, names, 0, most=WHOLE)
    assert len(planned.arrows) > 5
    assert len(arrows) == len(planned.arrows)
    for arrow, found in zip(planned.arrows, arrows, strict=True):
        assert found[1] == arrow.packet.source
        assert arrow.packet.short in found[4]
        assert (found[2] == "-x") == (not arrow.ends)


def test_a_packet_that_does_not_arrive_ends_in_a_cross() -> None:
    lab = lab_of()
    lab.do("fault drop A->B nth=1")
    lab.do(RECV)
    lab.do(SEND)
    lab.do("step packet")
    text = mermaid(lab.session.world, lab.session.names)
    assert re.search(r"A-xB: 0.100 us SEND_ONLY psn=0 64 B \(lost: ", text)


def test_a_packet_on_the_cable_has_an_open_arrow() -> None:
    lab = lab_of()
    lab.do(RECV)
    lab.do(SEND)
    lab.do("step packet")
    assert "    A-)B: 0.100 us SEND_ONLY" in mermaid(lab.session.world, lab.session.names)


def test_mermaid_begins_with_sequence_diagram() -> None:
    text = mermaid(Lab().session.world, Lab().session.names)
    assert text.splitlines() == [
        "sequenceDiagram",
        "    participant A",
        "    participant B",
        "    Note over A,B: no packet yet",
    ]
    assert is_mermaid(text.encode())
    assert not is_mermaid(b"graph TD")


def test_a_text_is_no_syntax() -> None:
    row = PlannedRow(0, 0, [Remark("A", "one; two # three\nend")])
    *_, last = drawn(LadderPlan(["A", "B"], [row]))
    assert last == "    Note left of A: 0.000 us one#59; two #35; three end"


@pytest.mark.parametrize("story", STORIES, ids=str)
def test_all_stories_can_be_drawn(story: str) -> None:
    lab = played(story)
    for line in mermaid(lab.session.world, lab.session.names).splitlines()[1:]:
        assert re.match(r"    (participant \w+$|Note |\w+(->>|-x|-\))\w+: )", line)

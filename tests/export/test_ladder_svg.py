"""The drawing of a ladder: sound SVG, everything inside it, nothing taken for markup."""

from xml.etree import ElementTree as ET

import pytest

from rdmalab.export.ladder_plan import Arrow, LadderPlan, PlannedRow, Remark
from rdmalab.export.ladder_svg import NAME, Ladder, ladder, style
from rdmalab.guide.svg import INKS
from rdmalab.lab import Lab
from tests.labs import RECV, SEND, lab_of

SVG = "{http://www.w3.org/2000/svg}"


def drawn(lab: Lab, first: int = 0) -> Ladder:
    return ladder(lab.session.world, lab.session.names, first)


def texts(markup: str, css: str) -> list[str]:
    found = ET.fromstring(markup).iter(f"{SVG}text")
    return [str(each.text) for each in found if css in (each.get("class") or "").split()]


@pytest.fixture
def busy() -> Lab:
    """A lost packet, a retransmission, requests outstanding together."""
    lab = lab_of()
    lab.do("fault drop A->B nth=3")
    for _ in range(3):
        lab.do(RECV)
        lab.do(SEND)
    lab.run()
    return lab


def test_a_packet_has_the_colour_that_it_has_in_the_app() -> None:
    lab = lab_of()
    lab.do(SEND)
    lab.do("step 4")
    lab.do(RECV)
    lab.run()
    svg = ET.fromstring(drawn(lab).svg)
    found = [each.get("class") for each in svg.iter(f"{SVG}g")]
    sorts = [css.split()[1:] for css in found if css and css.startswith("packet")]
    assert sorts == [["odd"], ["odd"], [], ["good"]]  # refused, RNR NAK, sent again, ACK


def test_the_drawing_has_packets_remarks_times_and_nodes(busy: Lab) -> None:
    svg = drawn(busy).svg
    assert texts(svg, "node") == ["A", "B"]
    assert "SEND_ONLY psn=0 64 B" in texts(svg, "label")
    assert any(each.startswith("lost") for each in texts(svg, "bad"))
    assert "A.cq0: added wr1 SEND SUCCESS" in texts(svg, "good")
    assert any(each.endswith("later") for each in texts(svg, "gap"))
    assert "0.100 us" in texts(svg, "time")
    title = ET.fromstring(svg).find(f"{SVG}title")
    assert title is not None
    assert "packets between A and B" in str(title.text)


def test_everything_is_inside_the_frame(busy: Lab) -> None:
    root = ET.fromstring(drawn(busy).svg)
    _, _, width, height = map(float, str(root.get("viewBox")).split())
    for each in root.iter():
        for name, most in (("x", width), ("x1", width), ("x2", width), ("y", height),
                           ("y1", height), ("y2", height)):  # fmt: skip
            value = each.get(name)
            assert value is None or 0 <= float(value) <= most, (each.tag, name, value)


def test_the_longest_label_is_inside_the_frame() -> None:
    """A letter of DejaVu Sans Mono, 12 px, is 7.22 px wide."""
    lab = lab_of()
    lab.do("post_send A.qp0 opcode=RDMA_READ sg=A.mr0[0:2048] remote=B.mr0 flags=SIGNALED")
    lab.run()
    root = ET.fromstring(drawn(lab).svg)
    width = float(root.get("width") or 0)
    labels = [each for each in root.iter(f"{SVG}text") if each.get("class") == "label"]
    found = {str(each.text): each for each in labels}
    for label, each in found.items():
        x, room = float(each.get("x") or 0), len(label) * 7.22
        assert x - room > 84 if each.get("text-anchor") == "end" else x + room < width, label
    assert "RDMA_READ_RESPONSE_MIDDLE psn=1 512 B" in found


def test_a_lecture_is_drawn_whole_with_its_lost_packet() -> None:
    lab = lab_of()
    for _ in range(12):
        lab.do(f"{RECV}; {SEND}; run; poll_cq A.cq0; poll_cq B.cq0")
    lab.do(f"fault drop A->B nth=1; {RECV}; {SEND}; run; poll_cq A.cq0; poll_cq B.cq0")
    for _ in range(12):
        lab.do(f"{RECV}; {SEND}; run; poll_cq A.cq0; poll_cq B.cq0")
    assert "left out" in drawn(lab).svg
    svg = lab.ladder().svg
    assert "left out" not in svg
    assert "lost" in " ".join(texts(svg, "bad"))


def test_lines_of_requests_outstanding_together_do_not_cross_their_labels(busy: Lab) -> None:
    root = ET.fromstring(drawn(busy).svg)
    lanes = [float(each.get("x1") or 0) for each in root.iter(f"{SVG}line")
             if each.get("class") == "life"]  # fmt: skip
    outside = [each for each in root.iter(f"{SVG}text") if each.get("class") == "label"]
    assert outside
    for each in outside:
        x, anchor = float(each.get("x") or 0), each.get("text-anchor", "start")
        assert (x < lanes[0] and anchor == "end") or (x > lanes[1] and anchor == "start")


def test_the_same_bytes_each_time_and_a_part_without_rules(busy: Lab) -> None:
    again = drawn(busy)
    assert again.svg == drawn(busy).svg == again._repr_svg_()
    assert "<style>" in again.svg
    assert "<style>" not in again.part
    assert ET.fromstring(again.part).get("class") == NAME
    assert str(again) == again.text
    assert "A->B SEND_ONLY psn=2 64 B ack_req (lost: " in again.text


def test_hostile_text_stays_text(busy: Lab) -> None:
    packet = drawn(busy).plan.arrows[0].packet
    packet.summary, packet.psn = '</svg><script>"&', None
    found = LadderPlan(["<A>", "B"], [PlannedRow(0, 0, [Remark("B", "</text><script>")])])
    found.arrows = [Arrow(packet, 0)]
    svg = Ladder(found).svg
    assert "<script" not in svg
    assert texts(svg, "node") == ["<A>", "B"]
    ET.fromstring(svg)


def test_an_empty_ladder_is_a_drawing_too() -> None:
    svg = drawn(Lab()).svg
    assert texts(svg, "node") == ["A", "B"]
    assert "no packet yet" in svg


def test_rules_concern_only_ladders() -> None:
    rules = style(dict.fromkeys(INKS, "#000000"))
    selectors = [part.partition("{")[0] for part in rules.split("}") if part.strip()]
    assert all(f".{NAME}" in each for each in selectors)
    assert "$" not in style()

"""The answer of the doctor, now: its rows lead to events, its keys type what can be typed."""

import pytest

from rdmalab.doctor.report.report import Report
from rdmalab.lab import Lab
from rdmalab.tui.app_model import FIRST, AppModel
from rdmalab.tui.panes.why import WhyPane, _order, drawn, entries
from rdmalab.tui.world_view import WorldView
from rdmalab.views.columns import Meaning
from tests.tui.pane_host import Hosted, hosted

BAD = (
    "post_send A.qp0 wr_id=7 opcode=RDMA_WRITE sg=A.mr0[0:5] remote_addr=0x1064 rkey=0xdead "
    "flags=SIGNALED"
)
SEND = "post_send A.qp0 wr_id=8 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"


def pane(view: WorldView) -> WhyPane:
    return WhyPane(view, id="why")


def the(it: Hosted) -> WhyPane:
    found = it.pane
    assert isinstance(found, WhyPane)
    return found


def answer(*lines: str, about: str = "") -> Report:
    lab = Lab()
    for line in (*FIRST, *lines):
        lab.do(line)
    report = WorldView(AppModel(lab)).consult(about)
    assert isinstance(report, Report)
    return report


def labels(report: Report) -> list[str]:
    return [entry.label for entry in entries(report)]


# --------------------------------------------------------------------------- rows
def test_verdict_cause_evidence_rule_and_fix_in_this_order() -> None:
    found = list(entries(answer(BAD, "run")))
    assert [entry.label for entry in found if entry.label] == [
        "FAILED", "cause", "evidence", "rule", "fix", "ruled out",
    ]  # fmt: skip
    assert found[0].meaning is Meaning.FAILED
    assert "rkey 0xdead is the key of no MR" in found[1].text
    assert "(rem-access)" in found[1].text
    assert found[1].event == 23
    fix = next(at for at, entry in enumerate(found) if entry.label == "fix")
    assert [entry.label for entry in found[fix + 1 : fix + 5]] == [""] * 4
    assert found[fix + 1].text == "modify_qp A.qp0 state=RESET"


def test_what_follows_from_the_cause_is_an_effect_after_the_fix() -> None:
    found = sorted(entries(answer(BAD, SEND, "run", about="A.qp0.wr[8]")), key=_order)
    named = [entry.label for entry in found if entry.label in {"cause", "fix", "effect"}]
    assert named[:2] == ["cause", "fix"]
    assert named.count("cause") == 1
    assert "effect" in named


def test_what_waits_and_what_is_well_have_other_signs() -> None:
    waits = next(iter(entries(answer(SEND, about="A.qp0.wr[8]"))))
    assert (waits.label, waits.meaning) == ("PENDING", Meaning.WAITING)
    assert labels(answer())[:3] == ["WELL", "looked at", "ask"]
    assert next(iter(entries(answer()))).meaning is Meaning.OK


@pytest.mark.parametrize("width", [20, 40, 60, 100])
def test_no_row_is_wider_than_the_pane_and_nothing_is_cut(width: int) -> None:
    for entry in entries(answer(BAD, "run")):
        rows = drawn(entry, width).plain.splitlines()
        assert max(map(len, rows)) <= width
        assert entry.text.replace(" ", "") in "".join("".join(rows).split()).replace("[ev23]", "")


# --------------------------------------------------------------------------- the answer
async def test_it_asks_again_when_time_has_moved() -> None:
    async with hosted(pane, SEND) as it:
        await it.do("why A.qp0.wr[8]")
        await it.sees("PENDING")
        assert the(it).twin == "why A.qp0.wr[8]"
        await it.do("run 1ms")
        await it.sees("NEVER")
        await it.do("goto 21")
        await it.sees("PENDING")


async def test_it_does_not_ask_again_where_nothing_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    async with hosted(pane, SEND) as it:
        asked: list[str] = []
        consult = it.view.consult

        def counted(question: str) -> Report | str:
            asked.append(question)
            return consult(question)

        monkeypatch.setattr(it.view, "consult", counted)
        for _ in range(3):
            await it.frame()
        assert asked == []
        await it.do("run 1ms")
        await it.sees("NEVER")
        assert asked == [""]


async def test_status_of_the_new_request_after_apply() -> None:
    async with hosted(pane, BAD, "run", "why") as it:
        assert "✗ FAILED" in it.text
        await it.pilot.press("a")
        assert it.asked == ["say apply"]
        await it.do("apply")
        await it.sees("◷ PENDING   A.qp0.wr[7]")
        assert "FAILED" not in it.text
        await it.do("run")
        await it.sees("✓ WELL")


async def test_the_answer_stays_while_one_looks_at_its_event() -> None:
    async with hosted(pane, BAD, "run", "why") as it:
        await it.pilot.press("down", "g")
        assert it.asked == ["say goto 23"]
        await it.do("goto 23")
        assert "✗ FAILED" in it.text
        assert "as of ev 25" in it.text
        await it.do("back 5")
        await it.sees("PENDING   A.qp0.wr[1]")


async def test_an_answer_about_a_thing_that_is_gone_is_an_error() -> None:
    async with hosted(pane, SEND, "why A.qp0") as it:
        await it.do("new")
        await it.sees("WELL")


# --------------------------------------------------------------------------- keys
async def test_enter_and_a_click_open_the_event_of_a_row() -> None:
    async with hosted(pane, BAD, "run", "why") as it:
        await it.pilot.press("down", "enter")
        assert it.asked == ["event 23"]
        await it.pilot.click(offset=(20, 0))
        assert it.asked[-1] == "event 25"


async def test_e_explains_what_the_row_is_about_and_c_opens_the_checklist() -> None:
    async with hosted(pane, BAD, "run", "why") as it:
        await it.pilot.press("e", "down", "e", "c")
        assert it.asked == ["open explain REM_ACCESS_ERR", "open explain cause rem-access"]
        assert "FAIL rem-access" in it.text.splitlines()[2]


async def test_keys_that_do_nothing_are_not_offered() -> None:
    async with hosted(pane) as it:
        assert the(it).check_action("use", ("a",)) is False
        assert the(it).check_action("use", ("g",)) is False
        await it.pilot.press("a", "g")
        assert it.asked == []
        await it.do(BAD, "run")
        await it.sees("rem-access")  # a slow machine asks once the world is at rest
        assert the(it).check_action("use", ("a",)) is True

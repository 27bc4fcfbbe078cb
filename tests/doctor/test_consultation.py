"""`why` after a teardown: the root that it named before, and nothing is changed by asking."""

from functools import cache
from pathlib import Path

import pytest

from rdmalab.doctor.evidence.outcome import Status
from rdmalab.lab import open_session
from rdmalab.scenario.loader import load
from rdmalab.scenario.model import Step
from rdmalab.scenario.runner import Runner
from rdmalab.vocabulary import VOCABULARY
from tests.digest import digest
from tests.doctor import test_false_alarms as alarms
from tests.doctor import tidying
from tests.doctor.asking import answer, played
from tests.each import a_tenth

_SEND = "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
_STARVED = ("use rc_pair rnr_retry=1", _SEND, "run", "poll_cq A.cq0")


# --------------------------------------------------------------------------- judged by then
@pytest.mark.parametrize("program", ["sleep 100ms", "sleep 10us; alloc_pd B.pd7"])
def test_a_receive_that_a_reset_discarded_beside_a_thread(program: str) -> None:
    """The queue pair has nothing now, and the thread has nothing to do with it."""
    recv, thread = "post_recv B.qp0 sg=B.mr0[0:64]", f"program B.p lines={{{program}}}"
    lab = played("use rc_pair", recv, thread, "reset B.qp0", "run 1ms")
    assert answer(lab, "why").lines[0].startswith("LOST  B.qp0.recv_wr[0]: a RESET discarded it")


@pytest.mark.parametrize("line", ["destroy_qp A.qp0", "modify_qp A.qp0 state=RESET"])
def test_a_teardown_does_not_hide_the_cause(line: str) -> None:
    lab = played(*_STARVED, line)
    assert answer(lab, "why").slug == "no-rr"
    report = answer(lab, "why A.qp0.wr[7]")
    assert (report.slug, report.outcome.kind) == ("no-rr", Status.FAILED)


def test_retry_exc_names_attributes_of_the_failure_after_reset() -> None:
    lab = played(
        "use rc_pair retry_cnt=3 timeout=8", "fault drop A->B", _SEND, "run", "poll_cq A.cq0",
        "reset A.qp0", "reset B.qp0",
    )  # fmt: skip
    report = answer(lab, "why A.qp0.wr[7]")
    assert "retry_cnt=3 is used up" in report.text
    assert report.remedy is not None
    assert report.remedy.works
    assert "dest_qp_num=0" not in report.text


def test_sq_too_small_without_later_rnr() -> None:
    report = answer(played("use rc_pair max_send_wr=1", _SEND, _SEND, "run 5ms"), "why ENOMEM")
    assert [cause.check.slug for cause in report.causes] == ["sq-too-small"]


def test_completion_removed_by_destroy_qp_on_mlx5() -> None:
    lab = played(
        "use rc_pair", "post_recv A.qp0 wr_id=1 sg=A.mr0[0:64]", "modify_qp A.qp0 state=ERR",
        "destroy_qp A.qp0", "poll_cq A.cq0", profile="mlx5",
    )  # fmt: skip
    sentence = answer(lab, "why A.qp0.recv_wr[1]").outcome.sentence
    assert "yet" not in sentence
    assert "removed from A.cq0 with its queue pair" in sentence


def test_a_post_after_the_deregistration_is_another_law() -> None:
    lab = played("use rc_pair", "post_recv B.qp0 sg=B.mr0[0:64]")
    mr = next(iter(lab.session.world.nodes["A"].mrs.items.values()))
    raw = f"sg={{addr={mr.addr:#x} length=8 lkey={mr.lkey:#x}}}"
    for line in ("dereg_mr A.mr0", f"post_send A.qp0 wr_id=7 opcode=SEND {raw}", "run"):
        lab.do(line)
    report = answer(lab, "why A.qp0.wr[7]")
    assert report.slug == "loc-prot"
    assert "reg_mr" not in report.text


@pytest.mark.parametrize("tidy", [(), ("destroy_qp A.qp0", "destroy_qp B.qp0")])
def test_no_rr_after_40000_empty_polls(tidy: tuple[str, ...]) -> None:
    poll = "program B.x lines={loop; poll_cq B.cq0; end}"
    lab = played(*_STARVED, poll, *tidy, "run 5ms")
    assert lab.session.world.event > 40_000
    assert (answer(lab, "why A.qp0.wr[7]").slug, answer(lab, "why").slug) == ("no-rr", "no-rr")


# --------------------------------------------------------------------------- asked by name
@pytest.mark.parametrize("name", ["A.qp0", "A.cq0", "A.mr0", "A.mr0[0:8]", "B.qp0.wr[7]"])
def test_why_of_destroyed_objects(name: str) -> None:
    lab = played(*_STARVED)
    tidying.destroy_all(lab.session)
    assert answer(lab, f"why {name}").name.startswith(name[:4])


def test_shared_queues_and_channels_that_are_gone_can_be_asked_about() -> None:
    lab = played("use srq_pair", "create_comp_channel A.ch9")
    tidying.destroy_all(lab.session)
    for name in ("B.srq0", "A.ch9", "B.srq0.recv_wr[1]"):
        answer(lab, f"why {name}")


def test_a_wr_id_means_the_newest_attempt_of_any_life() -> None:
    lab = played(
        *_STARVED,
        "destroy_qp A.qp0",
        "create_qp A.qp0 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0",
    )
    assert answer(lab, "why A.qp0.wr[7]").slug == "no-rr"
    lab.do(_SEND)
    assert answer(lab, "why A.qp0.wr[7]").slug == "wrong-state-post"


_DRAINED = (
    "use rc_pair", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]",
    "post_recv B.qp0 wr_id=2 sg=B.mr0[64:128]",
    "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED", "run",
)  # fmt: skip
_DRAIN = "program B.end lines={{poll B.cq0; modify_qp B.qp0 state=ERR; {}; destroy_qp B.qp0}}"


def test_a_queue_from_which_a_drain_was_polled_is_well() -> None:
    lab = played(*_DRAINED, _DRAIN.format("poll B.cq0"), "run")
    report = answer(lab, "why B.cq0")
    assert (report.outcome.kind, report.causes, report.is_trouble) == (Status.WELL, [], False)


def test_a_queue_whose_drain_was_not_polled_keeps_its_cause() -> None:
    lab = played(*_DRAINED, _DRAIN.format("sleep 1us"), "run")
    assert answer(lab, "why B.cq0").slug == "own-err"


def test_plain_why_is_well_after_a_drain() -> None:
    lab = played("use rc_pair", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]")
    tidying.drain(lab.session)
    assert answer(lab, "why").outcome.kind is Status.WELL


def test_fix_after_teardown_is_text_and_cannot_be_applied() -> None:
    lab = played(*_STARVED)
    tidying.destroy_all(lab.session)
    remedy = answer(lab, "why A.qp0.wr[7]").remedy
    assert remedy is not None
    assert "post_recv B.qp0" in remedy.cure.program
    assert lab.do("apply A.qp0.wr[7]")[-1].error is not None


def test_at_gives_the_answer_as_of_then() -> None:
    lab = played(*_STARVED, "destroy_qp A.qp0")
    assert answer(lab, "why A.qp0.wr[7] at=18").outcome.kind is not Status.FAILED
    assert answer(lab, "why A.qp0.wr[7] at=23").slug == "no-rr"
    error = lab.do("why A.qp0.wr[7] at=9999")[-1].error
    assert error is not None
    assert error.message == "there is no event 9999 yet"


# --------------------------------------------------------------------------- every lesson
@pytest.mark.parametrize("path", a_tenth(tidying.files()), ids=lambda path: path.name)
def test_root_cause_of_each_lesson_after_each_teardown(path: Path) -> None:
    wrong = []
    for name, tidy in tidying.TIDY.items():
        for session, step in tidying.failed(path):
            tidy(session)
            before = digest(session.world.trace)
            report = tidying.why(session, step.why or "")
            taken = path.name.partition(".")[0] in tidying.THEIR_TRUTH
            if not tidying.is_right(report, step) and not (taken and report.slug in tidying.TAKEN):
                wrong.append(f"{name}: {step.cause}, not {report.slug}")
            assert digest(session.world.trace) == before
    assert wrong == []


_MOST_PLAIN_NO = 16
"""Lessons of which `why` alone cannot know: each says `plain: no` and the reason."""


@pytest.mark.parametrize("path", a_tenth(tidying.files()), ids=lambda path: path.name)
def test_plain_why_of_each_lesson(path: Path) -> None:
    for session, step in tidying.failed(path):
        report, pointed = tidying.why(session, ""), tidying.why(session, step.why or "")
        if step.plain is None:
            assert tidying.is_right(report, step), report.text
            assert report.is_trouble == pointed.is_trouble or step.verdict == "warning"


def test_few_lessons_have_plain_no() -> None:
    lines = [p.name for p in tidying.files() for step in _steps(p) if step.plain == "no"]
    assert len(lines) <= _MOST_PLAIN_NO, lines


def _steps(path: Path) -> list[Step]:
    scenario = load(str(path), VOCABULARY)
    return [s.step for s in scenario.steps if s.step.cause is not None]


@cache
def _well() -> list[str]:
    files = [file for file in alarms.FILES if not file.startswith(alarms.MISTAKES)]
    return [file for file in a_tenth(files) if alarms.is_well(file)]


@pytest.mark.parametrize("name", tidying.TIDY)
def test_teardown_of_successful_lessons_is_no_failure(name: str) -> None:
    for file in _well():
        runner = Runner(load(str(alarms.FOLDER / file), VOCABULARY), open_session)
        runner.run()
        refused = sum(1 for r in runner.session.world.trace.records if alarms.is_refusal(r))
        tidying.TIDY[name](runner.session)
        now = sum(1 for r in runner.session.world.trace.records if alarms.is_refusal(r))
        report = tidying.why(runner.session, "")
        assert now > refused or not report.causes, (file, report.text)

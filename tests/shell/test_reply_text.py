import re

import pytest

from tests.shell.talk import TRANSCRIPTS, Talk, check, played, sections

BOXES = re.compile(r"[─-╿■-◿┄┊⏲→…\r\x1b]")
WALK = (
    "use rc_pair rnr_retry=1",
    'write A.mr0[0:5] "hello"',
    "post_send A.qp0 opcode=SEND wr_id=7 sg=A.mr0[0:64] flags=SIGNALED",
    "step 3",
    "until A.cq0.count == 1 within 2ms",
    "show wire",
    "show A.qp0",
    "show cq",
    "changes",
    "poll_cq A.cq0",
)


@pytest.mark.parametrize(("file", "setup"), [("answers.txt", ()), ("past.txt", ("use rc_pair",))])
def test_the_transcript_of_answers(file: str, setup: tuple[str, ...]) -> None:
    path = TRANSCRIPTS / file
    said = [played(title, typed, *setup) for title, typed in sections(path)]
    check(path, "\n".join(said) + "\n")


def test_lines_keep_to_the_width() -> None:
    for width in (40, 60, 80, 120):
        for line in WALK:
            assert all(len(row) <= width for row in Talk(*WALK, width=width).ask(line))


def test_plain_keeps_to_a_narrow_terminal() -> None:
    talk = Talk(plain=True, width=60)
    for line in WALK:
        assert all(len(row) <= 60 for row in talk.ask(line))


def test_plain_is_one_fact_a_line_without_drawings() -> None:
    talk = Talk(plain=True)
    for line in (*WALK, "show", "show log", "show story", "show link", "show mr", "show packet"):
        for row in talk.ask(line):
            assert len(row) <= 100
            assert not re.search(r"[─-╿■-◿┄┊⏲\r\x1b]", row), row


def test_ascii_has_no_other_letters() -> None:
    talk = Talk(ascii=True)
    for line in (*WALK, "show", "show log", "show agenda", "show counters", "bad", "help"):
        assert all(row.isascii() for row in talk.ask(line))


def test_a_long_run_is_told_by_its_first_events() -> None:
    talk = Talk("use rc_pair", "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]")
    said = talk.ask("step 50")
    assert "… 30 more events: show story last=30" in said
    assert sum(row.startswith("ev ") for row in said) == 20


def test_steps_repeat_on_an_empty_line() -> None:
    talk = Talk("use rc_pair", "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]", "step 2")
    assert talk.ask("") != []
    assert talk.lab.session.world.event == 18
    talk.ask("show")
    assert talk.ask("") == []


def test_events_are_told_by_name() -> None:
    talk = Talk("use rc_pair channel=1", "req_notify_cq B.cq0", "post_recv B.qp0", width=200)
    talk.ask("post_send A.qp0 opcode=SEND", "run", "link down")
    assert talk.ask("get_cq_event B.ch0")[1:] == ["B.cq0 has an event, cq_context 0"]
    assert talk.ask("get_async_event B")[1:] == ["PORT_ERR of port 1: the port left ACTIVE"]
    waiting = talk.ask("show events")
    assert "A  ! PORT_ERR  A: port error" in waiting
    assert "B  ! PORT_ERR  B: port error  read, not acknowledged" in waiting


def test_the_current_completion_is_told_with_what_may_be_read() -> None:
    talk = Talk(
        "use rc_pair",
        "create_cq_ex A.cq1 cqe=4 wc_flags=BYTE_LEN|COMPLETION_TIMESTAMP",
        "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq1 recv_cq=A.cq1",
        "modify_qp A.qp1 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
        "post_recv A.qp1 wr_id=5",
        "modify_qp A.qp1 state=ERR",
        width=200,
    )
    assert talk.ask("start_poll A.cq1")[1:] == ["wr5 WR_FLUSH_ERR vendor_err=133"]
    (said,) = talk.ask("wc_read A.cq1 byte_len")[1:]
    assert said.endswith(": undefined on an error status")


def test_a_reader_who_hears_is_told_of_arms_and_events() -> None:
    talk = Talk("use rc_pair channel=1", "req_notify_cq B.cq0", "post_recv B.qp0", plain=True)
    assert "B.cq0, CQ 0 of 16, 0 so far, ARMED any, channel: ch0" in talk.ask("show B.cq0")
    talk.ask("post_send A.qp0 opcode=SEND", "run")
    assert any(line.endswith("channel: ch0, 1 event") for line in talk.ask("show B.cq0"))


def test_a_program_that_waits_or_failed_is_named_behind_each_journey() -> None:
    talk = Talk("use rc_pair", "program A.tx lines={wait A.cq0.count > 0}")
    talk.ask("program B.rx lines={poll_cq B.cq0 num_entries=0}", "program B.ok lines={stop}")
    said = " ".join(" ".join(talk.ask("run")).split())
    assert "A.tx ◷ WAITING in line 1 since 0.000 us: wait A.cq0.count > 0" in said
    assert "B.rx ✗ FAILED in line 1 at 0.000 us: poll_cq B.cq0 num_entries=0: EINVAL" in said
    assert "B.ok ✓ DONE" not in said


def test_what_is_numbered_stands_below_one_another() -> None:
    talk = Talk("use rc_pair", *(f"fault drop A->B psn={n}" for n in range(10)))
    said = talk.ask("faults")
    assert (said[0], said[-1]) == (
        " 1  drop A->B psn=0: acted on 0 packets", "10  drop A->B psn=9: acted on 0 packets",
    )  # fmt: skip


def test_a_poll_that_is_too_early_says_what_comes_next() -> None:
    send = "post_send A.qp0 opcode=SEND sg=A.mr0[0:5] flags=SIGNALED"
    talk = Talk("use rc_pair", send, width=200)
    (said,) = talk.ask("poll_cq A.cq0")
    assert said.endswith(
        "The completion queue is empty.  Next: A.qp0 sends a packet of wr0 SEND 5 B at 0.100 us"
    )

import re

import pytest

from tests.shell.prompts import TRANSCRIPTS, Prompt, check, played, sections

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
    lines = [played(title, typed, *setup) for title, typed in sections(path)]
    check(path, "\n".join(lines) + "\n")


def test_lines_keep_to_the_width() -> None:
    for width in (40, 60, 80, 120):
        for line in WALK:
            assert all(len(row) <= width for row in Prompt(*WALK, width=width).ask(line))


def test_plain_keeps_to_a_narrow_terminal() -> None:
    prompt = Prompt(plain=True, width=60)
    for line in WALK:
        assert all(len(row) <= 60 for row in prompt.ask(line))


def test_plain_is_one_fact_a_line_without_drawings() -> None:
    prompt = Prompt(plain=True)
    for line in (*WALK, "show", "show log", "show story", "show link", "show mr", "show packet"):
        for row in prompt.ask(line):
            assert len(row) <= 100
            assert not re.search(r"[─-╿■-◿┄┊⏲\r\x1b]", row), row


def test_ascii_has_no_other_letters() -> None:
    prompt = Prompt(ascii=True)
    for line in (*WALK, "show", "show log", "show agenda", "show counters", "bad", "help"):
        assert all(row.isascii() for row in prompt.ask(line))


def test_a_long_run_prints_its_first_20_events() -> None:
    prompt = Prompt("use rc_pair", "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]")
    printed = prompt.ask("step 50")
    assert "… 30 more events: show story last=30" in printed
    assert sum(row.startswith("ev ") for row in printed) == 20


def test_a_run_beside_a_program_that_polls_prints_the_packets() -> None:
    prompt = Prompt("use rc_pair", width=120)
    prompt.lab.start("A.tx", ["post_send A.qp0 opcode=SEND sg=A.mr0[0:8]", "poll A.cq0"])
    printed = prompt.ask("run 2ms")
    assert "A.tx line 2: poll A.cq0 ×6,400, to ev 6441" in "\n".join(printed)
    assert sum("sent SEND_ONLY psn=0" in row for row in printed) == 2
    assert any(row.startswith("… 10,0") for row in printed)


def test_steps_repeat_on_an_empty_line() -> None:
    prompt = Prompt("use rc_pair", "post_send A.qp0 opcode=SEND sg=A.mr0[0:64]", "step 2")
    assert prompt.ask("") != []
    assert prompt.lab.session.world.event == 18
    prompt.ask("show")
    assert prompt.ask("") == []


def test_cq_and_async_events_are_printed_by_name() -> None:
    prompt = Prompt("use rc_pair channel=1", "req_notify_cq B.cq0", "post_recv B.qp0", width=200)
    prompt.ask("post_send A.qp0 opcode=SEND", "run", "link down")
    assert prompt.ask("get_cq_event B.ch0")[1:] == ["B.cq0 has an event, cq_context 0"]
    assert prompt.ask("get_async_event B")[1:] == ["PORT_ERR of port 1: the port left ACTIVE"]
    waiting = prompt.ask("show events")
    assert "A  ! PORT_ERR  A: port error" in waiting
    assert "B  ! PORT_ERR  B: port error  read, not acknowledged" in waiting


def test_current_completion_with_the_fields_that_may_be_read() -> None:
    prompt = Prompt(
        "use rc_pair",
        "create_cq_ex A.cq1 cqe=4 wc_flags=BYTE_LEN|COMPLETION_TIMESTAMP",
        "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq1 recv_cq=A.cq1",
        "modify_qp A.qp1 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
        "post_recv A.qp1 wr_id=5",
        "modify_qp A.qp1 state=ERR",
        width=200,
    )
    assert prompt.ask("start_poll A.cq1")[1:] == ["wr5 WR_FLUSH_ERR vendor_err=133"]
    (answer,) = prompt.ask("wc_read A.cq1 byte_len")[1:]
    assert answer.endswith(": undefined on an error status")


def test_plain_cq_has_its_arm_and_events() -> None:
    prompt = Prompt("use rc_pair channel=1", "req_notify_cq B.cq0", "post_recv B.qp0", plain=True)
    assert "B.cq0, CQ 0 of 16, 0 so far, ARMED any, channel: ch0" in prompt.ask("show B.cq0")
    prompt.ask("post_send A.qp0 opcode=SEND", "run")
    assert any(line.endswith("channel: ch0, 1 event") for line in prompt.ask("show B.cq0"))


def test_waiting_and_failed_programs_are_listed_after_each_run() -> None:
    prompt = Prompt("use rc_pair", "program A.tx lines={wait A.cq0.count > 0}")
    prompt.ask("program B.rx lines={resize_cq B.cq0 cqe=0}", "program B.ok lines={stop}")
    lines = " ".join(" ".join(prompt.ask("run")).split())
    assert "A.tx ◷ WAITING in line 1 since 0.000 us: wait A.cq0.count > 0" in lines
    assert "B.rx ✗ FAILED in line 1 at 0.000 us: resize_cq B.cq0 cqe=0: EINVAL" in lines
    assert "B.ok ✓ DONE" not in lines


def test_what_is_numbered_stands_below_one_another() -> None:
    prompt = Prompt("use rc_pair", *(f"fault drop A->B psn={n}" for n in range(10)))
    printed = prompt.ask("faults")
    assert (printed[0], printed[-1]) == (
        " 1  drop A->B psn=0: acted on 0 packets", "10  drop A->B psn=9: acted on 0 packets",
    )  # fmt: skip


def test_a_poll_that_is_too_early_says_what_comes_next() -> None:
    send = "post_send A.qp0 opcode=SEND sg=A.mr0[0:5] flags=SIGNALED"
    prompt = Prompt("use rc_pair", send, width=200)
    (answer,) = prompt.ask("poll_cq A.cq0")
    assert answer.endswith(
        "The completion queue is empty.  Next: A.qp0 sends a packet of wr0 SEND 5 B at 0.100 us"
    )


def test_a_polled_error_names_the_queue_pair_of_the_node_that_has_the_cq() -> None:
    """Each node numbers its own queue pairs: A.qp0 and B.qp0 have the same number."""
    prompt = Prompt(
        "use rc_pair", "post_recv B.qp0 wr_id=7 sg=B.mr0[0:4]",
        "post_send A.qp0 opcode=SEND wr_id=7 sg=A.mr0[0:64] flags=SIGNALED", "run",
    )  # fmt: skip
    assert "wr7 LOC_LEN_ERR B.qp0 vendor_err=0x81" in prompt.ask("poll_cq B.cq0")
    assert "wr7 REM_INV_REQ_ERR A.qp0 vendor_err=0x89" in prompt.ask("poll_cq A.cq0")

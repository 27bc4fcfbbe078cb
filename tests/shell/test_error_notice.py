"""What a run ended in is said in three rows, once, and the cause agrees with `why`."""

import re

import pytest

from rdmalab.shell.error_notice import ErrorNotice
from tests.each import each
from tests.shell.prompts import Prompt

_SEND = "post_send A.qp0 wr_id={} opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
_WRITE = "post_send A.qp0 opcode=RDMA_WRITE wr_id={} sg=A.mr0[0:5] {}"
_BAD = _WRITE.format(7, "remote_addr=0x64 rkey=0xdead")
_RECV = "post_recv B.qp0 sg=B.mr0[0:{}]"


def noticed(prompt: Prompt, line: str) -> list[str]:
    """The rows about a new failure in the answer to a line: what, cause, next word."""
    text = "\n".join(prompt.ask(line))
    found = re.search(r"^([✗◷] .*?)^  (cause .*?)^  (next .*?)$", text, re.DOTALL | re.MULTILINE)
    return [" ".join(row.split()) for row in found.groups()] if found else []


def test_notice_of_a_wrong_rkey_has_cause_and_next_command() -> None:
    prompt = Prompt("use rc_pair", _BAD, _WRITE.format(8, "remote=B.mr0[8]"), width=100)
    what, cause, next_word = noticed(prompt, "run")
    assert what.startswith("✗ wr7 RDMA_WRITE 5 B ended with REM_ACCESS_ERR; wr8 was flushed")
    assert cause == "cause rkey 0xdead is the key of no MR or bound window on B [ev 18]"
    assert next_word == "next why (evidence, tested fix) · explain REM_ACCESS_ERR"


def test_notice_of_an_overrun_names_the_event_in_which_the_queue_pair_went_to_err() -> None:
    posts = [_RECV.format(64)] * 4 + [_SEND.format(n) for n in range(4)]
    prompt = Prompt("use rc_pair cqe=3", *posts, width=100, profile="rxe")
    what, cause, _ = noticed(prompt, "run 10ms")
    assert what == "✗ B.qp0 went to ERR [ev 29]"
    assert cause == "cause B.cq0 has room for 3, and was full from here [ev 28]"


def test_notice_of_a_hanging_request_when_idle() -> None:
    prompt = Prompt(
        "use rc_pair timeout=0", "fault drop A->B nth=1", _RECV.format(64), _SEND.format(4)
    )
    what, cause, next_word = noticed(prompt, "run")
    assert what.startswith("◷ A.qp0.wr[4] has no completion, and none will come without another")
    assert cause == "cause A.qp0 was given timeout=0: no ack timer, no retransmit [ev 12]"
    assert next_word == "next why (evidence, tested fix)"


def test_a_datagram_dropped_after_success_is_no_failed_completion_and_its_cause_is_the_drop() -> (
    None
):
    send = "post_send A.qp0 wr_id=3 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED ah=A.ah0"
    prompt = Prompt("use ud_pair", f"{send} remote_qpn=B.qp0 remote_qkey=5", width=100)
    lines = " ".join("\n".join(prompt.ask("run")).split())
    assert "! A.qp0.wr[3] ended with SUCCESS" in lines
    assert "cause B.qp0 has Q_Key 0x11111111, the datagram 0x5: dropped" in lines


def test_beside_an_older_failure_the_next_word_names_what_has_failed_now() -> None:
    prompt = Prompt(
        "use rc_pair", _BAD, "run", "use rc_pair", _BAD.replace("qp0", "qp1").replace("mr0", "mr1")
    )
    next_word = noticed(prompt, "run")[2]
    assert next_word == "next why A.qp1.wr[7] (evidence, tested fix) · explain REM_ACCESS_ERR"


def test_failures_of_two_queue_pairs_name_them_and_the_one_with_the_cause_is_first() -> None:
    other = _BAD.replace("qp0", "qp1")  # its region is in another protection domain
    what, cause, next_word = noticed(
        Prompt("use rc_pair", "use rc_pair", _BAD, other, width=120), "run"
    )
    ends = [f"A.qp{n} wr7 RDMA_WRITE 5 B ended with" for n in (0, 1)]
    assert what.startswith(f"✗ {ends[0]} REM_ACCESS_ERR, {ends[1]} LOC_PROT_ERR")
    assert cause.startswith("cause rkey 0xdead is the key of no MR or bound window on B")
    assert next_word.endswith("explain REM_ACCESS_ERR")


def test_a_success_without_a_cause_is_no_notice() -> None:
    """A buffer is filled twice with the same bytes before the first completion is polled."""
    prompt = Prompt("use rc_pair", *2 * (_RECV.format(64), _SEND.format(1)))
    assert "SUCCESS; its completion" not in "\n".join(prompt.ask("run"))
    prompt.ask(_BAD)
    assert noticed(prompt, "run")[2] == "next why (evidence, tested fix) · explain REM_ACCESS_ERR"


def test_notice_has_the_qp_states_if_they_fit() -> None:
    prompt = Prompt("use rc_pair", _BAD, width=100)
    assert "REM_ACCESS_ERR. B.qp0 and A.qp0 went to ERR [ev 18]" in noticed(prompt, "run")[0]


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("plain", [False, True])
def test_three_rows_at_every_width(width: int, plain: bool) -> None:
    prompt = Prompt("use rc_pair", _BAD, width=width, plain=plain)
    lines = " ".join(" ".join(prompt.ask("run")).split())
    words = ("ended with REM_ACCESS_ERR", "cause rkey 0xdead", "next why (evidence")
    assert all(word in lines for word in words), lines


def test_in_ascii_the_signs_are_letters() -> None:
    prompt = Prompt("use rc_pair", _BAD, ascii=True)
    assert any(row.startswith("x wr7 RDMA_WRITE") for row in prompt.ask("run"))


@each("line", ("run", "step 9", "until A.qp0.state == ERR", "run 1s"))
def test_every_word_that_moves_time_says_it(line: str) -> None:
    assert noticed(Prompt("use rc_pair", _BAD), line)


def test_notice_of_a_failure_is_printed_once() -> None:
    prompt = Prompt("use rc_pair", _BAD, width=120)
    assert not noticed(prompt, "step")
    assert noticed(prompt, "run")
    assert not noticed(prompt, "run")
    assert not noticed(prompt, "step")


@each("status, length, setup", (
    ("REM_INV_REQ_ERR", 64, "post_recv B.qp0 sg=B.mr0[0:4]"),
    ("RNR_RETRY_EXC_ERR", 64, "modify_qp A.qp0 state=RTS rnr_retry=1"),
    ("LOC_PROT_ERR", 8000, "post_recv B.qp0 sg=B.mr0[0:64]"),
))  # fmt: skip
def test_the_cause_is_that_of_why(status: str, length: int, setup: str) -> None:
    send = f"post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:{length}] flags=SIGNALED"
    prompt = Prompt("use rc_pair rnr_retry=1" if "RNR" in status else "use rc_pair", width=200)
    prompt.ask(*[setup][: "RNR" not in status], send)
    what, cause, _ = noticed(prompt, "run 20ms")
    evidence = cause.removeprefix("cause ").partition(" [ev")[0]
    assert status in what
    assert any(evidence in row for row in prompt.ask("why -v A.qp0.wr[1]"))


def test_no_notice_after_success() -> None:
    prompt = Prompt("use rc_pair", _RECV.format(64), _SEND.format(2), width=120)
    assert not noticed(prompt, "run")


def test_a_call_that_was_refused_before_the_run_is_no_news() -> None:
    prompt = Prompt("use rc_pair", _RECV.format(64), _SEND.format(2))
    assert "EINVAL" in prompt.ask("modify_qp A.qp0 state=INIT")[0]
    assert not noticed(prompt, "run")


def test_notice_of_a_program_that_polls_an_empty_cq() -> None:
    prompt = Prompt("use rc_pair", "program A.x lines={poll A.cq0}", width=120)
    prompt.lab.session.max_events = 9_000
    assert noticed(prompt, "run")[0].startswith("◷ A.x is in line 1: poll A.cq0, and will not get")


def test_notice_of_a_send_that_only_a_timer_can_complete() -> None:
    prompt = Prompt("use rc_pair", _SEND.format(3), width=120)
    assert not noticed(prompt, "run 1us")
    assert noticed(prompt, "run 100us")[0].startswith("◷ A.qp0.wr[3] has no completion")
    assert not noticed(prompt, "run 10ms")


def test_going_back_is_no_news_and_another_world_has_its_own() -> None:
    prompt = Prompt("use rc_pair", _BAD, width=120)
    assert noticed(prompt, "run")
    assert not noticed(prompt, "back")
    assert not noticed(prompt, "run")
    other = Prompt("use rc_pair", _BAD, width=120)
    other.ask("run")
    trouble = prompt.conversation.output.trouble
    assert not trouble.rows(prompt.lab.session, 0, 80)
    assert trouble.rows(other.lab.session, 0, 80)
    assert ErrorNotice().rows(other.lab.session, 0, 80)


@each("post", (
    "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED",
    "post_recv A.qp0 wr_id=1 sg=A.mr0[0:8]",
))  # fmt: skip
def test_a_flush_that_a_call_ordered_is_no_failure_of_the_run_nor_of_why(post: str) -> None:
    prompt = Prompt("use rc_pair", post, "modify_qp A.qp0 state=ERR", width=120)
    rows = prompt.ask("run")
    told = "a call moved A.qp0 to ERR, which flushes its requests"
    assert [row for row in rows if row.startswith(f"! {told}")]
    assert not any("next " in row or row.startswith("✗") for row in rows)
    answer = " ".join(" ".join(prompt.ask("why")).split())
    assert answer.startswith("WELL nothing has failed")
    assert told in answer
    assert not any(told in row for row in prompt.ask("run"))


def test_a_flush_of_a_send_that_was_in_trouble_is_a_failure_of_the_run_and_of_why() -> None:
    keepalive = "program A.keepalive lines={sleep 100us; modify_qp A.qp0 state=ERR}"
    prompt = Prompt("use rc_pair", _SEND.format(3), keepalive, width=120)
    assert noticed(prompt, "run 1ms")[1].startswith("cause A.keepalive moved A.qp0")
    assert prompt.ask("why")[0].startswith("FAILED")


def test_a_failure_that_was_foreseen_is_reported_once_more_when_it_happens() -> None:
    prompt = Prompt("use rc_pair rnr_retry=1", _SEND.format(1))
    foreseen, _, _ = noticed(prompt, "step 4")
    assert foreseen.startswith("◷ A.qp0.wr[1] has no completion; without another call it ends with")
    what, _, next_word = noticed(prompt, "run")
    assert what.startswith("✗ wr1 SEND 64 B ended with RNR_RETRY_EXC_ERR. A.qp0 went to ERR")
    assert next_word == "next why (evidence, tested fix) · explain RNR_RETRY_EXC_ERR"
    assert noticed(prompt, "run") == []


def test_a_request_that_waits_in_the_past_is_no_alarm() -> None:
    talk = Prompt("load loss/lost-packet", width=100)
    while "end of the lesson" not in "".join(talk.ask("next")):
        pass
    talk.ask("back")
    talk.ask("back")
    assert "has no completion" not in "".join(talk.ask("step"))


def test_a_call_that_is_the_cause_is_no_name_to_ask_about() -> None:
    refused = "reg_mr B.mr1 pd=B.pd0 length=4096 access=REMOTE_WRITE"
    prompt = Prompt("use rc_pair", refused, _WRITE.format(7, "remote_addr=0x64 rkey=0"), width=120)
    _, cause, next_word = noticed(prompt, "run")
    assert cause == "cause REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE too [ev 14]"
    assert next_word.startswith("next why A.qp0.wr[7] (evidence")

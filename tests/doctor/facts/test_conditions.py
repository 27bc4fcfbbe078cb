"""Threads that wait for a condition: idle servers, fields of a completion, counters, flags."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from rdmalab.doctor.report.report import Report
from rdmalab.lab import Lab
from tests.doctor.asking import played, why

_RECVS = "post_recv B.qp0 wr={wr_id=1 sg=B.mr0[0:64]} wr={wr_id=2 sg=B.mr0[64:128]}"
_FLAG = "opcode=RDMA_WRITE sg=A.mr0[0:1] remote=B.mr0[0] flags=SIGNALED"
_SEND = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:32] flags=SIGNALED"


def pair(*lines: str) -> Lab:
    return played("use rc_pair", *lines, "run 100us")


def never(lab: Lab, thread: str) -> Report:
    """The answer on a thread that never goes on; the plain question finds the same root."""
    report, plain = why(lab, thread), why(lab)
    assert report.outcome.kind is Status.NEVER
    assert report.is_trouble
    assert plain.slug == report.slug
    return report


# --------------------------------------------------------------------------- servers
@pytest.mark.parametrize(
    ("setup", "loop", "asks"),
    [
        ("use rc_pair",
         'wait B.mr0[0] == 1; write B.mr0[0:1] "\\x00"', f"post_send A.qp0 {_FLAG}"),
        ("use rc_pair; " + _RECVS, "wait B.cq0.count > 0; poll_cq B.cq0", _SEND),
        ("use srq_pair; post_srq_recv B.srq0 wr={wr_id=1 sg=B.mr0[0:64]} wr={wr_id=2}",
         "wait B.srq0.count < 2; post_srq_recv B.srq0 wr_id=9 sg=B.mr0[256:320]", _SEND),
    ],
)  # fmt: skip
def test_a_server_that_waits_for_its_next_request_is_no_trouble(
    setup: str, loop: str, asks: str
) -> None:
    lab = played(*setup.split("; "), f"program B.rx lines={{loop; {loop}; end}}",
                 'write A.mr0[0:1] "\\x01"', "run 2us", asks, "run 100us",
                 "poll_cq A.cq0")  # fmt: skip
    report = why(lab, "B.rx")
    assert (report.outcome.kind, report.is_trouble) == (Status.PENDING, False)
    assert not why(lab).is_trouble


def test_a_client_that_sent_in_its_loop_and_has_no_answer_is_no_idle_server() -> None:
    loop = f"loop; post_send A.qp0 {_FLAG}; poll A.cq0; wait A.mr0[8] == 1; fill A.mr0[8:9] 0; end"
    lab = pair(f"program A.tx lines={{{loop}}}", "run 20us", 'write A.mr0[8:9] "\\x01"')
    assert never(lab, "A.tx").slug == "condition-false"


# --------------------------------------------------------------------------- the last completion
@pytest.mark.parametrize(
    ("condition", "asks", "says"),
    [
        ("imm_data == 7", "opcode=SEND_WITH_IMM sg=A.mr0[0:16] imm_data=0x07000000",
         "is 0x7000000, of A.qp0.wr[1]: that is 7 with its bytes in reverse order"),
        ("byte_len == 64", "opcode=SEND sg=A.mr0[0:32]", "B.cq0.last.byte_len is 32"),
        ("opcode == RECV_RDMA_WITH_IMM", "opcode=SEND sg=A.mr0[0:32]",
         "B.cq0.last.opcode is RECV"),
        ("wr_id == 1 and B.cq0.last.byte_len > 32", "opcode=SEND sg=A.mr0[0:32]",
         "B.cq0.last.byte_len is 32"),
    ],
)  # fmt: skip
def test_a_field_of_the_message_that_came(condition: str, asks: str, says: str) -> None:
    lab = pair(_RECVS, f"program B.rx lines={{poll B.cq0 until B.cq0.last.{condition}}}",
               f"post_send A.qp0 wr_id=1 {asks} flags=SIGNALED", "run 50us",
               "poll_cq A.cq0")  # fmt: skip
    report = never(lab, "B.rx")
    assert report.slug == "condition-false"
    assert says in report.text.replace("\n", " ").replace("  ", " ")
    assert "A.qp0.wr[1]" in report.text
    assert "no message has come" not in report.text


def test_the_opcode_of_a_send_that_was_posted() -> None:
    post = f"post_send A.qp0 wr_id=1 {_FLAG}"
    lab = pair(f"program A.tx lines={{{post}; poll A.cq0 until A.cq0.last.opcode == RDMA_READ}}")
    report = never(lab, "A.tx")
    assert report.slug == "condition-false"
    assert "A.cq0.last.opcode is RDMA_WRITE" in report.text
    assert "A.qp0.wr[1]" in report.text


def test_a_wr_id_whose_message_is_still_to_come() -> None:
    lab = pair(_RECVS, "program B.rx lines={poll B.cq0 until B.cq0.last.wr_id == 2}", _SEND,
               "run 50us", "poll_cq A.cq0")  # fmt: skip
    assert never(lab, "B.rx").slug == "silent-peer"


def test_a_message_that_is_still_to_come_is_the_root() -> None:
    tx = _SEND.replace("flags=SIGNALED", "")
    lab = pair("post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]", "run 50us",
               f"program A.tx lines={{{tx}; post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:8] "
               "flags=SIGNALED; poll A.cq0}",
               "program B.rx lines={poll B.cq0 until B.cq0.last.byte_len == 8}")  # fmt: skip
    assert "condition-false" not in [cause.check.slug for cause in why(lab, "B.rx").causes]


def test_a_wr_id_of_no_receive_names_the_last_receive() -> None:
    lab = pair(_RECVS, "program B.rx lines={poll B.cq0 until B.cq0.last.wr_id == 5}",
               _SEND.replace("wr_id=1", "wr_id=8"), "run 50us", "poll_cq A.cq0")  # fmt: skip
    report = never(lab, "B.rx")
    assert "no receive was posted with wr_id 5; the last receive posted is wr2" in (
        report.causes[0].finding.evidence[0].text
    )
    assert report.remedy is not None
    assert "the wr_id of a receive that is posted" in report.remedy.cure.program


# --------------------------------------------------------------------------- counters
@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("B.cq0.total == 1", "B.cq0.total is 2; it only counts up, and has passed 1"),
        ("B.cq0.total < 2", "B.cq0.total is 2; it only counts up, and has reached 2"),
    ],
)
@pytest.mark.parametrize("entries", [0, 2])
def test_a_counter_that_has_passed_the_number(condition: str, says: str, entries: int) -> None:
    polls = [f"poll_cq B.cq0 num_entries={entries}"] if entries else []
    lab = pair(_RECVS, _SEND, _SEND, "run 50us", "poll_cq A.cq0 num_entries=2", *polls,
               f"program B.rx lines={{wait {condition}; sleep 1us}}")  # fmt: skip
    report = never(lab, "B.rx")
    assert report.slug == "condition-false"
    assert says in report.text.replace("\n     ", "")
    assert report.remedy is not None
    assert "let a message" not in report.remedy.cure.program
    if "==" in condition:
        assert f"{condition.replace('==', '>=')}" in report.remedy.cure.program


def test_a_server_whose_counter_has_passed_the_number_never_goes_on() -> None:
    server = "program B.rx lines={loop; wait B.cq0.total == 1; poll_cq B.cq0; sleep 1us; end}"
    lab = pair(_RECVS, server, _SEND, "run 20us", _SEND)
    assert never(lab, "B.rx").slug == "condition-false"


# --------------------------------------------------------------------------- flags in memory
def test_the_failed_write_of_a_flag_is_the_root() -> None:
    write = "opcode=RDMA_WRITE sg=B.mr0[0:1] remote_addr=A.mr0[0] rkey=0x55 flags=SIGNALED"
    lab = pair("program A.tx lines={wait A.mr0[0] > 0; sleep 1us}",
               f"program B.rx lines={{post_send B.qp0 wr_id=3 {write}; poll B.cq0}}")  # fmt: skip
    report = why(lab, "A.tx")
    assert (report.slug, report.outcome.kind) == ("rem-access", Status.NEVER)
    assert "B.qp0.wr[3]" in report.text
    assert "condition-false" not in [cause.check.slug for cause in report.causes]


def test_a_write_beside_the_flag_after_it_was_set() -> None:
    swap = "opcode=ATOMIC_CMP_AND_SWP sg=A.mr0[0:8] remote=B.mr0[0] compare_add=0 swap=1"
    lab = pair("program B.two lines={sleep 20us; wait B.mr0[0] == 0; sleep 1us}",
               f"post_send A.qp0 wr_id=1 {swap}", "run 8us",
               f"post_send A.qp0 wr_id=2 {_FLAG.replace('B.mr0[0]', 'B.mr0[8]')}")  # fmt: skip
    text = why(lab, "B.two").text
    assert "A.qp0.wr[1] wrote B.mr0[0:1] by ATOMIC_CMP_AND_SWP" in text
    assert "after that A.qp0.wr[2] wrote B.mr0[8:9]" in text


def test_the_nearest_write_to_a_flag_is_that_of_a_thread() -> None:
    lab = pair(_RECVS, "program B.two lines={wait B.mr0[601] == 1; sleep 1us}",
               'program B.one lines={poll B.cq0; write B.mr0[600:601] "\\x01"}', _SEND)  # fmt: skip
    text = why(lab, "B.two").text
    assert "nothing wrote B.mr0[601:602]; B.one wrote B.mr0[600:601]" in text
    assert "A.qp0.wr[1]" not in text


@pytest.mark.parametrize(
    ("condition", "says", "change"),
    [
        ('B.mr0[64:68] == "\\x07\\0\\0\\0"',
         "is b'\\x00\\x00\\x00\\x07': what is awaited, with its bytes in reverse order", "compare"),
        ("B.mr0[64] == 7", "A.qp0.wr[1] wrote B.mr0[64:68], with what is awaited at B.mr0[67]",
         "wait for B.mr0[67] in B.rx, or let A.qp0.wr[1] write B.mr0[64:65]"),
        ("B.mr0[64] == 1792", "B.mr0[64] is 0, one byte: it is never 1792", "compare"),
        ('B.mr0[64:72] == "\\0\\0\\0\\x07"', "8 bytes, compared with 4", "compare"),
        ('B.mr0[66:70] == "\\0\\0\\0\\x07"',
         "A.qp0.wr[1] wrote B.mr0[64:68], with what is awaited at B.mr0[64]", "wait for B.mr0[64]"),
        ('B.mr0[900:904] == "\\0\\0\\0\\x07"',
         "nothing wrote B.mr0[900:904]; A.qp0.wr[1] wrote B.mr0[64:68]", "wait for B.mr0[64]"),
        ('B.mr1[8:12] == "\\0\\0\\0\\x07"',
         "nothing wrote B.mr1[8:12]; A.qp0.wr[1] wrote B.mr0[64:68]", "wait for B.mr0[64]"),
        ("B.mr0[67] == 8", "B.mr0[67] is 7", "let a message"),
    ],
)  # fmt: skip
def test_a_condition_on_bytes_says_where_and_how_the_value_is(
    condition: str, says: str, change: str
) -> None:
    lab = pair("reg_mr B.mr1 pd=B.pd0 length=64 access=LOCAL_WRITE",
               r'write A.mr0[0:4] "\0\0\0\x07"', f"program B.rx lines={{wait {condition}}}",
               "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:4] remote=B.mr0[64] "
               "flags=SIGNALED",
               "post_send A.qp0 wr_id=2 opcode=RDMA_WRITE sg=A.mr0[8:12] "
               "remote=B.mr0[880]")  # fmt: skip
    report = never(lab, "B.rx")
    assert report.slug == "condition-false"
    assert says in " ".join(report.text.split())
    assert report.remedy is not None
    assert report.remedy.cure.program.startswith(change)


_MORE = "B.mr0[67] is one byte, at most 255: never"


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("B.mr0[67] > 255", f"{_MORE} > 255"),
        ("B.mr0[67] >= 256", f"{_MORE} >= 256"),
        ("B.mr0[67] > 254 + A.cq0.total", f"{_MORE} > 254 + A.cq0.total, which is 256"),
        ("B.mr0[67] > 253 + A.cq0.count", ""),  # it can be smaller again
        ("B.mr0[67] > 256 - A.cq0.total", ""),
        ("B.mr0[67] > 254", ""),
        ("B.mr0[67] >= 255", ""),
    ],
)
def test_a_byte_that_is_to_be_larger_than_a_byte(condition: str, says: str) -> None:
    write = ("post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:4] remote=B.mr0[64] "
             "flags=SIGNALED")  # fmt: skip
    report = never(pair(f"program B.rx lines={{wait {condition}}}", write, write), "B.rx")
    assert report.slug == "condition-false"
    assert ("at most 255" in report.text) is bool(says)
    assert says in " ".join(report.text.split())


# --------------------------------------------------------------------------- answers of atomics
@pytest.mark.parametrize(
    ("held", "atomic", "wait", "says", "advice"),
    [
        ("\\x05", "ATOMIC_FETCH_AND_ADD compare_add=2", "[0] == 7",
         "the value before it, 5, to which it added 2", "add 2 in A.t"),
        ("\\x01", "ATOMIC_CMP_AND_SWP swap=2 compare_add=0x0100000000000000",
         '[0:8] == "\\0\\0\\0\\0\\0\\0\\0\\x01"', "its bytes in reverse order: nothing was swapped",
         "in the byte order of the host"),
        ("\\x03", "ATOMIC_CMP_AND_SWP swap=2 compare_add=0", "[0] == 1",
         "3 came back, not 0: nothing was swapped", "or do not wait for it"),
        ("\\x03", "ATOMIC_CMP_AND_SWP swap=2 compare_add=3", "[0] == 2",
         "3 came back, which is the value to compare with", "or do not wait for it"),
    ],
)  # fmt: skip
def test_bytes_that_an_atomic_returned_are_named_with_its_operation(
    held: str, atomic: str, wait: str, says: str, advice: str
) -> None:
    post = f"post_send A.qp0 opcode={atomic} sg=A.mr0[0:8] remote=B.mr0[0:8] flags=SIGNALED"
    lines = f"{post}; poll A.cq0; wait A.mr0{wait}"
    lab = pair(f'write B.mr0[0:1] "{held}"', f"program A.t lines={{{lines}}}")
    report = never(lab, "A.t")
    assert report.slug == "condition-false"
    assert says in " ".join(report.text.split())
    assert advice in " ".join(report.text.split())


@pytest.mark.parametrize(
    "lines", ["wait B.cq0.count == 1; wait B.cq0.next.imm_data == htonl(7)",
              "poll B.cq0 until B.cq0.last.imm_data == htonl(7)"])  # fmt: skip
def test_imm_data_of_a_send_without_immediate_data(lines: str) -> None:
    lab = pair(_RECVS, f"program B.rx lines={{{lines}}}",
               "post_send A.qp0 wr_id=3 opcode=SEND sg=A.mr0[0:4] imm_data=htonl(7)")  # fmt: skip
    report = why(lab, "B.rx")
    assert report.slug == "condition-false"
    text = "A.qp0.wr[3] was posted as SEND, which brings no imm_data, although imm_data=0x7000000"
    assert report.causes[0].finding.evidence[0].text == f"{text} was given"
    assert report.remedy is not None
    assert "post A.qp0.wr[3] as SEND_WITH_IMM" in report.remedy.cure.program

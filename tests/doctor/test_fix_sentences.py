"""What a fix says of itself: what it changes, what it leaves out, whose fix it is."""

import pytest

from rdmalab.doctor.evidence.finding import Fix
from rdmalab.doctor.report.report import Report, TriedFix
from tests.doctor.asking import played, why

_WRITE = "post_send A.qp0 wr_id={} opcode=RDMA_WRITE sg=A.mr0[0:5] {} flags=SIGNALED"
_BEYOND = _WRITE.format(3, "remote_addr=0x20000ffe rkey=B.mr0")
_GOOD = _WRITE.format(4, "remote=B.mr0[0]")


def _fix(report: Report) -> str:
    return next(row.line for row in report.rows if row.lead == "fix: ")


def test_fix_sentence_of_a_shortened_request() -> None:
    lab = played("use rc_pair", _BEYOND, _GOOD, "run")
    report = why(lab, "A.qp0.wr[3]")
    assert "shortened to 2 bytes, which is what B.mr0 has there; or register more" in _fix(report)
    unsignaled = why(played("use rc_pair", _BEYOND.removesuffix(" flags=SIGNALED"), "run"))
    assert "shortened to 2 bytes" in _fix(unsignaled)
    for line in ("apply A.qp0.wr[3]", "run"):
        lab.do(line)
    assert lab.look("A.cq0.total(wr_id=3, status=SUCCESS)") == 1
    assert lab.look("A.cq0.total(wr_id=4, status=SUCCESS)") == 1
    assert not why(lab).is_trouble


def test_fix_sentence_of_flushed_sends_left_out() -> None:
    """Those that take a receive, and all after the fourth."""
    bad = _WRITE.format(1, "remote_addr=0x20000010 rkey=0xdead")
    send = "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:5] flags=SIGNALED"
    good = [_WRITE.format(n, "remote=B.mr0[0]") for n in range(3, 6)]
    receive = "post_recv B.qp0 wr_id=9 sg=B.mr0[64:128]"
    lab = played("use rc_pair max_send_wr=16", receive, bad, send, *good, "run")
    assert "sends that it does not post again: wr2)" in _fix(why(lab))
    more = [_WRITE.format(n, "remote=B.mr0[0]") for n in range(6, 10)]
    lab = played("use rc_pair max_send_wr=16", receive, bad, send, *good, *more, "run")
    assert "sends that it does not post again: wr2, wr7, wr8 and 1 more" in _fix(why(lab))
    lab = played("use rc_pair", receive, bad, *good, "run")
    assert "does not post again" not in _fix(why(lab))


def test_fix_sentence_of_another_target() -> None:
    bad = _WRITE.format(3, "remote_addr=0x100000 rkey=0xdead")
    answer = _fix(why(played("use rc_pair", bad, "run")))
    assert "the target changes: 0x100000 lies in no region of B" in answer


def test_a_fix_of_a_wrong_key_keeps_the_address() -> None:
    bad = _WRITE.format(3, "remote_addr=0x20000010 rkey=0xdead")
    report = why(played("use rc_pair", bad, "run"))
    assert report.remedy is not None
    assert report.remedy.cure.lines[-1].endswith("remote=B.mr0[16]")
    assert "target changes" not in _fix(report)


@pytest.mark.parametrize("bad", ["remote_addr=0x100000 rkey=0xdead", "remote=B.mr0[0] rkey=1"])
def test_after_a_fix_no_wr_id_is_ambiguous(bad: str) -> None:
    lab = played("use rc_pair", _WRITE.format(3, bad), "run", "apply", "run")
    assert [cause.check.slug for cause in why(lab).warnings] == []


@pytest.mark.parametrize("many", [1, 8])
def test_an_unsignaled_request_is_not_posted_again(many: int) -> None:
    write = "post_send A.qp0 wr_id=7 opcode=RDMA_WRITE sg=A.mr0[0:64] remote=B.mr0[0]"
    report = why(played("use rc_pair", *[write] * many, "run"), "A.qp0.wr[7]")
    remedy = report.remedy
    assert remedy is not None
    assert not report.has_lines
    assert remedy.cure.program.startswith("post wr7 with flags=SIGNALED")
    assert f"after event {12 + many} this works: " in remedy.cure.program


def test_fix_of_timeout_zero_names_the_new_timeout() -> None:
    lab = played("use rc_pair timeout=0 retry_cnt=2", "fault drop A->B nth=1", _GOOD, "run")
    report = why(lab)
    assert report.slug == "timeout-zero"
    assert "timeout becomes 14" in _fix(report)


def test_a_fix_that_is_not_sufficient_is_neither_offered_nor_carried_out() -> None:
    report = why(played("use rc_pair", _BEYOND, "run"))
    assert report.can_apply
    report.remedy = TriedFix(Fix(["run"]), works=False, failure="it has no completion")
    assert report.has_lines
    assert not report.can_apply


def test_ports_that_are_active_again_were_not_active_then() -> None:
    lab = played("use rc_pair", "post_recv B.qp0 wr_id=1 sg=B.mr0[0:64]", "link down",
                 "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED",
                 "run 300ms", "link up", "run")  # fmt: skip
    text = "\n".join(why(lab, "A.qp0.wr[1]").lines)
    assert "not ACTIVE now" not in text
    assert "A and B were not ACTIVE" in text


def test_the_fix_of_a_datagram_with_a_wrong_key_has_a_receive_with_room_for_the_grh() -> None:
    lab = played("use ud_pair", "post_recv B.qp0 wr_id=4 sg=B.mr0[0:64]",
                 "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] ah=A.ah0 remote_qpn=B.qp0"
                 " remote_qkey=0x1 flags=SIGNALED", "run")  # fmt: skip
    report = why(lab, "B.qp0.recv_wr[4]")
    assert report.outcome.kind.name == "NEVER"
    assert report.slug == "ud-qkey"
    fix = report.remedy
    assert fix is None or fix.works or "LOC_LEN_ERR" not in fix.failure


def test_a_receive_without_room_for_a_longer_one_says_which_end_has_to_change() -> None:
    lab = played(
        "use rc_pair length=64", "reg_mr B.long pd=B.pd0 length=256 access=LOCAL_WRITE",
        "post_recv A.qp0 wr_id=1 sg=A.mr0[0:64]",
        "post_send B.qp0 wr_id=2 opcode=SEND sg=B.long[0:128] flags=SIGNALED", "run",
        "poll_cq A.cq0",
    )  # fmt: skip
    report = why(lab, "A.qp0.recv_wr[1]")
    assert report.slug == "loc-len"
    assert report.remedy is not None
    text = report.remedy.cure.program
    assert "register 128 bytes for each receive of A.qp0, or let B.qp0 send 64 at most" in text


def test_the_fix_of_a_destroyed_pair_says_which_of_its_lines_it_shows() -> None:
    lab = played("use rc_pair", _BEYOND, "run", "destroy_qp A.qp0", "destroy_qp B.qp0")
    remedy = why(lab).remedy
    assert remedy is not None
    many = len(remedy.cure.lines)
    assert f", as line {many} of {many}, this works: post_send" in remedy.cure.program


def test_a_fix_names_a_second_lost_send_with_the_same_wr_id() -> None:
    send = "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED"
    report = why(played("use rc_pair rnr_retry=0", send, "run", send, "run"))
    assert report.remedy is not None
    assert report.remedy.cure.note == "sends that it does not post again: wr2"


def test_the_fix_of_a_lost_datagram_does_not_end_a_wait_that_goes_on() -> None:
    to_b = "ah=A.ah0 remote_qpn=B.qp0 remote_qkey=0x11111111 flags=SIGNALED"
    lab = played("use ud_pair", f"post_send A.qp0 wr_id=5 opcode=SEND sg=A.mr0[0:8] {to_b}",
                 "program B.rx lines={wait B.mr0[600] == 9}", "run")  # fmt: skip
    text = _fix(why(lab, "A.qp0.wr[5]"))
    assert "it ends the wait, no more (B.rx still waits" not in text


def test_the_fix_for_a_destroyed_pair_must_help_the_threads_that_were_stopped_before() -> None:
    send = "post_send B.qp0 wr_id=1 opcode=SEND sg=B.mr0[0:8] flags=SIGNALED"
    threads = ("program A.rx lines={poll A.cq0; poll A.cq0}",
               f"program B.tx lines={{{send}; poll B.cq0}}")  # fmt: skip
    lab = played("use rc_pair rnr_retry=0", *threads, "run 9us", "stop A.rx",
                 "destroy_qp A.qp0", "destroy_qp B.qp0")  # fmt: skip
    text = _fix(why(lab, "B.qp0.wr[1]"))
    assert "this works" not in text
    assert "this helps (A.rx still waits in line 2: poll A.cq0)" in text


def test_the_fix_for_a_destroyed_pair_names_what_it_does_not_post_again() -> None:
    lab = played("use rc_pair rnr_retry=0", *(
        f"post_send A.qp0 wr_id={n} opcode=SEND sg=A.mr0[0:8] flags=SIGNALED" for n in (1, 2)
    ), "run", "destroy_qp A.qp0", "destroy_qp B.qp0")  # fmt: skip
    text = _fix(why(lab, "A.qp0.wr[1]"))
    assert "change the program" in text
    assert "this works (sends that it does not post again: wr2): " in text


def test_the_call_to_change_is_not_one_whose_rights_were_right() -> None:
    rest = "max_dest_rd_atomic=1 min_rnr_timer=12"
    lab = played(
        "use rc_pair", "reset A.qp0", "reset B.qp0",
        "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=REMOTE_WRITE",
        "modify_qp B.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=REMOTE_READ",
        f"modify_qp A.qp0 state=RTR path_mtu=512 dest_qp_num=0x77 rq_psn=0 {rest} ah=B",
        f"modify_qp B.qp0 state=RTR path_mtu=512 dest_qp_num=A.qp0 rq_psn=0 {rest} ah=A",
        "modify_qp A.qp0 state=RTS timeout=8 retry_cnt=2 rnr_retry=7 sq_psn=0 max_rd_atomic=1",
        "modify_qp B.qp0 state=RTS timeout=8 retry_cnt=2 rnr_retry=7 sq_psn=0 max_rd_atomic=1",
        "post_send A.qp0 wr_id=1 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0[0] flags=SIGNALED",
        "run", "poll_cq A.cq0", "destroy_qp A.qp0", "destroy_qp B.qp0",
    )  # fmt: skip
    remedy = why(lab).remedy
    assert remedy is not None
    assert remedy.cure.program == "give the modify_qp of event 18 dest_qp_num=B.qp0"

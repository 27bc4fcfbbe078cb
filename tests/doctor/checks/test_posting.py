"""Was it posted, can it complete visibly at all? Near misses: a neighbour holds, or all is well."""

import pytest

from rdmalab.doctor.check import Verdict
from rdmalab.doctor.evidence.outcome import Status
from rdmalab.lab import Lab
from rdmalab.repair.by_rule import suggestion
from tests.doctor.asking import chain, finding, verdict, why
from tests.labs import RECV, SEND, lab_of

_WRITE = "post_send A.qp0 wr_id={} opcode=RDMA_WRITE sg=A.mr0[{}] remote=B.mr0[{}] flags=SIGNALED"
_EX = (
    "create_qp_ex A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 max_inline_data=64 "
    "send_ops_flags=SEND|RDMA_WRITE",
    "reset B.qp0",
    "connect A.qp1 B.qp0",
)
_BUILT = (
    "wr_start A.qp1",
    "wr_rdma_write A.qp1 wr_id=50 wr_flags=SIGNALED remote=B.mr0[0]",
    "wr_set_sge A.qp1 sg=A.mr0[0:6]",
)
_FULL = ["post_send A.qp0 wr_id=9 opcode=RDMA_WRITE sg=A.mr0[0:1] remote=B.mr0[0]"] * 4


def after(*lines: str, pair: str = "use rc_pair", profile: str = "strict") -> Lab:
    """A pair and these lines, refused or not."""
    lab = Lab(profile=profile)
    for line in (pair, *lines):
        for reply in lab.do(line):
            assert reply.error is None, (line, reply.error)
    return lab


# --------------------------------------------------------------------------- not-posted
def test_a_request_that_goes_on_a_row_is_posted_as_the_row_goes_on() -> None:
    lab = lab_of(_WRITE.format(10, "0:4", "100"), _WRITE.format(12, "8:12", "104"), "run")
    cure = finding(lab, "A.qp0.wr[16]", "not-posted").cure
    assert cure is not None
    assert cure.lines == [_WRITE.format(16, "24:28", "112").replace(
        " remote=B.mr0[112] flags=SIGNALED", " flags=SIGNALED remote=B.mr0[112]")]  # fmt: skip


@pytest.mark.parametrize("asked", [11, 13, 8])
def test_not_posted_has_no_line_outside_a_sequence(asked: int) -> None:
    lab = lab_of(_WRITE.format(10, "0:4", "100"), _WRITE.format(12, "8:12", "104"), "run")
    cure = finding(lab, f"A.qp0.wr[{asked}]", "not-posted").cure
    assert cure is not None
    assert cure.program


def test_two_that_differ_make_no_row() -> None:
    lab = lab_of(_WRITE.format(1, "0:4", "0"), SEND.replace("=1 ", "=2 "), RECV, "run")
    cure = finding(lab, "A.qp0.wr[3]", "not-posted").cure
    assert cure is not None
    assert cure.program


def test_not_posted_has_no_line_after_different_flags() -> None:
    lab = lab_of(_WRITE.format(1, "0:4", "0"), _WRITE.format(2, "4:8", "4") + "|SOLICITED", "run")
    cure = finding(lab, "A.qp0.wr[3]", "not-posted").cure
    assert cure is not None
    assert cure.program


def test_receives_go_on_a_row_too() -> None:
    lab = lab_of(RECV, RECV.replace("=2 ", "=3 ").replace("0:64", "64:128"))
    cure = finding(lab, "B.qp0.recv_wr[4]", "not-posted").cure
    assert cure is not None
    assert cure.lines == ["post_recv B.qp0 wr_id=4 sg=B.mr0[128:192]"]


def test_receives_of_a_shared_queue_go_on_a_row_on_that_queue() -> None:
    posts = [f"post_srq_recv B.srq0 wr_id={n} sg=B.mr0[{8 * n}:{8 * n + 8}]" for n in (1, 2)]
    lab = lab_of(*posts, pair="use srq_pair")
    cure = finding(lab, "B.srq0.recv_wr[3]", "not-posted").cure
    assert cure is not None
    assert cure.lines == ["post_srq_recv B.srq0 wr_id=3 sg=B.mr0[24:32]"]


def test_not_posted_names_the_creation_of_the_qp() -> None:
    answer = finding(lab_of(), "A.qp0.wr[1]", "not-posted").evidence
    assert answer[0].event is not None
    assert "no send was ever posted on A.qp0" in answer[0].text


@pytest.mark.parametrize("slug", ["not-posted", "post-failed-ignored", "region-aborted"])
def test_posting_checks_do_not_apply_to_posted_requests(slug: str) -> None:
    assert verdict(lab_of(SEND, RECV, "run"), "A.qp0.wr[1]", slug) is Verdict.NA


# --------------------------------------------------------------------------- post-failed-ignored
_LIST = (
    "post_send A.qp0 wr={{wr_id=1 opcode=SEND sg=A.mr0[0:8]}} wr={{wr_id=2 {}}} "
    "wr={{wr_id=3 opcode=SEND}}"
)
_LONG_READ = "opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0[0] flags=INLINE"


def test_post_failed_ignored_not_before_bad_wr() -> None:
    lab = after(_LIST.format(_LONG_READ))
    assert verdict(lab, "A.qp0.wr[1]", "post-failed-ignored") is Verdict.NA


def test_post_failed_ignored_of_a_request_after_bad_wr() -> None:
    lab = after(_LIST.format(_LONG_READ))
    assert chain(lab, "A.qp0.wr[3]") == ["post-failed-ignored"]
    cure = finding(lab, "A.qp0.wr[3]", "post-failed-ignored").cure
    assert cure is not None
    assert "INLINE" not in cure.lines[-1]
    assert "wr_id=3" in cure.lines[-1]
    assert "wr_id=1" not in cure.lines[-1]


def test_post_failed_ignored_not_for_bad_wr_itself() -> None:
    lab = after(_LIST.format(_LONG_READ))
    assert verdict(lab, "A.qp0.wr[2]", "post-failed-ignored") is Verdict.OK


def test_a_full_queue_is_the_cause_of_all_that_found_no_slot() -> None:
    lab = after(*_FULL, "run", _LIST.format("opcode=SEND"), pair="use rc_pair max_send_wr=4")
    assert chain(lab, "A.qp0.wr[3]")[0] == "sq-full-of-unsignaled"
    assert verdict(lab, "A.qp0.wr[3]", "post-failed-ignored") is Verdict.OK


def test_pieces_that_do_not_touch_only_the_program_can_join() -> None:
    pieces = ",".join(f"A.mr0[{8 * n}:{8 * n + 4}]" for n in range(5))
    lab = after(f"post_send A.qp0 wr_id=5 opcode=SEND sg={pieces}")
    cure = finding(lab, "A.qp0.wr[5]", "post-failed-ignored").cure
    assert cure is not None
    assert "max_send_sge" in finding(lab, "A.qp0.wr[5]", "post-failed-ignored").evidence[0].text
    assert cure.program


# --------------------------------------------------------------------------- wrong-state-post
@pytest.mark.parametrize("profile", ["strict", "rxe", "mlx5"])
@pytest.mark.parametrize("reset", [["A"], ["B"], ["A", "B"]])
def test_either_end_or_both_are_brought_up(profile: str, reset: list[str]) -> None:
    lab = after(*(f"reset {node}.qp0" for node in reset), profile=profile)
    node = reset[0]
    line = f"post_send {node}.qp0 wr_id=1 opcode=RDMA_WRITE sg={node}.mr0[0:4] flags=SIGNALED"
    line += f" remote={'B' if node == 'A' else 'A'}.mr0[0]"
    lab.do(line)
    report = why(lab, f"{node}.qp0.wr[1]")
    assert [cause.check.slug for cause in report.causes] == ["wrong-state-post"]
    assert report.remedy is not None
    assert report.remedy.works


def test_fix_of_a_ud_post_in_reset_sets_qkey() -> None:
    post = ("post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:4] ah=A.ah0 remote_qpn=B.qp0 "
            "remote_qkey=0x11111111 flags=SIGNALED")  # fmt: skip
    lab = after("reset A.qp0", post, pair="use ud_pair")
    remedy = why(lab, "EINVAL").remedy
    assert remedy is not None
    assert remedy.works
    assert any("qkey=0x11111111" in line for line in remedy.cure.lines)


def test_wrong_state_post_without_a_peer_has_no_line() -> None:
    lab = after("create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0",
                "post_send A.qp1 wr_id=1 opcode=SEND")  # fmt: skip
    cure = finding(lab, "EINVAL", "wrong-state-post").cure
    assert cure is not None
    assert cure.program


def test_fix_of_an_early_post_on_rxe_does_not_post_again() -> None:
    lab = after("reset A.qp0", _WRITE.format(7, "0:4", "0"), profile="rxe")
    remedy = why(lab, "EINVAL").remedy
    assert remedy is not None
    for line in (*remedy.cure.lines, "run"):
        lab.do(line)
    assert lab.look("A.cq0.total(wr_id=7, status=SUCCESS) == 1")
    assert lab.look("A.cq0.total == 1")


def test_early_post_on_rxe_is_completed_after_bring_up() -> None:
    lab = after("reset A.qp0", _WRITE.format(1, "0:4", "0"), "to_rts A.qp0 B.qp0",
                _WRITE.format(2, "0:4", "0"), "run", profile="rxe")  # fmt: skip
    assert why(lab, "A.qp0.wr[1]").slug == "completed"


def test_a_refusal_for_another_reason_is_not_of_the_state() -> None:
    lab = after("post_send A.qp0 wr_id=1 opcode=77")
    assert verdict(lab, "EINVAL", "wrong-state-post") is Verdict.OK


# --------------------------------------------------------------------------- unsignaled
def test_a_request_that_is_still_under_way_is_not_unsignaled_but_early() -> None:
    lab = lab_of(RECV, "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64]")
    assert verdict(lab, "A.qp0.wr[1]", "unsignaled") is not Verdict.FAIL


def test_with_sq_sig_all_everything_is_signaled() -> None:
    lab = lab_of(
        RECV, "post_send A.qp0 wr_id=1 opcode=SEND", "run", pair="use rc_pair sq_sig_all=1"
    )
    assert verdict(lab, "A.qp0.wr[1]", "unsignaled") is Verdict.OK


# --------------------------------------------------------------------------- a full queue
_ONE_MORE = "post_send A.qp0 wr_id=8 opcode=RDMA_WRITE sg=A.mr0[0:1] remote=B.mr0[0] flags=SIGNALED"


def test_polls_missing_with_one_signaled_request() -> None:
    lab = after(*_FULL[1:], _ONE_MORE, "run", _ONE_MORE, pair="use rc_pair max_send_wr=4")
    assert chain(lab, "ENOMEM") == ["polls-missing"]
    assert verdict(lab, "ENOMEM", "sq-full-of-unsignaled") is Verdict.OK


_OLD = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:5] remote=B.mr0[4094]"
_AGAIN = ("reset A.qp0", "reset B.qp0", "connect A.qp0 B.qp0")


def test_a_completion_from_before_a_reset_frees_no_slot() -> None:
    lab = after(_OLD, "run", *_AGAIN, *_FULL, "run", pair="use rc_pair max_send_wr=4")
    refused = lab.do(_FULL[0])[-1]
    assert refused.refusal is not None
    assert "poll_cq" not in suggestion(lab.session, refused)
    report = why(lab)
    assert [cause.check.slug for cause in report.causes] == ["sq-full-of-unsignaled"]
    assert report.remedy is not None
    assert not any(line.startswith("poll_cq") for line in report.remedy.cure.lines)


def test_polls_missing_not_while_requests_are_under_way() -> None:
    lab = after(*[_ONE_MORE] * 5, pair="use rc_pair max_send_wr=4")
    assert verdict(lab, "ENOMEM", "sq-full-of-unsignaled") is Verdict.OK
    assert verdict(lab, "ENOMEM", "polls-missing") is Verdict.OK


_HEAD = " ".join(
    f"wr={{wr_id={n} opcode=RDMA_WRITE sg=A.mr0[0:1] remote=B.mr0[0]}}" for n in range(4)
)
_TAIL = "wr={wr_id=9 opcode=RDMA_WRITE sg=A.mr0[0:1] remote=B.mr0[0] flags=SIGNALED}"


def test_sq_too_small_of_a_list_with_a_signaled_tail() -> None:
    """The requests that were posted are unsignaled on purpose: not they are what is missed."""
    lines = f"try ENOMEM post_send A.qp0 {_HEAD} {_TAIL}; poll A.cq0"
    lab = after(f"program A.p lines={{{lines}}}", "run 50us", pair="use rc_pair max_send_wr=4")
    for question in ("A.p", "A.qp0.wr[9]", "ENOMEM"):
        report = why(lab, question)
        assert (report.slug, len(report.causes)) == ("sq-too-small", 1)
        texts = [each.text for each in report.causes[0].finding.evidence]
        assert texts[0] == "the list has 5 work requests, A.qp0 has 4 slots"


def test_rnr_infinite_is_the_cause_of_a_full_queue() -> None:
    sends = ["post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED"] * 5
    lab = after(*sends[:4], "run 2ms", sends[4], pair="use rc_pair max_send_wr=4")
    assert chain(lab, "ENOMEM")[0] == "rnr-infinite"


def test_a_full_receive_queue_is_emptied_by_polls_too() -> None:
    lab = after(RECV, SEND, "run", RECV, pair="use rc_pair max_recv_wr=1")
    report = why(lab, "ENOMEM")
    assert report.slug == "polls-missing"
    assert report.remedy is not None
    assert report.remedy.cure.lines[0] == "poll_cq B.cq0 num_entries=1"
    assert report.remedy.works


def test_polls_missing_also_after_a_later_poll() -> None:
    lab = after(*_FULL[1:], _ONE_MORE, "run", _ONE_MORE, "poll_cq A.cq0",
                pair="use rc_pair max_send_wr=4")  # fmt: skip
    assert chain(lab, "ENOMEM") == ["polls-missing"]


def test_sq_full_of_unsignaled_not_on_rxe() -> None:
    lab = after(*_FULL, *_FULL, pair="use rc_pair max_send_wr=4", profile="rxe")
    assert verdict(lab, "ENOMEM", "sq-full-of-unsignaled") is Verdict.NA
    assert verdict(lab, "ENOMEM", "polls-missing") is Verdict.NA


def test_a_batch_that_finds_no_slot_is_built_again_and_signaled() -> None:
    batch = (*_unsignaled(), "wr_complete A.qp1", "run")
    lab = after(*_EX, *batch * 17)
    report = why(lab, "ENOMEM")
    assert report.slug == "sq-full-of-unsignaled"
    assert report.remedy is not None
    assert any("wr_flags=SIGNALED" in line for line in report.remedy.cure.lines)


def _unsignaled() -> list[str]:
    return [line.replace("wr_flags=SIGNALED", "wr_flags=0") for line in _BUILT]


# --------------------------------------------------------------------------- regions
def test_a_batch_that_was_posted_is_no_open_region() -> None:
    lab = after(*_EX, *_BUILT, "wr_complete A.qp1", "run")
    for slug in ("region-not-completed", "region-aborted", "missing-setter"):
        assert verdict(lab, "A.qp1.wr[50]", slug) is Verdict.NA
    assert why(lab, "A.qp1.wr[50]").slug == "completed"


def test_region_aborted_and_region_not_completed_exclude_each_other() -> None:
    opened = after(*_EX, *_BUILT)
    assert verdict(opened, "A.qp1.wr[50]", "region-aborted") is Verdict.OK
    aborted = after(*_EX, *_BUILT, "wr_abort A.qp1")
    assert verdict(aborted, "A.qp1.wr[50]", "region-not-completed") is Verdict.OK
    assert chain(aborted, "A.qp1.wr[50]") == ["region-aborted"]


def test_region_not_completed_of_a_qp() -> None:
    assert chain(after(*_EX, *_BUILT), "A.qp1") == ["region-not-completed"]


def test_region_not_completed_not_unasked() -> None:
    assert chain(after(*_EX, *_BUILT)) == []


def test_region_not_completed_has_no_line_with_an_error_in_the_batch() -> None:
    lab = after(*_EX, *_BUILT, "wr_set_sge A.qp1 sg=A.mr0[0:6]")
    found = finding(lab, "A.qp1.wr[50]", "region-not-completed")
    assert found.verdict is Verdict.FAIL
    assert found.cure is not None
    assert found.cure.program


def test_a_batch_that_comes_too_early_is_refused_for_the_state() -> None:
    lab = after(*_EX[:1], *_BUILT, "wr_complete A.qp1")
    assert chain(lab, "A.qp1.wr[50]") == ["wrong-state-post"]


_UD = (
    "create_qp_ex A.qp1 pd=A.pd0 qp_type=UD send_cq=A.cq0 recv_cq=A.cq0 send_ops_flags=SEND",
    "modify_qp A.qp1 state=INIT pkey_index=0 port_num=1 qkey=0x11111111",
    "modify_qp A.qp1 state=RTR",
    "modify_qp A.qp1 state=RTS sq_psn=0",
    "post_recv B.qp0 wr_id=4 sg=B.mr0[0:104]",
    "wr_start A.qp1",
    "wr_send A.qp1 wr_id=80 wr_flags=SIGNALED",
    "wr_set_sge A.qp1 sg=A.mr0[0:5]",
)
_ADDRESS = "wr_set_ud_addr A.qp1 ah=A.ah0 remote_qpn=B.qp0 remote_qkey=0x11111111"


def test_soft_roce_posts_a_datagram_without_an_address_and_fails_later() -> None:
    lab = after(*_UD, "wr_complete A.qp1", "run", pair="use ud_pair", profile="rxe")
    report = why(lab, "A.qp1.wr[80]")
    assert report.causes[0].check.slug == "missing-setter"
    assert report.remedy is not None
    assert report.remedy.works


def test_missing_setter_not_with_wr_set_ud_addr() -> None:
    lab = after(*_UD, _ADDRESS, "wr_complete A.qp1", "run", pair="use ud_pair", profile="rxe")
    assert why(lab, "A.qp1.wr[80]").slug == "completed"


def test_missing_setter_not_for_a_bad_lkey() -> None:
    bad = "wr_set_sge A.qp1 sg={addr=0x1 length=8 lkey=0xdead}"
    lab = after(*_UD[:-1], bad, _ADDRESS, "wr_complete A.qp1", "run", pair="use ud_pair",
                profile="rxe")  # fmt: skip
    assert why(lab, "A.qp1.wr[80]").outcome.kind is Status.FAILED
    assert verdict(lab, "A.qp1.wr[80]", "missing-setter") is Verdict.OK


def test_missing_setter_by_wr_id() -> None:
    lab = after(*_UD, "wr_complete A.qp1", pair="use ud_pair")
    assert chain(lab, "A.qp1.wr[80]") == ["missing-setter"]


# --------------------------------------------------------------------------- srq-vs-rq
def test_srq_vs_rq_not_for_a_full_receive_queue() -> None:
    lab = after(RECV, RECV, pair="use rc_pair max_recv_wr=1")
    assert verdict(lab, "ENOMEM", "srq-vs-rq") is Verdict.OK


_TWO_SRQS = (
    "create_srq B.other pd=B.pd0 max_wr=4",
    "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED",
)


_ELSEWHERE = "post_srq_recv B.other wr_id=2 sg=B.mr0[64:128]"


def test_srq_vs_rq_not_without_a_missing_receive() -> None:
    lab = after("post_srq_recv B.srq0 wr_id=1 sg=B.mr0[0:64]", *_TWO_SRQS,
                _ELSEWHERE, "run", pair="use srq_pair")  # fmt: skip
    assert "srq-vs-rq" not in chain(lab, "B.other.recv_wr[2]")
    assert why(lab, "A.qp0.wr[7]").slug == "completed"


def test_srq_vs_rq_not_if_the_srq_was_filled_later() -> None:
    lab = after(_TWO_SRQS[0], _ELSEWHERE, "post_srq_recv B.srq0 wr_id=1 sg=B.mr0[0:64]",
                _TWO_SRQS[1], "run", _TWO_SRQS[1], "run 2ms", pair="use srq_pair")  # fmt: skip
    assert "srq-vs-rq" not in chain(lab, "A.qp0.wr[7]")


def test_srq_vs_rq_at_the_sender() -> None:
    lab = after(*_TWO_SRQS, _ELSEWHERE, "run 2ms",
                pair="use srq_pair")  # fmt: skip
    assert chain(lab, "A.qp0.wr[7]")[0] == "srq-vs-rq"

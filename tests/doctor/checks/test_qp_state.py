"""The own queue pair and port, items 20 to 29: who is not to be blamed, and who did it."""

import pytest

from rdmalab.doctor.check import Verdict
from rdmalab.lab import Lab
from rdmalab.spec.profiles import RXE, STRICT
from tests.doctor.asking import blamed, evidence, findings, verdict, why
from tests.labs import BUSY, RECV, SEND, lab_of, well

_WR = "A.qp0.wr[1]"
_BAD_KEY = "post_send A.qp0 wr_id=3 opcode=RDMA_WRITE sg=A.mr0[0:64] rkey=1 flags=SIGNALED"


def lab_on(profiles: dict[str, object], *lines: str, pair: str = "use rc_pair") -> Lab:
    lab = Lab(profiles)  # type: ignore[arg-type]
    for line in (pair, *lines):
        well(lab, line)
    return lab


# --------------------------------------------------------------------------- 20 too-early
def test_too_early_names_the_next_event_and_the_worst_case() -> None:
    lab = lab_of(RECV, SEND, pair="use rc_pair timeout=14 retry_cnt=3")
    assert verdict(lab, _WR, "too-early") is Verdict.WAIT
    answer = evidence(lab, _WR, "too-early")
    assert "next, at 0.100 us: A.qp0 sends a packet of wr1 SEND 64 B" in answer
    assert "RETRY_EXC_ERR after 4 * 67.11 ms = 268.4 ms" in answer


def test_too_early_counts_the_retries_left() -> None:
    lab = lab_of("fault drop A->B nth=1", RECV, SEND, "until A.qp0.retries_left == 2 within 1s",
                 pair="use rc_pair retry_cnt=3")  # fmt: skip
    assert "RETRY_EXC_ERR after 3 * 67.11 ms" in evidence(lab, _WR, "too-early")


def test_a_receiver_that_is_not_ready_is_counted_too() -> None:
    lab = lab_of(SEND, "run 3us", RECV, pair="use rc_pair rnr_retry=2 min_rnr_timer=12")
    answer = evidence(lab, _WR, "too-early")
    assert "RNR_RETRY_EXC_ERR after 2 * 640 us = 1.28 ms" in answer


def test_too_early_not_before_rnr_retry_exc() -> None:
    lab = lab_of(SEND, pair="use rc_pair rnr_retry=1")
    assert verdict(lab, _WR, "too-early") is Verdict.OK


def test_too_early_not_in_sqd() -> None:
    lab = lab_of("modify_qp A.qp0 state=SQD", SEND)
    assert verdict(lab, _WR, "too-early") is Verdict.OK


# --------------------------------------------------------------------------- 21 port-not-active
def test_a_port_that_came_back_in_time_is_waited_for() -> None:
    lab = lab_of(RECV, "link down", SEND, "run 10us")
    assert blamed(lab, _WR) == ["port-not-active"]
    assert verdict(lab, _WR, "port-not-active", asked=False) is Verdict.WARN
    well(lab, "link up")
    assert blamed(lab, _WR) == []
    well(lab, "run")
    assert why(lab, _WR).outcome.good


def test_a_cable_that_loses_packets_is_no_dead_port() -> None:
    lab = lab_of(RECV, "fault drop A->B", SEND, "run", pair="use rc_pair retry_cnt=1 timeout=8")
    assert verdict(lab, _WR, "port-not-active") is Verdict.OK


@pytest.mark.parametrize(
    ("line", "correction"),
    [("port A ARMED", "port A ACTIVE"), ("port B DOWN", "port B ACTIVE"), ("link down", "link up")],
)
def test_either_port_and_the_link_are_named_and_mended(line: str, correction: str) -> None:
    lab = lab_of(RECV, line, SEND, "run 10us")
    finding = findings(lab, _WR)["port-not-active"]
    assert finding.verdict is Verdict.FAIL
    assert finding.cure is not None
    assert finding.cure.lines == [correction]
    assert finding.evidence[0].text.endswith(" went ARMED" if "ARMED" in line else " went DOWN")
    remedy = why(lab, _WR).remedy
    assert remedy is not None
    assert remedy.works


# --------------------------------------------------------------------------- 22 qp-not-rts
def test_a_program_that_waits_for_another_state_is_no_matter_of_rts() -> None:
    lab = lab_of("program A.p lines={wait A.qp0.state == ERR}", "run")
    assert verdict(lab, "A.p", "qp-not-rts") is Verdict.OK


def test_qp_not_rts_has_the_remaining_transitions() -> None:
    lab = lab_of("reset A.qp0")
    finding = findings(lab, "A.qp0")["qp-not-rts"]
    assert finding.verdict is Verdict.FAIL
    assert finding.cure is not None
    assert finding.cure.lines == ["to_rts A.qp0 B.qp0"]
    assert verdict(lab, "A.qp0", "qp-not-rts", asked=False) is Verdict.OK
    assert verdict(lab, "B.qp0", "qp-not-rts") is Verdict.OK


def test_qp_not_rts_not_for_a_receiver_in_rtr() -> None:
    lab = lab_of("reset B.qp0", *TO_RTR, "post_recv B.qp0 sg=B.mr0[0:64]")
    asked, own = why(lab, "B.qp0"), why(lab, "B.qp0.recv_wr[0]")
    assert (asked.slug, asked.outcome.kind) == (own.slug, own.outcome.kind)
    assert asked.slug != "qp-not-rts"


TO_RTR = (
    "modify_qp B.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
    "modify_qp B.qp0 state=RTR path_mtu=512 dest_qp_num=A.qp0 rq_psn=0 max_dest_rd_atomic=1 "
    "min_rnr_timer=12 ah=A",
)


def test_qp_not_rts_without_a_peer_has_no_fix() -> None:
    lab = lab_of("create_qp A.qp1 qp_type=RC pd=A.pd0 send_cq=A.cq0 recv_cq=A.cq0")
    assert findings(lab, "A.qp1")["qp-not-rts"].cure is None


# --------------------------------------------------------------------------- 23 sqd
def test_sqd_not_for_a_started_send() -> None:
    lab = lab_of(RECV, SEND, "step", "modify_qp A.qp0 state=SQD")
    assert "sqd" not in blamed(lab, _WR)
    well(lab, "run")
    assert why(lab, _WR).outcome.good


def test_sqd_not_on_a_device_that_resumes() -> None:
    lab = lab_of(RECV, "modify_qp A.qp0 state=SQD", SEND, "modify_qp A.qp0 state=RTS")
    assert blamed(lab, _WR) == []


def test_soft_roce_sleeps_on_until_something_is_posted() -> None:
    lines = (RECV, "modify_qp A.qp0 state=SQD", SEND, "modify_qp A.qp0 state=RTS", "run")
    lab = lab_on({"A": RXE, "B": STRICT}, *lines)
    assert blamed(lab, _WR) == ["sqd"]
    remedy = why(lab, _WR).remedy
    assert remedy is not None
    assert (remedy.cure.lines, remedy.works) == (["post_send A.qp0 opcode=RDMA_WRITE"], True)
    well(lab, "post_send A.qp0 opcode=RDMA_WRITE")
    assert blamed(lab, _WR) == []


def test_soft_roce_still_in_sqd_needs_both() -> None:
    lab = lab_on({"A": RXE, "B": STRICT}, RECV, "modify_qp A.qp0 state=SQD", SEND, "run")
    remedy = why(lab, _WR).remedy
    assert remedy is not None
    assert remedy.works
    assert remedy.cure.lines[0] == "modify_qp A.qp0 state=RTS"
    assert len(remedy.cure.lines) == 2


# --------------------------------------------------------------------------- 24 sqe, 25 ERR
_BAD_LKEY = "post_send A.qp0 wr_id=3 opcode=SEND sg={addr=0x5 length=9 lkey=0xdead}"


def test_a_reliable_queue_pair_has_no_sqe() -> None:
    lab = lab_of(_BAD_LKEY, "run", SEND, "run")
    assert verdict(lab, _WR, "sqe") is Verdict.OK
    assert verdict(lab, _WR, "qp-err-flush") is Verdict.FAIL


def test_sqe_of_a_uc_qp_after_an_earlier_failure() -> None:
    lab = lab_of(_BAD_LKEY, "run", SEND, "run", pair="use uc_pair")
    assert verdict(lab, _WR, "qp-err-flush") is Verdict.OK
    report = why(lab, _WR)
    assert (report.slug, [c.name for c in report.causes]) == ("sqe", [_WR])
    assert report.remedy is not None
    assert report.remedy.works


def test_soft_roce_goes_to_err_instead() -> None:
    lab = lab_on({"A": RXE, "B": STRICT}, _BAD_LKEY, "run", SEND, "run", pair="use uc_pair")
    assert verdict(lab, _WR, "sqe") is Verdict.OK
    assert verdict(lab, _WR, "qp-err-flush") is Verdict.FAIL


@pytest.mark.parametrize(
    ("lines", "who"),
    [
        (("modify_qp A.qp0 state=ERR",), "a call of modify_qp moved it there"),
        (("program A.p lines={modify_qp A.qp0 state=ERR}", "run"), "A.p moved it there"),
        (("fault kill A.qp0", "run 1us"), "raised QP_FATAL"),
        (("post_send A.qp0 wr_id=9 opcode=RDMA_WRITE sg=A.mr0[0:4] rkey=1", "run"),
         "its wr9 ended with REM_ACCESS_ERR"),
        (("post_send B.qp0 wr_id=9 opcode=RDMA_WRITE sg=B.mr0[0:4] rkey=1", "run"),
         "it refused RDMA_WRITE_ONLY psn=0 4 B of its peer at event"),
    ],
)  # fmt: skip
def test_qp_err_flush_names_the_call_or_error(lines: tuple[str, ...], who: str) -> None:
    lab = lab_of(*lines, SEND, "run")
    assert who in evidence(lab, _WR, "qp-err-flush")
    remedy = why(lab, _WR).remedy
    assert remedy is not None
    assert remedy.works


def test_qp_err_flush_names_a_cq_overrun() -> None:
    write = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:4] remote=B.mr0 flags=SIGNALED"
    lab = lab_of(write, write, write, "run", SEND, "run", pair="use rc_pair cqe=1")
    assert "A.cq0 was full: CQ overrun" in evidence(lab, _WR, "qp-err-flush")


def test_a_dead_device_does_not_even_flush() -> None:
    lab = lab_of(RECV, SEND, "device_fatal A", "run")
    answer = evidence(lab, _WR, "qp-err-flush")
    assert "the device of A failed (DEVICE_FATAL)" in answer
    assert findings(lab, _WR)["qp-err-flush"].cure is not None


def test_qp_err_flush_not_after_completion() -> None:
    lab = lab_of(RECV, SEND, "run", "modify_qp A.qp0 state=ERR")
    assert blamed(lab, _WR) == []


# --------------------------------------------------------------------------- 26 one side anew
def test_where_both_were_reset_neither_is_alone() -> None:
    lab = lab_of(RECV, SEND, "run", "reset A.qp0", "reset B.qp0", "connect A.qp0 B.qp0",
                 "link down", SEND, "run", pair="use rc_pair timeout=8 retry_cnt=1")  # fmt: skip
    assert verdict(lab, _WR, "local-recovery-one-side") is Verdict.OK


def test_local_recovery_one_side_not_before_any_message() -> None:
    lab = lab_of("reset A.qp0", "to_rts A.qp0 B.qp0", RECV, SEND)
    assert blamed(lab, _WR) == []
    well(lab, "run")
    assert why(lab, _WR).outcome.good


def test_local_recovery_one_side_at_the_receiver() -> None:
    lab = lab_of(RECV, SEND, "run", "reset B.qp0", "to_rts B.qp0 A.qp0 psn=0", RECV,
                 SEND.replace("wr_id=1", "wr_id=5"), "run",
                 pair="use rc_pair timeout=8 retry_cnt=1")  # fmt: skip
    report = why(lab, "A.qp0.wr[5]")
    assert report.slug == "local-recovery-one-side"
    assert "B.qp0 was reset; A.qp0 was not" in report.text
    assert report.remedy is not None
    assert report.remedy.works


# --------------------------------------------------------------------------- 27 bring-up-attr
_INIT = "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0"
_RTR = ("modify_qp A.qp0 state=RTR path_mtu=512 dest_qp_num=B.qp0 rq_psn=0 "
        "max_dest_rd_atomic=1 min_rnr_timer=12 ah=B")  # fmt: skip


@pytest.mark.parametrize(
    ("before", "line", "text"),
    [
        ((), "modify_qp A.qp0 state=INIT port_num=1", "also needs qp_access_flags pkey_index"),
        ((), "modify_qp A.qp0 state=RTS", "from RESET there is a way to RESET, INIT"),
        ((_INIT,), f"{_RTR} timeout=14", "requires path_mtu"),
        ((_INIT,), _RTR.replace("rnr_timer=12", "rnr_timer=32"), "min_rnr_timer takes 0..31"),
        ((_INIT,), _RTR.replace("path_mtu=512 ", ""), "path_mtu"),
        ((_INIT, _RTR), "modify_qp A.qp0 state=RTS timeout=33 retry_cnt=9 rnr_retry=8 sq_psn=0 "
         "max_rd_atomic=1", "retry_cnt takes 0..7"),
        ((_INIT, _RTR), "modify_qp A.qp0 state=SQD", "from RTR there is a way to"),
        ((), "modify_qp A.qp0 state=INIT pkey_index=0 port_num=2 qp_access_flags=0",
         "port_num takes 1..1"),
    ],
)  # fmt: skip
def test_bring_up_attr_names_the_rule_and_has_a_working_fix(
    before: tuple[str, ...], line: str, text: str
) -> None:
    lab = lab_of("reset A.qp0", *before)
    assert lab.do(line)[-1].refusal is not None
    assert text in evidence(lab, "EINVAL", "bring-up-attr")
    remedy = why(lab, "EINVAL").remedy
    assert remedy is not None
    assert remedy.works, remedy


def test_bring_up_attr_not_for_is_global_0() -> None:
    lab = lab_of("reset A.qp0", _INIT)
    lab.do(_RTR.replace("ah=B", "ah_attr={port_num=1}"))
    assert verdict(lab, "EINVAL", "bring-up-attr") is Verdict.OK


def test_bring_up_attr_not_for_post_send() -> None:
    lab = lab_of("reset A.qp0")
    lab.do(SEND)
    assert verdict(lab, "EINVAL", "bring-up-attr") is Verdict.NA


# --------------------------------------------------------------------------- 28 cached-state
def test_cached_state_not_after_modify_qp() -> None:
    lab = lab_of("modify_qp A.qp0 state=ERR", SEND, "run")
    assert verdict(lab, _WR, "cached-state") is Verdict.OK


def test_cached_state_not_after_query_qp_or_for_an_earlier_post() -> None:
    lab = lab_of(_BAD_KEY, SEND, "run")
    assert verdict(lab, "A.qp0.wr[3]", "cached-state") is Verdict.OK
    later = lab_of(_BAD_KEY, "run", SEND, "run")
    assert verdict(later, _WR, "cached-state") is Verdict.WARN
    well(later, "query_qp A.qp0")
    assert verdict(later, _WR, "cached-state") is Verdict.OK


# --------------------------------------------------------------------------- 29 reset-swallowed
def test_reset_swallowed_not_after_completion_or_flush() -> None:
    done = lab_of(RECV, SEND, "run", "reset A.qp0")
    assert verdict(done, _WR, "reset-swallowed") is Verdict.OK
    flushed = lab_of("modify_qp A.qp0 state=ERR", SEND, "run", "reset A.qp0")
    assert verdict(flushed, _WR, "reset-swallowed") is Verdict.OK


def test_reset_swallowed_counts_sends_and_reconnects() -> None:
    lab = lab_of(RECV, SEND, SEND.replace("=1 ", "=5 "), "reset A.qp0")
    assert "2 sends discarded without a completion" in evidence(lab, _WR, "reset-swallowed")
    remedy = why(lab, _WR).remedy
    assert remedy is not None
    assert remedy.works


# --------------------------------------------------------------------------- all of them
@pytest.mark.parametrize("pair", ["use rc_pair", "use rc_pair timeout=10 min_rnr_timer=1"])
def test_no_cause_at_any_event_of_successful_work(pair: str) -> None:
    lab = lab_of(*BUSY, pair=pair)
    asked = ("A.qp0.wr[1]", "A.qp0.wr[2]", "B.qp0.wr[3]")
    for _ in range(200):
        assert why(lab).causes == []
        assert [blamed(lab, what) for what in asked] == [[], [], []]
        before = lab.session.world.event
        lab.do("step")
        if lab.session.world.event == before:
            break
    assert [why(lab, what).outcome.good for what in asked] == [True, True, True]

"""What keeps a requester waiting, items 30 to 43: neighbours hold, or all is well."""

import pytest

from rdmalab.doctor.check import Verdict
from rdmalab.doctor.evidence import log
from rdmalab.doctor.evidence.outcome import Status
from rdmalab.lab import Lab
from rdmalab.session import history
from rdmalab.spec.profiles import RXE, STRICT, Profile
from tests.doctor.asking import blamed, chain, evidence, finding, findings, played, verdict, why
from tests.labs import RECV, SEND, lab_of, well

_WR = "A.qp0.wr[1]"
_READ = "post_send A.qp0 wr_id=2 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0[8] flags=SIGNALED"
_FENCED = SEND.replace("SIGNALED", "SIGNALED|FENCE")
_SLOW = "fault delay B->A 10ms nth=1"


def lab_on(profiles: dict[str, Profile], *lines: str, pair: str = "use rc_pair") -> Lab:
    lab = Lab(profiles)
    for line in (pair, *lines):
        well(lab, line)
    return lab


# --------------------------------------------------------------------------- 30 fence-wait
def test_fence_wait_not_without_earlier_reads() -> None:
    assert verdict(lab_of(RECV, _FENCED), _WR, "fence-wait") is Verdict.OK


def test_fence_wait_of_later_requests() -> None:
    before = SEND.replace("=1 ", "=5 ")
    lab = lab_of(RECV, RECV, _SLOW, _READ, _FENCED, before, "run 100us")
    assert "before it, and not answered yet: wr2 RDMA_READ 8 B" in evidence(lab, _WR, "fence-wait")
    assert "wr1 SEND 64 B, before it in line, has FENCE" in evidence(
        lab, "A.qp0.wr[5]", "fence-wait"
    )
    assert (blamed(lab, _WR), why(lab, _WR).slug) == ([], "fence-wait")


def test_the_read_that_never_comes_is_the_root_and_not_the_fence() -> None:
    lab = lab_of("fault drop A->B nth=1", _READ, _FENCED, "run", pair="use rc_pair timeout=0")
    slugs = [cause.check.slug for cause in why(lab, _WR).causes]
    assert slugs[0] == "timeout-zero"
    assert slugs[-1] == "fence-wait"


# --------------------------------------------------------------------------- 31, 32 rd-atomic
def test_rd_atomic_depth_of_1_waits() -> None:
    lab = lab_of(_SLOW, _READ, _READ.replace("=2 ", "=5 "), "run 100us")
    assert blamed(lab, "A.qp0.wr[5]") == []
    assert verdict(lab, "A.qp0.wr[5]", "rd-atomic-depth") is Verdict.WAIT
    assert verdict(lab, "A.qp0.wr[5]", "rd-atomic-zero") is Verdict.OK
    assert verdict(lab, "A.qp0.wr[2]", "rd-atomic-depth") is Verdict.OK


def test_depth_zero_holds_up_no_send_before_the_first_read() -> None:
    lab = lab_of(RECV, SEND, _READ, "run", pair="use rc_pair max_rd_atomic=0")
    assert blamed(lab, _WR) == []
    assert blamed(lab, "A.qp0.wr[2]") == ["rd-atomic-zero"]
    assert verdict(lab, "A.qp0.wr[2]", "rd-atomic-zero", asked=False) is Verdict.WARN


def test_the_fix_of_rd_atomic_zero_gives_the_peer_the_right_to_be_read() -> None:
    depths = "max_rd_atomic=0 max_dest_rd_atomic=0"
    bring_up = f"connect A.qp0 B.qp0 {depths} qp_access_flags=REMOTE_WRITE"
    read = "post_send A.qp0 wr_id=5 opcode=RDMA_READ sg=A.mr0[0:64] remote=B.mr0[0] flags=SIGNALED"
    lab = lab_of("reset A.qp0", "reset B.qp0", bring_up, read, "run 1ms")
    remedy = why(lab, "A.qp0.wr[5]").remedy
    assert remedy is not None
    assert remedy.helps


@pytest.mark.parametrize(
    ("profile", "pair"),
    [
        (STRICT, "use rc_pair max_rd_atomic=0"),
        (STRICT, "use rc_pair max_rd_atomic=0 max_dest_rd_atomic=0"),
        (RXE, "use rc_pair max_rd_atomic=0"),
    ],
)
def test_depth_zero_is_mended_in_sqd_or_by_a_new_connection(profile: Profile, pair: str) -> None:
    lab = lab_on({"A": profile, "B": STRICT}, _READ, "run", pair=pair)
    remedy = why(lab, "A.qp0.wr[2]").remedy
    assert remedy is not None
    assert remedy.works, remedy
    to = "RESET" if "dest" in pair else "SQD"  # the peer has to be told as well
    assert remedy.cure.lines[0] == f"modify_qp A.qp0 state={to}"


# --------------------------------------------------------------------------- 33, 34 timeouts
def test_timeout_zero_warns_while_nothing_is_lost() -> None:
    lab = lab_of(RECV, SEND, "run 500ns", pair="use rc_pair timeout=0")
    assert blamed(lab, _WR) == []
    assert verdict(lab, _WR, "timeout-zero") is Verdict.WARN
    assert verdict(lab, _WR, "timeout-zero", asked=False) is Verdict.OK


def test_loss_with_a_timeout_is_no_failure() -> None:
    lab = lab_of("fault drop A->B nth=1", RECV, SEND, "run 1ms")
    assert (blamed(lab, _WR), why(lab, _WR).slug) == ([], "loss")


def test_a_later_message_may_tell_of_a_loss_without_any_timer() -> None:
    lab = lab_of("fault drop A->B nth=1", RECV, RECV, SEND, SEND.replace("=1 ", "=5 "), "run 300ns",
                 pair="use rc_pair timeout=0")  # fmt: skip
    assert blamed(lab, _WR) == []
    well(lab, "run")
    assert why(lab, _WR).outcome.good


def test_timeout_zero_of_a_lost_ack() -> None:
    lab = lab_of("fault drop B->A nth=1", RECV, SEND, "run", pair="use rc_pair timeout=0")
    assert why(lab, _WR).slug == "timeout-zero"


def test_timeout_huge_not_while_nothing_is_lost() -> None:
    lab = lab_of(RECV, SEND, "run 500ns", pair="use rc_pair timeout=24")
    assert blamed(lab, _WR) == []


def test_timeout_huge_is_pending() -> None:
    lab = lab_of("fault drop A->B nth=1", RECV, SEND, "run 1s", pair="use rc_pair timeout=24")
    report = why(lab, _WR)
    assert (report.slug, report.outcome.kind) == ("timeout-huge", Status.PENDING)
    assert report.outcome.sentence == "it has no completion, and will have none for a long time"


def test_timeout_huge_is_a_warning_with_loss() -> None:
    lab = lab_of("fault drop A->B", RECV, SEND, "run 1s", pair="use rc_pair timeout=24")
    assert verdict(lab, _WR, "timeout-huge") is Verdict.WARN
    assert blamed(lab, _WR) == ["loss"]


# --------------------------------------------------------------------------- 35 retry7-rxe
_GONE = ("modify_qp B.qp0 state=RESET", SEND, "run 20s")


def test_seven_is_seven_elsewhere_and_six_is_six_on_soft_roce() -> None:
    seven = lab_of(*_GONE, pair="use rc_pair timeout=14 retry_cnt=7")
    assert verdict(seven, _WR, "retry7-rxe") is Verdict.NA
    six = lab_on({"A": RXE, "B": RXE}, *_GONE, pair="use rc_pair timeout=14 retry_cnt=6")
    assert "retry7-rxe" not in blamed(six, _WR)
    endless = lab_on({"A": RXE, "B": RXE}, *_GONE, pair="use rc_pair timeout=14 retry_cnt=7")
    assert verdict(endless, _WR, "retry7-rxe") is Verdict.FAIL
    sent = endless.look("wire.count(from=A)")
    assert sent > 100  # of so many only the oldest and the newest are shown
    assert f"it was sent {sent} times" in finding(endless, _WR, "retry7-rxe").evidence[1].text


_END = "pkey_index=0 port_num=1 qp_access_flags=REMOTE_WRITE"
_RTR = "state=RTR path_mtu=512 max_dest_rd_atomic=1 min_rnr_timer=12"
_RTS = "state=RTS timeout=14 retry_cnt=7 rnr_retry=7 sq_psn=0 max_rd_atomic=1"
ROOTS = {
    "peer-destroyed": ("destroy_qp B.qp0",),
    "peer-state": ("modify_qp B.qp0 state=RESET",),
    "wrong-qpn": (
        "modify_qp A.qp0 state=RESET", f"modify_qp A.qp0 state=INIT {_END}",
        f"modify_qp A.qp0 {_RTR} dest_qp_num=99 rq_psn=0 ah=B", f"modify_qp A.qp0 {_RTS}",
    ),
    "psn-mismatch-behind": (
        "modify_qp B.qp0 state=RESET", f"modify_qp B.qp0 state=INIT {_END}",
        f"modify_qp B.qp0 {_RTR} dest_qp_num=A.qp0 rq_psn=99 ah=A", f"modify_qp B.qp0 {_RTS}",
    ),
    "port-not-active": ("link down",),
}  # fmt: skip


@pytest.mark.parametrize("root", ROOTS)
def test_a_retry_without_limit_hides_no_root(root: str) -> None:
    write = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0 flags=SIGNALED"
    lab = lab_on({"A": RXE, "B": RXE}, *ROOTS[root], write, "run 1s")
    report = why(lab)
    assert (report.slug, report.outcome.kind) == (root, Status.NEVER)
    assert "retry7-rxe" in [cause.check.slug for cause in report.stations]
    assert report.remedy is not None
    assert report.remedy.works


# --------------------------------------------------------------------------- 36, 37 RNR
def test_rnr_infinite_not_with_rnr_retry_or_a_posted_receive() -> None:
    counting = lab_of(SEND, "run 700us", pair="use rc_pair rnr_retry=3")
    assert verdict(counting, _WR, "rnr-infinite") is Verdict.OK
    met = lab_of(SEND, "run 700us", RECV)
    assert (blamed(met, _WR), why(met, _WR).slug) == ([], "too-early")


def test_rnr_infinite_warns_unasked_and_fails_asked() -> None:
    lab = lab_of(SEND, "run 2ms")
    assert verdict(lab, _WR, "rnr-infinite", asked=False) is Verdict.WARN
    assert blamed(lab, _WR) == ["rnr-infinite"]
    assert "the next try is at" in evidence(lab, _WR, "rnr-infinite")


@pytest.mark.parametrize(("code", "slug"), [(0, "rnr-slow"), (31, "rnr-slow"), (12, "too-early")])
def test_a_wait_that_a_person_notices_is_slow(code: int, slug: str) -> None:
    lab = lab_of(SEND, "run 3us", RECV, pair=f"use rc_pair min_rnr_timer={code}")
    assert (blamed(lab, _WR), why(lab, _WR).slug) == ([], slug)


# --------------------------------------------------------------------------- 38, 39 PSNs
def psns(ours: int, theirs: int) -> Lab:
    """A sends from `ours` on, B expects `theirs`; the other way all is well."""
    up = "timeout=8 retry_cnt=1 rnr_retry=7 max_rd_atomic=1"
    return lab_of(
        "reset A.qp0", "reset B.qp0", f"to_rts A.qp0 B.qp0 psn={ours} timeout=8 retry_cnt=1",
        "modify_qp B.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
        f"modify_qp B.qp0 state=RTR path_mtu=512 dest_qp_num=A.qp0 rq_psn={theirs} "
        "max_dest_rd_atomic=1 min_rnr_timer=12 ah=A",
        f"modify_qp B.qp0 state=RTS sq_psn={ours} {up}", RECV, SEND, "run",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("ours", "theirs", "slug"),
    [
        (9, 5, "psn-mismatch-ahead"),
        (2, 0xFFFFFE, "psn-mismatch-ahead"),
        (5, 9, "psn-mismatch-behind"),
        (0xFFFFFE, 2, "psn-mismatch-behind"),
    ],
)
def test_psn_mismatch_ahead_or_lower_modulo_2_24(ours: int, theirs: int, slug: str) -> None:
    report = why(psns(ours, theirs), _WR)
    assert [cause.check.slug for cause in report.causes] == [slug]
    assert report.remedy is not None
    assert report.remedy.works


def test_psn_mismatch_not_for_equal_psns() -> None:
    assert blamed(psns(0xABCDEF, 0xABCDEF), _WR) == []


def test_where_packets_are_lost_the_numbers_are_not_to_blame() -> None:
    lab = lab_of("fault drop A->B", RECV, SEND, "run", pair="use rc_pair retry_cnt=1 timeout=8")
    assert blamed(lab, _WR) == ["loss"]


# --------------------------------------------------------------------------- 40, 41 loss, ACKs
def test_loss_not_after_a_successful_retransmission() -> None:
    lab = lab_of("fault drop A->B nth=1", RECV, SEND, "run")
    assert blamed(lab, _WR) == []
    assert why(lab, _WR).outcome.good


def test_loss_not_while_the_link_is_down() -> None:
    lab = lab_of(RECV, "link down", SEND, "run 10us")
    assert verdict(lab, _WR, "loss") is Verdict.OK


def test_loss_of_all_acks() -> None:
    lab = lab_of("fault drop B->A", RECV, SEND, "run", pair="use rc_pair retry_cnt=1 timeout=8")
    assert why(lab, _WR).slug == "loss"


def test_harmed_packets_are_lost_too() -> None:
    lab = lab_of("fault corrupt A->B byte=60", RECV, SEND, "run",
                 pair="use rc_pair retry_cnt=1 timeout=8")  # fmt: skip
    report = why(lab, _WR)
    assert report.slug == "loss"
    assert report.remedy is not None
    assert (report.remedy.works, report.remedy.cure.lines[0]) == (True, "fault clear 1")


def test_ack_delayed_not_for_an_ack_in_flight() -> None:
    lab = lab_of(RECV, SEND, "until B.cq0.count == 1")
    assert verdict(lab, _WR, "ack-delayed") is Verdict.OK
    assert why(lab, _WR).slug == "too-early"


def test_ack_delayed_not_for_a_lost_read_response() -> None:
    lab = lab_of("fault drop B->A nth=1", _READ, "run 1ms")
    assert verdict(lab, "A.qp0.wr[2]", "ack-delayed") is Verdict.NA
    assert why(lab, "A.qp0.wr[2]").slug == "loss"


def test_ack_delayed_of_the_second_of_two_sends() -> None:
    lab = lab_of(_SLOW, RECV, RECV, SEND, SEND.replace("=1 ", "=5 "), "run 1ms")
    assert why(lab, _WR).slug in ("ack-delayed", "completed")


# --------------------------------------------------------------------------- 42 peer-mtu
def mtus(*lines: str, profile: Profile = STRICT, pair: str = "use rc_pair") -> Lab:
    return lab_on(
        {"A": profile, "B": profile}, "reset A.qp0", "reset B.qp0",
        "to_rts A.qp0 B.qp0 path_mtu=1024", "to_rts B.qp0 A.qp0 path_mtu=256", *lines, pair=pair,
    )  # fmt: skip


_LONG = "post_send A.qp0 wr_id=2 opcode=RDMA_{} sg=A.mr0[0:900] remote=B.mr0[0] flags=SIGNALED"


def test_peer_mtu_not_for_a_message_of_one_packet() -> None:
    assert blamed(mtus(RECV, SEND, "run"), _WR) == []


@pytest.mark.parametrize("opcode", ["WRITE", "READ"])
def test_requests_and_answers_of_another_size_are_refused(opcode: str) -> None:
    lab = mtus(_LONG.format(opcode), "run")
    report = why(lab, "A.qp0.wr[2]")
    assert report.slug == "peer-mtu"
    answer = findings(lab, "A.qp0.wr[2]")["peer-mtu"]
    events = [each.event for each in answer.evidence[:2] if each.event is not None]
    assert answer.origin == max(events)
    assert [each.text[-5:] for each in answer.evidence[:2]] == ["B.qp0", "=1024"]
    assert report.remedy is not None
    assert report.remedy.works


def test_soft_roce_does_not_look_at_the_size() -> None:
    lab = mtus(_LONG.format("WRITE"), "run", profile=RXE)
    assert blamed(lab, "A.qp0.wr[2]") == []


def test_another_refusal_between_unequal_ends_has_another_cause() -> None:
    lab = mtus("post_recv B.qp0 sg=B.mr0[0:8]", SEND, "run")  # 64 bytes, one packet
    assert "REM_INV_REQ_ERR" in why(lab, _WR).outcome.sentence
    assert "peer-mtu" not in blamed(lab, _WR)


# --------------------------------------------------------------------------- 43 hop-limit
_DATAGRAM = (
    "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:4] ah=A.ah0 remote_qpn=B.qp0 "
    "remote_qkey=0x11111111 flags=SIGNALED"
)


def test_the_handles_that_use_makes_go_far_enough() -> None:
    lab = lab_of(_DATAGRAM, "run", pair="use ud_pair")
    assert verdict(lab, _WR, "hop-limit") is Verdict.OK


def test_a_connection_has_an_address_too() -> None:
    lab = lab_of(
        "reset A.qp0", "modify_qp A.qp0 state=INIT pkey_index=0 port_num=1 qp_access_flags=0",
        "modify_qp A.qp0 state=RTR path_mtu=512 dest_qp_num=B.qp0 rq_psn=0 max_dest_rd_atomic=1 "
        "min_rnr_timer=12 ah_attr={is_global=1 dgid=10.0.0.2 sgid_index=1 port_num=1}",
        "modify_qp A.qp0 state=RTS timeout=14 retry_cnt=7 rnr_retry=7 sq_psn=0 max_rd_atomic=1",
        RECV, SEND,
    )  # fmt: skip
    assert verdict(lab, _WR, "hop-limit") is Verdict.WARN
    assert verdict(lab, _WR, "hop-limit", asked=False) is Verdict.NA
    well(lab, "run")
    assert "SUCCESS" in why(lab, _WR).outcome.sentence
    assert "the first router would drop them" in evidence(lab, _WR, "hop-limit")


# --------------------------------------------------------------------------- long runs
def test_rnr_infinite_after_the_first_records_were_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("EVENTS_APART", 40), ("RECENT", 4), ("OLD", 2), ("HOT", 2),
                        ("TELLING", 0)):  # fmt: skip
        monkeypatch.setattr(history, name, value)
    monkeypatch.setattr(log, "ENOUGH", 0)
    lab = lab_of(SEND, "run 200ms")
    assert lab.session.world.trace.first > 0
    assert blamed(lab, _WR) == ["rnr-infinite"]
    assert "RNR NAKs so far" in evidence(lab, _WR, "rnr-infinite")


def test_rnr_infinite_counts_no_more_than_64_naks() -> None:
    assert "64 RNR NAKs and more" in evidence(lab_of(SEND, "run 100ms"), _WR, "rnr-infinite")


def test_rnr_infinite_of_a_later_request_in_the_queue() -> None:
    lab = lab_of(SEND, SEND.replace("=1 ", "=5 "), "run 5ms")
    assert chain(lab, "A.qp0.wr[5]") == ["rnr-infinite"]


def test_no_rr_after_the_rnr_naks_were_dropped_from_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Threads that poll in vain fill the log between the last RNR NAK and the end."""
    monkeypatch.setattr(history, "TELLING", 0)
    send = "post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[8:16] flags=SIGNALED"
    lab = played("use rc_pair rnr_retry=1", f"program A.tx lines={{{send}}}",
                 "program B.rx lines={poll B.cq0}", "program A.rx lines={poll A.cq0}", "run 12ms",
                 profile="rxe")  # fmt: skip
    report = why(lab, "A.qp0.wr[2]")
    assert report.slug == "no-rr"
    assert "each try of it got an RNR NAK: B.qp0 had no receive" in report.text


_WRITE = _READ.replace("RDMA_READ", "RDMA_WRITE")


@pytest.mark.parametrize(("fault", "timeout", "late"), [
    ("delay B->A 500us", 4, "ACK psn=0 from B was delayed by 500 us"),
    ("delay A->B 200us", 1, "RDMA_WRITE_ONLY psn=0 from A was delayed by 200 us"),
])  # fmt: skip
def test_a_delay_longer_than_the_ack_timer_is_a_cause(fault: str, timeout: int, late: str) -> None:
    lab = played(f"use rc_pair timeout={timeout} retry_cnt=1", f"fault {fault}", _WRITE, "run")
    report = why(lab)
    assert report.slug == "timeout-short"
    facts = "\n".join(each.text for each in report.causes[0].finding.evidence)
    assert late in facts.splitlines()[0]
    assert "fault 1 is set: delay " in facts
    assert report.remedy is not None
    assert report.remedy.works
    lab.do("apply")
    lab.do("run")
    assert lab.look("A.cq0.total(status=SUCCESS)") == 1


def test_a_delay_shorter_than_the_ack_timer_is_no_cause() -> None:
    lab = played("use rc_pair timeout=8 retry_cnt=1", "fault delay A->B 5us",
                 "fault drop B->A", _WRITE, "run")  # fmt: skip
    assert blamed(lab, "A.qp0.wr[2]") == ["loss"]


def test_retry_exc_of_packets_that_a_fault_held_back() -> None:
    lab = played("use rc_pair retry_cnt=0", "fault reorder A->B every=3",
                 "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:4096] remote=B.mr0[0] "
                 "flags=SIGNALED", "run 1s")  # fmt: skip
    report = why(lab)
    texts = [each.text for each in report.causes[0].finding.evidence]
    assert report.slug == "retry-exc"
    assert "was held back, and came after later packets" in texts[0]
    assert texts[1].startswith("fault 1 is set: reorder A->B")
    assert texts[2].startswith("NAK_SEQUENCE psn=")
    assert report.remedy is not None
    assert report.remedy.works

"""What stands behind an error status: items 67 to 77, and what must not be taken for it."""

import pytest

from rdmalab.doctor.check import Verdict
from rdmalab.spec.profiles import MLX5, RXE, STRICT, Profile
from tests.doctor.asking import (
    cured,
    evidence_of,
    failing,
    findings,
    lab_on,
    pair,
    played,
    verdict,
    why,
)
from tests.labs import well

SENT = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
READ = "post_send A.qp0 wr_id=1 opcode=RDMA_READ flags=SIGNALED"
WRITE = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:64] flags=SIGNALED"
RECV = "post_recv B.qp0 wr_id=2 sg=B.mr0[0:64]"
UD = "ah=A.ah0 remote_qpn=B.qp0 remote_qkey=0x11111111 flags=SIGNALED"
OF_STATUS = (
    "loc-len", "loc-prot", "loc-qp-op", "rem-inv-req", "rem-access", "rem-op", "retry-exc",
    "rnr-retry-exc", "mw-bind", "bad-resp", "flush-only",
)  # fmt: skip


@pytest.mark.parametrize("profile", [STRICT, RXE, MLX5])
def test_no_status_check_fails_for_success(profile: Profile) -> None:
    lab = pair(RECV, SENT, f"{READ} sg=A.mr0[64:128] remote=B.mr0[0]", profile=profile)
    for asked in ("A.qp0.wr[1]", "B.qp0.recv_wr[2]"):
        assert not set(failing(lab, asked)) & set(OF_STATUS)


# --------------------------------------------------------------------------- 67 loc-len
@pytest.mark.parametrize("profile", [STRICT, RXE, MLX5])
def test_a_receive_that_is_too_short_is_the_cause_on_both_sides(profile: Profile) -> None:
    lab = pair("post_recv B.qp0 wr_id=2 sg=B.mr0[0:63]", SENT, profile=profile)
    assert failing(lab, "B.qp0.recv_wr[2]") == ["loc-len"]
    assert why(lab, "A.qp0.wr[1]").slug == "loc-len"
    assert evidence_of(lab, "B.qp0.recv_wr[2]", "loc-len").splitlines()[:2] == [
        "the receive wr_id=2 of B.qp0 has room for 63 bytes; A.qp0 sends 64",
        "A.qp0.wr[1] was posted",
    ]  # fmt: skip
    assert "post_recv B.qp0 wr_id=2 sg=B.mr0[0:64]" in cured(lab, "A.qp0.wr[1]")


@pytest.mark.parametrize("profile", [STRICT, RXE])
def test_a_receive_that_fits_exactly_and_may_not_be_written_is_not_too_short(
    profile: Profile,
) -> None:
    lab = pair("reg_mr B.mr1 pd=B.pd0 length=64 access=REMOTE_READ",
               "post_recv B.qp0 wr_id=2 sg=B.mr1[0:64]", SENT, profile=profile)  # fmt: skip
    assert failing(lab, "B.qp0.recv_wr[2]") == ["loc-prot"]


def test_loc_len_not_for_a_short_ud_receive() -> None:
    lab = pair("post_recv B.qp0 wr_id=2 sg=B.mr0[0:64]", use="use ud_pair")
    well(lab, f"post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] {UD}")
    well(lab, "run")
    assert verdict(lab, "B.qp0.recv_wr[2]", "loc-len") is Verdict.NA


def test_a_receive_is_not_made_longer_over_the_bytes_of_another() -> None:
    waiting = "post_srq_recv B.srq0 wr={wr_id=1 sg=B.mr0[0:8]} wr={wr_id=2 sg=B.mr0[8:128]}"
    lab = played("use srq_pair", waiting, SENT, "run")
    assert "post_srq_recv B.srq0 wr_id=1 sg=B.mr0[128:192]" in cured(lab, "A.qp0.wr[1]")


def test_loc_len_of_a_shared_receive() -> None:
    lab = pair("post_srq_recv B.srq0 wr_id=7 sg=B.mr0[0:8]", SENT, use="use srq_pair")
    assert failing(lab, "B.srq0.wr[7]") == ["loc-len"]
    assert "of B.srq0" in evidence_of(lab, "B.srq0.wr[7]", "loc-len")


# --------------------------------------------------------------------------- 68 loc-prot
@pytest.mark.parametrize(
    ("made", "sg", "text"),
    [
        ((), "{addr=0x10000000 length=8 lkey=0xbad}", "is the key of no MR on A"),
        ((), "A.mr0[4090:4100]", "opens bytes 0..4096 of A.mr0; bytes 4090..4100 were named"),
        (("alloc_pd A.pd1", "reg_mr A.mr1 pd=A.pd1 length=64 access=LOCAL_WRITE"),
         "A.mr1[0:8]", "opens A.mr1 in A.pd1, A.qp0 is in A.pd0"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("profile", [STRICT, RXE, MLX5])
def test_the_test_that_failed_is_named(
    profile: Profile, made: tuple[str, ...], sg: str, text: str
) -> None:
    write = f"post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg={sg} remote=B.mr0[0] flags=SIGNALED"
    lab = pair(*made, write, profile=profile)
    assert failing(lab, "A.qp0.wr[1]") == ["loc-prot"]
    assert text in evidence_of(lab, "A.qp0.wr[1]", "loc-prot")
    assert cured(lab, "A.qp0.wr[1]")


def test_loc_prot_of_a_read_without_local_write_and_not_of_a_send() -> None:
    region = "reg_mr A.mr1 pd=A.pd0 length=64 access=REMOTE_READ"
    lab = pair(region, f"{READ} sg=A.mr1[0:8] remote=B.mr0[0]")
    assert "LOCAL_WRITE is missing" in evidence_of(lab, "A.qp0.wr[1]", "loc-prot")
    well_sent = pair(region, RECV, SENT.replace("A.mr0", "A.mr1"))
    assert failing(well_sent, "A.qp0.wr[1]") == []


def test_loc_prot_not_for_flushed_requests() -> None:
    lab = pair(f"{WRITE} rkey=1", "post_send A.qp0 wr_id=2 opcode=SEND sg={lkey=3 length=4}")
    assert verdict(lab, "A.qp0.wr[2]", "loc-prot") is Verdict.OK


def test_a_receive_of_xrc_goes_to_its_shared_queue_once_more() -> None:
    made = ("alloc_pd B.pd9", "reg_mr B.mr9 pd=B.pd9 length=128 access=LOCAL_WRITE",
            "post_srq_recv B.srq0 wr_id=1 sg=B.mr9[0:128]")  # fmt: skip
    lab = pair(*made, f"{SENT} remote_srqn=B.srq0", use="use xrc_pair")
    for asked in ("A.qp0.wr[1]", "B.srq0.recv_wr[1]"):
        assert "post_srq_recv B.srq0 wr_id=1 sg=B.mr9[0:128]" in cured(lab, asked)


# --------------------------------------------------------------------------- 69 loc-qp-op
def test_destroy_ah_after_completion_is_no_cause() -> None:
    lab = pair("post_recv B.qp0 wr_id=2 sg=B.mr0[0:104]", use="use ud_pair")
    well(lab, f"post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] {UD}")
    well(lab, "run")
    well(lab, "destroy_ah A.ah0")
    assert failing(lab, "A.qp0.wr[1]") == []


def test_loc_prot_of_an_unknown_lkey_on_rxe() -> None:
    bad = SENT.replace("A.mr0[0:64]", "{addr=0x10000000 length=8 lkey=0xbad}")
    lab = pair(RECV, bad, profile=RXE)
    assert why(lab, "A.qp0.wr[1]").slug == "loc-prot"
    assert verdict(lab, "A.qp0.wr[1]", "loc-qp-op") is Verdict.NA


def test_an_opcode_that_the_queue_pair_does_not_have() -> None:
    lab = lab_on(RXE, "use uc_pair", READ.replace("RDMA_READ", "LOCAL_INV"), "run")
    assert failing(lab, "A.qp0.wr[1]") == ["loc-qp-op"]
    assert "LOCAL_INV is no operation" in evidence_of(lab, "A.qp0.wr[1]", "loc-qp-op")


# --------------------------------------------------------------------------- 70, 71 the peer
def test_rights_of_the_queue_pair_and_rights_of_the_region_are_two_things() -> None:
    on_qp = pair(f"{WRITE} remote=B.mr0[0]", use="use rc_pair qp_access_flags=REMOTE_READ")
    assert failing(on_qp, "A.qp0.wr[1]") == ["rem-inv-req"]
    assert "without REMOTE_WRITE" in evidence_of(on_qp, "A.qp0.wr[1]", "rem-inv-req")
    in_region = pair("reg_mr B.mr1 pd=B.pd0 length=64 access=REMOTE_READ",
                     f"{WRITE} remote=B.mr1[0]")  # fmt: skip
    assert failing(in_region, "A.qp0.wr[1]") == ["rem-access"]
    assert "REMOTE_WRITE is missing" in evidence_of(in_region, "A.qp0.wr[1]", "rem-access")


def test_a_key_that_was_never_given_out_is_neither_old_nor_taken_back() -> None:
    lab = pair(f"{WRITE} remote=B.mr0[0] rkey=0x12345")
    assert failing(lab, "A.qp0.wr[1]") == ["rem-access"]
    assert "is the key of no MR or bound window on B" in evidence_of(
        lab, "A.qp0.wr[1]", "rem-access"
    )
    assert any("remote=B.mr0[0]" in line for line in cured(lab, "A.qp0.wr[1]"))


def test_fix_of_rem_access_shortens_a_write_beyond_the_mr() -> None:
    lab = pair(f"{WRITE} remote=B.mr0[4064]")
    again = cured(lab, "A.qp0.wr[1]")[-1]
    assert "sg=A.mr0[0:32]" in again
    assert "remote=B.mr0[4064]" in again


def test_a_missing_right_names_the_reg_mr_that_did_not_give_it() -> None:
    lab = pair("reg_mr B.mr1 pd=B.pd0 length=64 access=REMOTE_READ", f"{WRITE} remote=B.mr1")
    assert "B.mr1 was registered with access=REMOTE_READ" in evidence_of(
        lab, "A.qp0.wr[1]", "rem-access"
    )


# --------------------------------------------------------------------------- 72, 73, 74
def test_retry_exc_lists_each_transmission_and_its_fate() -> None:
    lab = pair("fault drop A->B count=9", f"{WRITE} remote=B.mr0[0]",
               use="use rc_pair timeout=1 retry_cnt=3")  # fmt: skip
    facts = findings(lab, "A.qp0.wr[1]")["retry-exc"]
    assert facts.verdict is Verdict.FAIL
    assert len(facts.evidence) == 4
    assert all("lost" in each.text and each.event is not None for each in facts.evidence[:3])
    first = facts.evidence[0].text
    assert first.startswith("A sent RDMA_WRITE_ONLY psn=0 at 0.100 us; it was lost: ")


def test_rnr_retry_exc_counts_rnr_naks() -> None:
    use = "use rc_pair rnr_retry=2 min_rnr_timer=1"
    lab = pair(SENT, use=use)
    assert "3 RNR NAKs came" in evidence_of(lab, "A.qp0.wr[1]", "rnr-retry-exc")
    late = lab_on(STRICT, use, SENT, "run 5us", RECV, "run")
    assert verdict(late, "A.qp0.wr[1]", "rnr-retry-exc") is Verdict.OK


def test_rem_op_names_the_error_completion_of_the_peer() -> None:
    lab = pair("post_recv B.qp0 wr_id=2 sg={addr=1 length=99 lkey=1}", SENT)
    assert why(lab, "A.qp0.wr[1]").slug == "loc-prot"
    facts = evidence_of(lab, "A.qp0.wr[1]", "rem-op")
    assert "its receive wr_id=2 ended with LOC_PROT_ERR" in facts


# --------------------------------------------------------------------------- 75 mw-bind
BIND = "post_send B.qp0 wr_id=1 opcode=BIND_MW mw=B.mw0 flags=SIGNALED"
WINDOW = (
    "reg_mr B.mr1 pd=B.pd0 length=64 access=LOCAL_WRITE|MW_BIND",
    "alloc_mw B.mw0 pd=B.pd0 type=TYPE_2",
)


@pytest.mark.parametrize(
    "bind",
    [
        "bind=B.mr1[0:64] bind_access=LOCAL_WRITE|REMOTE_READ",
        "bind=B.mr1[60:70] bind_access=REMOTE_READ",
        "bind=B.mr0[0:64] bind_access=REMOTE_READ",
    ],
)
def test_each_bind_that_fails_has_a_cure_that_binds(bind: str) -> None:
    lab = pair(*WINDOW, f"{BIND} {bind}")
    assert failing(lab, "B.qp0.wr[1]") == ["mw-bind"]
    assert cured(lab, "B.qp0.wr[1]")


def test_mw_bind_not_for_success_or_flush() -> None:
    bound = pair(*WINDOW, f"{BIND} bind=B.mr1[0:64] bind_access=REMOTE_READ")
    assert verdict(bound, "B.qp0.wr[1]", "mw-bind") is Verdict.OK
    flushed = lab_on(STRICT, "use rc_pair", *WINDOW, "modify_qp B.qp0 state=ERR",
                     f"{BIND} bind=B.mr0[0:64] bind_access=REMOTE_READ", "run")  # fmt: skip
    assert verdict(flushed, "B.qp0.wr[1]", "mw-bind") is Verdict.OK


def test_a_key_that_cannot_be_made_void() -> None:
    lab = pair(*WINDOW, "post_send B.qp0 wr_id=1 opcode=LOCAL_INV invalidate_rkey=B.mw0")
    assert failing(lab, "B.qp0.wr[1]") == ["mw-bind"]
    remedy = why(lab, "B.qp0.wr[1]").remedy
    assert remedy is not None
    assert "invalidate the rkey" in remedy.cure.program


# --------------------------------------------------------------------------- 76, 77
def test_bad_resp_not_for_a_duplicate_response() -> None:
    lab = pair("fault duplicate B->A", f"{READ} sg=A.mr0[0:64] remote=B.mr0[0]")
    assert verdict(lab, "A.qp0.wr[1]", "bad-resp") is Verdict.OK


def test_flush_only_names_the_first_failed_request() -> None:
    lab = pair(f"{WRITE} rkey=1", SENT.replace("wr_id=1", "wr_id=2"))
    assert verdict(lab, "A.qp0.wr[2]", "flush-only") is Verdict.FAIL
    assert verdict(lab, "A.qp0.wr[1]", "flush-only") is Verdict.OK
    assert "A.qp0.wr[1] failed first, with REM_ACCESS_ERR" in evidence_of(
        lab, "A.qp0.wr[2]", "flush-only"
    )
    by_hand = pair("post_recv B.qp0 wr_id=2 sg=B.mr0[0:8]", "modify_qp B.qp0 state=ERR")
    assert verdict(by_hand, "B.qp0.recv_wr[2]", "flush-only") is Verdict.OK


def test_fix_of_flush_only_posts_the_request_again() -> None:
    lab = pair(f"{WRITE} rkey=1", f"{WRITE} remote=B.mr0[0]".replace("wr_id=1", "wr_id=2"))
    lines = cured(lab, "A.qp0.wr[2]")
    assert lines[-1] == f"{WRITE} remote=B.mr0[0]".replace("wr_id=1", "wr_id=2")


def test_rem_access_of_a_receive_taken_by_write_with_imm() -> None:
    write = (
        "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE_WITH_IMM sg=A.mr0[0:8] remote=B.mr0 rkey=0xbad"
    )
    lab = pair(RECV, write, profile=MLX5)
    assert failing(lab, "B.qp0.recv_wr[2]") == ["rem-access"]
    assert "ended with LOC_ACCESS_ERR" in evidence_of(lab, "B.qp0.recv_wr[2]", "rem-access")
    assert why(lab, "A.qp0.wr[1]").slug == "rem-access"


def test_rem_inv_req_of_a_refused_invalidation() -> None:
    lab = played("use rc_pair", "post_recv B.qp0 wr_id=31 sg=B.mr0[0:64]",
                 "post_send A.qp0 wr_id=32 opcode=SEND_WITH_INV sg=A.mr0[0:8]"
                 " invalidate_rkey=B.mr0 flags=SIGNALED", "run", "poll_cq B.cq0")  # fmt: skip
    for question in ("", "B.qp0.recv_wr[31]"):
        report = why(lab, question)
        assert (report.slug, report.is_trouble) == ("rem-inv-req", True)
        assert "B.qp0 refused to invalidate the key of B.mr0" in report.text


# --------------------------------------------------------------------------- refused registrations
_REG = "reg_mr {0}.mr1 pd={0}.pd0 length=4096 access=REMOTE_WRITE"
_KEYLESS = {
    "rkey 0": (_REG.format("B"), f"{WRITE} remote_addr=0x20000000 rkey=0"),
    "unknown rkey": (_REG.format("B"), f"{WRITE} remote_addr=0x20101000 rkey=0x77"),
    "lkey 0": (_REG.format("A"), f"{WRITE} remote=B.mr0[0]".replace(
        "A.mr0[0:64]", "{addr=0x10000000 length=8 lkey=0}")),
    "lkey of a receive": (
        _REG.format("B"), "post_recv B.qp0 wr_id=2 sg={addr=0x30000000 length=64 lkey=0x77}", SENT),
}  # fmt: skip


@pytest.mark.parametrize("name", _KEYLESS)
@pytest.mark.parametrize("tidied", [(), ("destroy_qp A.qp0", "destroy_qp B.qp0")])
def test_a_key_that_no_registration_gave_leads_to_the_refused_one(
    name: str, tidied: tuple[str, ...]
) -> None:
    lab = played("use rc_pair", *_KEYLESS[name], "run 1ms", "poll_cq A.cq0", *tidied)
    for asked in ("", "A.qp0.wr[1]"):
        report = why(lab, asked)
        assert (report.slug, report.causes[0].name) == ("mr-access", "the call of event 14")
        remedy = report.remedy
        assert remedy is not None
        assert remedy.cure.lines[0].endswith("access=LOCAL_WRITE|REMOTE_WRITE")
        assert "this works: reg_mr" in remedy.cure.program if tidied else remedy.works


@pytest.mark.parametrize("lines", [
    (_REG.format("B"), f"{WRITE} remote_addr=0x20000000 rkey=0x77"),  # in B.mr0
    (_REG.format("B"), _REG.format("B").replace("=REM", "=LOCAL_WRITE|REM"),
     f"{WRITE} remote_addr=0x20000000 rkey=0"),
    (f"{WRITE} remote_addr=0x20000000 rkey=0", _REG.format("B")),
    (_REG.format("A"), f"{WRITE} remote_addr=0x20000000 rkey=0"),
])  # fmt: skip
def test_another_refused_registration_is_no_cause(lines: tuple[str, ...]) -> None:
    lab = played("use rc_pair", *lines, "run 1ms", "poll_cq A.cq0")
    assert why(lab, "A.qp0.wr[1]").slug == "rem-access"

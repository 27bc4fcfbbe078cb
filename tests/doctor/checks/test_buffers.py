"""Success, and yet wrong: items 78 to 92, and what must not be taken for it."""

import pytest

from rdmalab.doctor.check import Verdict
from rdmalab.doctor.checks import objects
from rdmalab.spec.profiles import MLX5, RXE, STRICT
from rdmalab.spec.rules import ERRNO_NAMES
from tests.doctor.asking import (
    cured,
    evidence_of,
    failing,
    findings,
    lab_on,
    pair,
    played,
    verdict,
    warning,
    why,
)
from tests.labs import refusal, well

SENT = "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED"
RECV = "post_recv B.qp0 wr_id=2 sg=B.mr0[0:64]"
READ = "post_send A.qp0 wr_id=1 opcode=RDMA_READ flags=SIGNALED"
WRITE = "post_send A.qp0 wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:64] remote=B.mr0[0]"
SWAP = "post_send A.qp0 wr_id=1 opcode=ATOMIC_CMP_AND_SWP sg=A.mr0[0:8] remote=B.mr0[0] swap=2"
ADD = "post_send A.qp0 wr_id=1 opcode=ATOMIC_FETCH_AND_ADD sg=A.mr0[0:8] remote=B.mr0[0]"
OF_DATA = (
    "buffer-reused-early", "read-before-complete", "overlap-sges", "sge-zero", "sge-unfilled",
    "imm-endian", "error-field-read", "byte-len", "inline-opcode", "cas-mismatch", "atomic-mixed",
    "ordering", "dereg-early", "segfault-class", "rkey-rotated",
)  # fmt: skip


def test_no_data_check_fails_for_correct_messages() -> None:
    lab = pair(RECV, 'write A.mr0[0:5] "hello"', SENT, f"{READ} sg=A.mr0[64:128] remote=B.mr0[0]")
    for asked in ("A.qp0.wr[1]", "B.qp0.recv_wr[2]", "B.mr0[0:64]", "A.mr0[64:128]", "A.cq0"):
        answer = findings(lab, asked)
        odd = [s for s in OF_DATA if answer[s].verdict not in (Verdict.NA, Verdict.OK)]
        assert not odd, asked


# --------------------------------------------------------------------------- 78, 79
@pytest.mark.parametrize("moment", ["", "run 5us"])
def test_a_buffer_may_be_written_before_the_post_and_after_the_completion(moment: str) -> None:
    lab = lab_on(STRICT, "use rc_pair", "fill A.mr0[0:64] 1", WRITE, moment or "run",
                 "run", "fill A.mr0[0:64] 2")  # fmt: skip
    assert verdict(lab, "B.mr0[0:8]", "buffer-reused-early") is Verdict.OK
    assert verdict(lab, "A.qp0.wr[1]", "buffer-reused-early") is Verdict.OK


def test_buffer_reused_early_only_of_the_changed_bytes() -> None:
    lab = lab_on(STRICT, "use rc_pair", "fill A.mr0[0:64] 1", WRITE, "fill A.mr0[8:16] 2", "run")
    assert failing(lab, "B.mr0[8:16]") == ["buffer-reused-early"]
    assert verdict(lab, "B.mr0[0:8]", "buffer-reused-early") is Verdict.OK
    assert cured(lab, "B.mr0[8:16]")[0] == "fill A.mr0[8:16] 0x01"


def test_buffer_reused_early_warns_of_a_write_before_the_completion() -> None:
    lab = lab_on(STRICT, "use rc_pair", WRITE, "run 500ns", "fill A.mr0[0:64] 2", "run")
    assert warning(lab, "A.qp0.wr[1]") == ["buffer-reused-early"]
    assert verdict(lab, "B.mr0[0:8]", "buffer-reused-early") is Verdict.OK


def test_inline_data_are_copied_when_posted() -> None:
    lab = lab_on(STRICT, "use rc_pair", f"{WRITE} flags=INLINE", "fill A.mr0[0:64] 2", "run")
    assert verdict(lab, "B.mr0[0:8]", "buffer-reused-early") is Verdict.OK


def test_read_before_complete_while_a_read_is_under_way() -> None:
    lab = lab_on(STRICT, "use rc_pair path_mtu=256", "link rate=1Gbps",
                 f"{READ} sg=A.mr0[0:1024] remote=B.mr0[0]", "run 4us")  # fmt: skip
    assert warning(lab, "A.mr0[0:8]") == ["read-before-complete"]
    assert warning(lab, "A.mr0[2000:2008]") == []
    well(lab, "run")
    assert warning(lab, "A.mr0[0:8]") == []


def test_a_receive_in_use_is_the_same() -> None:
    lab = lab_on(STRICT, "use rc_pair path_mtu=256", "link rate=1Gbps",
                 "post_recv B.qp0 wr_id=2 sg=B.mr0[0:1024]",
                 SENT.replace("0:64", "0:1024"), "run 4us")  # fmt: skip
    assert warning(lab, "B.mr0[1000:1024]") == ["read-before-complete"]
    assert "256 of 1024 bytes have come" in evidence_of(lab, "B.mr0[0:8]", "read-before-complete")


# --------------------------------------------------------------------------- 80, 81, 82
def test_overlap_sges_not_for_adjacent_or_sent_elements() -> None:
    lab = pair("post_recv B.qp0 wr_id=2 sg=B.mr0[0:32],B.mr0[32:64]",
               SENT.replace("A.mr0[0:64]", "A.mr0[0:32],A.mr0[0:32]"))  # fmt: skip
    assert warning(lab, "B.qp0.recv_wr[2]") == []
    assert warning(lab, "B.mr0[0:64]") == []
    assert warning(lab, "A.qp0.wr[1]") == []


def test_overlap_sges_of_a_read_warns_only_when_asked() -> None:
    lab = pair(f"{READ} sg=A.mr0[0:32],A.mr0[16:48] remote=B.mr0[0]")
    assert warning(lab, "A.qp0.wr[1]") == ["overlap-sges"]
    assert warning(lab, "A.mr0[0:48]") == ["overlap-sges"]
    assert why(lab).slug == "well"


def test_an_element_of_length_0_means_another_thing_to_drivers() -> None:
    empty = f"{SENT} sg={{addr=1 length=0 lkey=1}}".replace("sg=A.mr0[0:64] ", "")
    strict = pair("post_recv B.qp0 wr_id=2", empty)
    assert "2,147,483,648 bytes" in evidence_of(strict, "A.qp0.wr[1]", "sge-zero")
    driver = pair("post_recv B.qp0 wr_id=2", empty, profile=MLX5)
    assert "stands for 0 bytes" in evidence_of(driver, "A.qp0.wr[1]", "sge-zero")
    assert warning(driver, "A.qp0.wr[1]") == ["sge-zero", "sge-unfilled"]


@pytest.mark.parametrize("opcode", ["SEND", "RDMA_WRITE remote=B.mr0[0]"])
def test_sge_unfilled_of_a_message_without_sges(opcode: str) -> None:
    lab = pair(RECV, f"post_send A.qp0 wr_id=1 opcode={opcode} flags=SIGNALED")
    assert failing(lab, "B.mr0[0:8]") == ["sge-unfilled"]
    assert warning(lab, "A.qp0.wr[1]") == ["sge-unfilled"]
    assert "A.qp0.wr[1] was posted without an element" in why(lab).text
    assert not why(lab).is_trouble


def test_sge_unfilled_not_for_a_notice_to_a_receive_without_room() -> None:
    lab = pair("post_recv B.qp0 wr_id=2", "post_send A.qp0 wr_id=1 opcode=SEND flags=SIGNALED")
    assert warning(lab, "A.qp0.wr[1]") == warning(lab, "B.qp0.recv_wr[2]") == []


def test_sge_unfilled_is_the_root_of_a_wait_for_the_bytes() -> None:
    lab = played("use rc_pair", RECV, "program B.rx lines={poll B.cq0; wait B.mr0[0] == 1}",
                 "post_send A.qp0 wr_id=1 opcode=SEND flags=SIGNALED", "run 100us")  # fmt: skip
    for asked in ("", "B.rx"):
        assert why(lab, asked).slug == "sge-unfilled"


def test_sge_unfilled_of_num_sge_0() -> None:
    lab = pair(f"{WRITE} num_sge=0")
    assert failing(lab, "B.mr0[0:8]") == ["sge-unfilled"]
    assert "with 1 element, and num_sge=0" in evidence_of(lab, "B.mr0[0:8]", "sge-unfilled")


# --------------------------------------------------------------------------- 83, 84, 85
@pytest.mark.parametrize(
    ("imm", "warned"), [("htonl(7)", False), ("0", False), ("7", True), ("0x12345678", False)]
)
def test_immediate_data_that_look_swapped(imm: str, *, warned: bool) -> None:
    lab = pair(RECV, SENT.replace("opcode=SEND", f"opcode=SEND_WITH_IMM imm_data={imm}"))
    for asked in ("B.cq0", "A.qp0.wr[1]", "B.qp0.recv_wr[2]"):
        assert (warning(lab, asked) == ["imm-endian"]) is warned, (asked, imm)


def test_error_field_read_not_for_defined_fields() -> None:
    made = ("create_cq_ex B.cq1 cqe=16",
            "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq1 recv_cq=B.cq1",
            "create_qp A.qp1 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0",
            "connect A.qp1 B.qp1", "post_recv B.qp1 wr_id=2 sg=B.mr0[0:64]")  # fmt: skip
    good = pair(*made, SENT.replace("qp0", "qp1"))
    for line in ("start_poll B.cq1", "wc_read B.cq1 opcode", "end_poll B.cq1"):
        well(good, line)
    assert "error-field-read" not in warning(good, "B.cq1")
    bad = pair(*made, "modify_qp B.qp1 state=ERR", "start_poll B.cq1", "wc_read B.cq1 qp_num")
    assert "error-field-read" not in warning(bad, "B.cq1")
    well(bad, "wc_read B.cq1 byte_len")
    assert "error-field-read" in warning(bad, "B.cq1")
    assert "error-field-read" in warning(bad, "B.qp1.recv_wr[2]")


def test_byte_len_of_bytes_after_the_message() -> None:
    lab = pair(RECV, SENT.replace("0:64", "0:8"))
    assert warning(lab, "B.mr0[0:8]") == []
    assert warning(lab, "B.mr0[0:64]") == ["byte-len"]
    well(lab, "fill B.mr0[32:64] 7")
    well(lab, RECV)
    well(lab, SENT.replace("0:64", "0:8"))
    well(lab, "run")
    assert warning(lab, "B.mr0[0:64]") == ["byte-len", "same-buffer-twice"]


# --------------------------------------------------------------------------- 86 inline-opcode
def test_inline_opcode_of_a_read_on_rxe() -> None:
    read = f"{READ}|INLINE sg=A.mr0[0:8] remote=B.mr0[0]"
    lab = pair(read, profile=RXE)
    assert failing(lab, "A.qp0.wr[1]") == ["inline-opcode"]
    assert "flags=SIGNALED" in cured(lab, "A.qp0.wr[1]")[-1]
    assert refusal(pair(), read).rule == "inline-opcode"


def test_fix_of_a_refused_list_posts_bad_wr_and_the_rest() -> None:
    good = "{wr_id=1 opcode=RDMA_WRITE sg=A.mr0[0:8] remote=B.mr0[0] flags=INLINE}"
    bad = "{wr_id=2 opcode=RDMA_READ sg=A.mr0[0:8] remote=B.mr0[0] flags=INLINE}"
    lab = lab_on(STRICT, "use rc_pair", f"post_send A.qp0 wr={good} wr={bad} wr={good}")
    (line,) = cured(lab, "EINVAL")
    assert [part.split()[0] for part in line.split("{")[1:]] == ["wr_id=2", "wr_id=1"]


# --------------------------------------------------------------------------- 87, 88, 89
def test_cas_mismatch_and_a_host_write_after_it() -> None:
    assert failing(pair(SWAP), "B.mr0[0:8]") == []
    lab = pair(f"{SWAP} compare_add=5")
    assert failing(lab, "B.mr0[0:8]") == ["cas-mismatch"]
    assert warning(lab, "A.qp0.wr[1]") == ["cas-mismatch"]
    assert "0 came back, not 5" in evidence_of(lab, "A.qp0.wr[1]", "cas-mismatch")
    well(lab, "fill B.mr0[0:8] 0")
    assert failing(lab, "B.mr0[0:8]") == []


def test_a_word_may_be_set_before_the_first_atomic() -> None:
    add = f"{ADD} compare_add=1"
    assert warning(pair('write B.mr0[0:1] "\\x05"', add), "B.mr0[0:8]") == []
    mixed = pair(add, "run", 'write B.mr0[0:1] "\\x05"')
    assert warning(mixed, "B.mr0[0:8]") == ["atomic-mixed"]
    assert warning(mixed, "B.mr0[8:16]") == ["wrong-place"]


@pytest.mark.parametrize(
    ("between", "flags", "warned"),
    [("", "SIGNALED", True), ("", "SIGNALED|FENCE", False), ("run", "SIGNALED", False)],
)
def test_ordering_of_a_send_from_the_buffer_of_a_read(
    between: str, flags: str, *, warned: bool
) -> None:
    send = SENT.replace("wr_id=1", "wr_id=3").replace("SIGNALED", flags)
    lab = lab_on(STRICT, "use rc_pair", RECV, f"{READ} sg=A.mr0[0:64] remote=B.mr0[64]",
                 *filter(None, [between]), send, "run")  # fmt: skip
    for asked in ("A.qp0.wr[3]", "B.mr0[0:64]"):
        assert ("ordering" in warning(lab, asked)) is warned


@pytest.mark.parametrize(
    ("between", "flags", "warned"), [("", "0", True), ("", "FENCE", False), ("run", "0", False)]
)
def test_a_send_that_has_not_left_yet(between: str, flags: str, *, warned: bool) -> None:
    send = f"post_send A.qp0 wr_id=3 opcode=SEND sg=A.mr0[0:64] flags={flags}"
    lab = lab_on(STRICT, "use rc_pair", RECV, f"{READ} sg=A.mr0[0:64] remote=B.mr0[64]",
                 *filter(None, [between]), send)  # fmt: skip
    assert ("ordering" in warning(lab, "A.qp0.wr[3]")) is warned


def test_ordering_not_for_other_bytes() -> None:
    lab = pair(RECV, f"{READ} sg=A.mr0[64:128] remote=B.mr0[64]", SENT.replace("_id=1", "_id=3"))
    assert warning(lab, "A.qp0.wr[3]") == []


# --------------------------------------------------------------------------- 90, 91, 92
def test_a_region_that_was_given_back_when_all_was_done() -> None:
    lab = pair("reg_mr A.mr1 pd=A.pd0 length=64 access=LOCAL_WRITE",
               WRITE.replace("A.mr0", "A.mr1"), "run", "dereg_mr A.mr1")  # fmt: skip
    assert verdict(lab, "A.qp0.wr[1]", "dereg-early") is Verdict.NA


def test_loc_prot_comes_after_dereg_early() -> None:
    lab = lab_on(STRICT, "use rc_pair", "reg_mr A.mr1 pd=A.pd0 length=64 access=LOCAL_WRITE",
                 WRITE.replace("A.mr0", "A.mr1"), "dereg_mr A.mr1", "run")  # fmt: skip
    report = why(lab, "A.qp0.wr[1]")
    assert [c.check.slug for c in report.chain] == ["dereg-early", "loc-prot"]


def test_new_keys_of_a_region_are_the_end_of_the_old_ones() -> None:
    lab = pair("reg_mr B.mr1 pd=B.pd0 length=64 access=LOCAL_WRITE|REMOTE_WRITE")
    (rkey,) = [mr.rkey for mr in list(lab.session.world.nodes["B"].mrs.items.values())[1:]]
    addr = list(lab.session.world.nodes["B"].mrs.items.values())[1].addr
    well(lab, f"rereg_mr B.mr1 flags=CHANGE_TRANSLATION addr={addr:#x} length=64")
    well(lab, WRITE.replace("remote=B.mr0[0]", f"remote=B.mr1[0] rkey={rkey:#x}"))
    well(lab, "run")
    assert why(lab, "A.qp0.wr[1]").slug == "dereg-early"
    assert "again, which has other keys now" in evidence_of(lab, "A.qp0.wr[1]", "dereg-early")


def test_without_rereg_the_same_bytes_are_registered_once_more() -> None:
    lab = lab_on(RXE, "use rc_pair", "alloc_pd A.pd1",
                 "reg_mr A.mr1 pd=A.pd1 length=64 access=LOCAL_WRITE",
                 f"{WRITE.replace('A.mr0', 'A.mr1')} flags=SIGNALED", "run")  # fmt: skip
    line = cured(lab, "A.qp0.wr[1]")[0]
    assert line.startswith("reg_mr A.mr2 pd=A.pd0 addr=")


@pytest.mark.parametrize(
    ("line", "crashes"),
    [
        (f"{SENT} next=0x77", True),
        (f"{SENT} num_sge=3", True),
        (f"{SENT} bad_wr=NULL num_sge=99", True),
        (f"{SENT} num_sge=99", False),
        (f"{SENT} ah=NULL opcode=77".replace("opcode=SEND ", ""), False),
    ],
)
def test_calls_in_which_c_follows_a_pointer_to_nowhere(line: str, *, crashes: bool) -> None:
    lab = lab_on(STRICT, "use rc_pair")
    asked = ERRNO_NAMES[refusal(lab, line).errno]
    assert ("segfault-class" in failing(lab, asked)) is crashes


def test_advice_for_every_crash_rule() -> None:
    assert set(objects.ADVICE) == objects.CRASHES


def test_fix_of_bad_wr_null_on_a_full_queue_polls_first() -> None:
    lab = lab_on(STRICT, "use rc_pair max_send_wr=1", f"{WRITE} flags=SIGNALED", "run",
                 f"{WRITE} bad_wr=NULL")  # fmt: skip
    lines = cured(lab, "EFAULT")
    assert lines[0] == "poll_cq A.cq0 num_entries=16"
    assert "bad_wr" not in lines[1]


def test_rem_access_of_an_rkey_after_local_inv() -> None:
    window = ("reg_mr B.mr1 pd=B.pd0 length=64 access=LOCAL_WRITE|REMOTE_WRITE|MW_BIND",
              "alloc_mw B.mw0 pd=B.pd0 type=TYPE_2",
              "post_send B.qp0 opcode=BIND_MW mw=B.mw0 bind=B.mr1[0:64] bind_access=REMOTE_WRITE",
              "run", "post_send B.qp0 opcode=LOCAL_INV invalidate_rkey=B.mw0", "run",
              WRITE.replace("remote=B.mr0[0]", "remote=B.mw0[0]"))  # fmt: skip
    lab = pair(*window)
    assert failing(lab, "A.qp0.wr[1]") == ["rem-access"]
    assert "is invalid: LOCAL_INV" in evidence_of(lab, "A.qp0.wr[1]", "rem-access")


_EX_PAIR = (
    "create_qp_ex A.qx0 pd=A.pd0 qp_type=RC send_cq=A.cq0 recv_cq=A.cq0 "
    "send_ops_flags=SEND|SEND_WITH_IMM",
    "create_qp B.qp1 pd=B.pd0 qp_type=RC send_cq=B.cq0 recv_cq=B.cq0", "connect A.qx0 B.qp1",
    "post_recv B.qp1 wr_id=8 sg=B.mr0[0:64]", "wr_start A.qx0",
)  # fmt: skip


def test_sge_unfilled_of_a_builder_without_setter_at_both_ends() -> None:
    lab = pair(*_EX_PAIR, "wr_send A.qx0 wr_id=9 wr_flags=SIGNALED", "wr_complete A.qx0", "run")
    for question in ("A.qx0.wr[9]", "B.qp1.recv_wr[8]"):
        assert warning(lab, question) == ["sge-unfilled"]
    answer = evidence_of(lab, "B.mr0[0:8]", "sge-unfilled")
    assert "wr_send made wr9, and no wr_set_sge followed" in answer


def test_a_number_alone_needs_no_data() -> None:
    built = "wr_send_imm A.qx0 wr_id=9 wr_flags=SIGNALED imm_data=7"
    lab = pair(*_EX_PAIR, built, "wr_complete A.qx0", "run")
    assert "sge-unfilled" not in warning(lab, "B.qp1.recv_wr[8]")

"""The checklist: every suspicion in its order; and the FAQs of the documents, as lists of them."""

from rdmalab.doctor.checks import (
    atomic_mixed,
    bad_resp,
    buffer_reused_early,
    byte_len,
    cas_mismatch,
    dereg_early,
    error_field_read,
    flush_only,
    imm_endian,
    inline_opcode,
    loc_len,
    loc_prot,
    loc_qp_op,
    mw_bind,
    ordering,
    overlap_sges,
    qp_err_flush,
    read_before_complete,
    rem_access,
    rem_inv_req,
    rem_op,
    retry_exc,
    rkey_rotated,
    rnr_infinite,
    rnr_retry_exc,
    segfault_class,
    sge_unfilled,
    sge_zero,
    too_early,
    unsignaled,
    wrong_cq,
)
from rdmalab.doctor.finding import Check, Section

CHECKS: tuple[Check, ...] = (
    # A. Was it posted, can it complete visibly at all?
    unsignaled.CHECK,
    # B. Looking at the right completion queue, in the right way?
    wrong_cq.CHECK,
    # C. The own queue pair and port
    too_early.CHECK,
    qp_err_flush.CHECK,
    # D. Does the requester get on?
    rnr_infinite.CHECK,
    # E. Is the peer there?
    # F. The receive side
    # G. A completion came, but with an error
    loc_len.CHECK,
    loc_prot.CHECK,
    loc_qp_op.CHECK,
    rem_inv_req.CHECK,
    rem_access.CHECK,
    rem_op.CHECK,
    retry_exc.CHECK,
    rnr_retry_exc.CHECK,
    mw_bind.CHECK,
    bad_resp.CHECK,
    flush_only.CHECK,
    # H. Completed with success, yet wrong
    buffer_reused_early.CHECK,
    read_before_complete.CHECK,
    overlap_sges.CHECK,
    sge_zero.CHECK,
    sge_unfilled.CHECK,
    imm_endian.CHECK,
    error_field_read.CHECK,
    byte_len.CHECK,
    inline_opcode.CHECK,
    cas_mismatch.CHECK,
    atomic_mixed.CHECK,
    ordering.CHECK,
    dereg_early.CHECK,
    segfault_class.CHECK,
    rkey_rotated.CHECK,
)

BY_SLUG: dict[str, Check] = {check.slug: check for check in CHECKS}


def _of(*sections: Section) -> tuple[Check, ...]:
    return tuple(check for check in CHECKS if check.section in sections)


_S = Section

LISTS: dict[str, tuple[Check, ...]] = {
    "no-completion": _of(_S.POSTED, _S.QUEUE, _S.LOCAL, _S.PROGRESS, _S.PEER, _S.ERROR),
    "no-receive": _of(_S.QUEUE, _S.LOCAL, _S.RECEIVE, _S.PEER, _S.ERROR),
    "bring-up": _of(_S.LOCAL, _S.PEER),
    "slow": _of(_S.PROGRESS, _S.RECEIVE),
}
"""What `checklist` can work through: the FAQs of the documents."""

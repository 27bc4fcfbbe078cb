"""The checklist: every suspicion in its order; and the FAQs of the documents, as lists of them."""

from rdmalab.doctor.checks import (
    ack_delayed,
    already_polled,
    armed_after_cqe,
    bring_up_attr,
    cached_state,
    cq_not_armed,
    cq_overrun,
    fence_wait,
    hop_limit,
    local_recovery_one_side,
    loss,
    missing_setter,
    no_channel,
    not_posted,
    peer_mtu,
    polls_missing,
    port_not_active,
    post_failed_ignored,
    psn_mismatch_ahead,
    psn_mismatch_behind,
    qp_err_flush,
    qp_not_rts,
    rd_atomic_depth,
    rd_atomic_zero,
    region_aborted,
    region_not_completed,
    rem_access,
    reset_swallowed,
    retry7_rxe,
    rnr_infinite,
    rnr_slow,
    solicited_only,
    sq_full_of_unsignaled,
    sqd,
    sqe,
    srq_vs_rq,
    timeout_huge,
    timeout_zero,
    too_early,
    unacked_events,
    unsignaled,
    wr_id_ambiguous,
    wrong_cq,
    wrong_state_post,
)
from rdmalab.doctor.finding import Check, Section

CHECKS: tuple[Check, ...] = (
    # A. Was it posted, can it complete visibly at all?
    not_posted.CHECK,
    post_failed_ignored.CHECK,
    wrong_state_post.CHECK,
    unsignaled.CHECK,
    sq_full_of_unsignaled.CHECK,
    polls_missing.CHECK,
    region_not_completed.CHECK,
    region_aborted.CHECK,
    missing_setter.CHECK,
    srq_vs_rq.CHECK,
    # B. Looking at the right completion queue, in the right way?
    wrong_cq.CHECK,
    already_polled.CHECK,
    wr_id_ambiguous.CHECK,
    cq_not_armed.CHECK,
    armed_after_cqe.CHECK,
    solicited_only.CHECK,
    no_channel.CHECK,
    cq_overrun.CHECK,
    unacked_events.CHECK,
    # C. The own queue pair and port
    too_early.CHECK,
    port_not_active.CHECK,
    qp_not_rts.CHECK,
    sqd.CHECK,
    sqe.CHECK,
    qp_err_flush.CHECK,
    local_recovery_one_side.CHECK,
    bring_up_attr.CHECK,
    cached_state.CHECK,
    reset_swallowed.CHECK,
    # D. Does the requester get on?
    fence_wait.CHECK,
    rd_atomic_zero.CHECK,
    rd_atomic_depth.CHECK,
    timeout_zero.CHECK,
    timeout_huge.CHECK,
    retry7_rxe.CHECK,
    rnr_infinite.CHECK,
    rnr_slow.CHECK,
    psn_mismatch_ahead.CHECK,
    psn_mismatch_behind.CHECK,
    loss.CHECK,
    ack_delayed.CHECK,
    peer_mtu.CHECK,
    hop_limit.CHECK,
    # E. Is the peer there?
    # F. The receive side
    # G. A completion came, but with an error
    rem_access.CHECK,
    # H. Completed with success, yet wrong
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

"""The checklist: every suspicion in its order; and the FAQs of the documents, as lists of them."""

from rdmalab.doctor.checks import (
    mcast,
    no_grh,
    no_remote_send,
    no_rr,
    one_sided_connect,
    peer_destroyed,
    peer_port,
    peer_state,
    peer_type,
    pkey,
    qp_err_flush,
    recv_state,
    rem_access,
    rnr_infinite,
    srq_empty_limit,
    srq_error,
    srq_qp_err_no_flush,
    srq_stolen,
    too_early,
    uc_loss,
    ud_40_bytes,
    ud_qkey,
    ud_too_long,
    unsignaled,
    write_no_signal,
    wrong_cq,
    wrong_gid,
    wrong_qpn,
    xrc_srqn,
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
    wrong_qpn.CHECK,
    wrong_gid.CHECK,
    no_grh.CHECK,
    peer_state.CHECK,
    peer_type.CHECK,
    pkey.CHECK,
    peer_destroyed.CHECK,
    peer_port.CHECK,
    one_sided_connect.CHECK,
    # F. The receive side
    no_remote_send.CHECK,
    no_rr.CHECK,
    recv_state.CHECK,
    ud_qkey.CHECK,
    ud_40_bytes.CHECK,
    ud_too_long.CHECK,
    uc_loss.CHECK,
    srq_stolen.CHECK,
    srq_empty_limit.CHECK,
    srq_error.CHECK,
    srq_qp_err_no_flush.CHECK,
    write_no_signal.CHECK,
    mcast.CHECK,
    xrc_srqn.CHECK,
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

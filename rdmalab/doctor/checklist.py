"""The checklist: every suspicion in its order; and the FAQs of the documents, as lists of them."""

from rdmalab.doctor.checks import (
    beyond_device,
    flag_already_set,
    inline_too_long,
    lent_buffer_reused,
    link_mtu,
    memlock,
    no_route,
    own_err,
    polled_once,
    posted_twice,
    qp_err_flush,
    recv_before_send,
    rem_access,
    rnr_infinite,
    rq_full,
    sq_too_small,
    status_ignored,
    too_early,
    too_many_sges,
    unmapped,
    unsignaled,
    wrong_cq,
)
from rdmalab.doctor.finding import Check, Section

CHECKS: tuple[Check, ...] = (
    # A. Was it posted, can it complete visibly at all?
    unsignaled.CHECK,
    recv_before_send.CHECK,
    inline_too_long.CHECK,
    too_many_sges.CHECK,
    posted_twice.CHECK,
    sq_too_small.CHECK,
    # B. Looking at the right completion queue, in the right way?
    wrong_cq.CHECK,
    polled_once.CHECK,
    # C. The own queue pair and port
    too_early.CHECK,
    qp_err_flush.CHECK,
    beyond_device.CHECK,
    memlock.CHECK,
    unmapped.CHECK,
    own_err.CHECK,
    # D. Does the requester get on?
    rnr_infinite.CHECK,
    link_mtu.CHECK,
    # E. Is the peer there?
    no_route.CHECK,
    # F. The receive side
    rq_full.CHECK,
    # G. A completion came, but with an error
    rem_access.CHECK,
    # H. Completed with success, yet wrong
    flag_already_set.CHECK,
    status_ignored.CHECK,
    lent_buffer_reused.CHECK,
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

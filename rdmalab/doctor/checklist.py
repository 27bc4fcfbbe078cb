"""The checklist: every suspicion in its order; and the FAQs of the documents, as lists of them."""

from rdmalab.doctor.checks import (
    addressing,
    atomics,
    buffers,
    builders,
    cq_limits,
    device,
    invalid_pointers,
    lifetimes,
    local_errors,
    mcast,
    memory_windows,
    mtu,
    network,
    notify,
    path,
    peer,
    polling,
    posting,
    psn,
    qp_err,
    qp_state,
    reads,
    receive,
    recv_queue,
    remote_errors,
    rnr,
    send_queue,
    sg_lists,
    srq,
    srq_error,
    timeout,
    unreliable,
    wc_fields,
    wr_fields,
)
from rdmalab.doctor.finding import Check, Section

_SECTIONS = tuple(Section)
_FAMILIES = (
    addressing,
    atomics,
    buffers,
    builders,
    cq_limits,
    device,
    invalid_pointers,
    lifetimes,
    local_errors,
    mcast,
    memory_windows,
    mtu,
    network,
    notify,
    path,
    peer,
    polling,
    posting,
    psn,
    qp_err,
    qp_state,
    reads,
    receive,
    recv_queue,
    remote_errors,
    rnr,
    send_queue,
    sg_lists,
    srq,
    srq_error,
    timeout,
    unreliable,
    wc_fields,
    wr_fields,
)
CHECKS: tuple[Check, ...] = tuple(
    sorted(
        (check for family in _FAMILIES for check in family.CHECKS),
        key=lambda check: (_SECTIONS.index(check.section), check.number),
    )
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

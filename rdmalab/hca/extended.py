"""`ibv_qp_ex`: the critical region of a send queue, its lock, and the requests built in it.

Nothing here is posted: `batch.py` builds, and passes complete requests to `posting.py`.
"""

from enum import IntFlag

from rdmalab.command import Refused
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.errors import refused
from rdmalab.hca.qp import Complaint, Extended, QueuePair, Region
from rdmalab.spec.builders import InitMask, offered
from rdmalab.spec.records import Kind
from rdmalab.spec.states import QPType
from rdmalab.spec.transports import TRANSPORTS
from rdmalab.spec.work import SendOps

# Of creation flags there are none but 0, of which nothing is asked.
KNOWN_MASK = sum(InitMask) & ~int(InitMask.IND_TABLE | InitMask.RX_HASH)
POSTED, ABORTED, DROPPED = "posted", "aborted", "dropped"
OVERWRITTEN, UNOPENED = "overwritten", "unopened"


def of(hca: Adapter, qp: QueuePair) -> Extended:
    """`ibv_qp_to_qp_ex`; Refused where it returns NULL."""
    if qp.ex is None:
        legal = "create_qp_ex … send_ops_flags=SEND|RDMA_WRITE"
        raise refused(hca.profile, "no-qp-ex", argument="qp", legal=legal)
    return qp.ex


def open_region(hca: Adapter, qp: QueuePair, verb: str) -> Region:
    """The region that a builder or setter writes in; Refused outside of one."""
    region = of(hca, qp).region
    if region is None:
        raise refused(hca.profile, "region-needed", verb, argument="qp", legal="wr_start first")
    return region


def start(hca: Adapter, qp: QueuePair, thread: int) -> None:
    """`ibv_wr_start`: takes the lock, if the queue pair has one."""
    ex = of(hca, qp)
    if ex.region is not None:
        _collide(hca, qp, ex.region, thread)
    ex.region = Region(thread)
    hca.trace.record(Kind.REGION_OPENED, hca.node, qp.number, thread)


def enter(hca: Adapter, qp: QueuePair) -> None:
    """Take the lock of the send queue, as `ibv_post_send` does."""
    if qp.ex is not None and qp.ex.region is not None:
        _collide(hca, qp, qp.ex.region, qp.ex.region.thread)


def _collide(hca: Adapter, qp: QueuePair, region: Region, thread: int) -> None:
    """Another thread is in the region. Without a lock the new thread overwrites what is built."""
    if not qp.locked:
        close(hca, qp, OVERWRITTEN)
        return
    legal = "wr_complete or wr_abort first"
    if thread == region.thread:
        raise refused(hca.profile, "crash-deadlock", thread, argument="qp", legal=legal)
    holder = region.thread
    raise refused(hca.profile, "lock-held", thread, holder, argument="thread", legal=legal)


def close(hca: Adapter, qp: QueuePair, ending: str) -> None:
    """Leave the region and discard its list."""
    ex = of(hca, qp)
    count = len(ex.region.built) if ex.region is not None else 0
    ex.region = None
    hca.trace.record(Kind.REGION_CLOSED, hca.node, qp.number, count, ending)


def fail_batch(hca: Adapter, qp: QueuePair, region: Region, rule: str, *details: object) -> None:
    """Keep the first error: the function that made it returns nothing."""
    if region.complaint is None:
        region.complaint = Complaint(rule, details, max(0, len(region.built) - 1))
        hca.trace.record(Kind.BATCH_FAILED, hca.node, qp.number, error_text(hca, region.complaint))


def error_text(hca: Adapter, complaint: Complaint) -> str:
    """The error that `wr_complete` will return, as text."""
    return refused(hca.profile, complaint.rule, *complaint.details).message


def refusal_of(hca: Adapter, complaint: Complaint) -> Refused:
    """The answer of `wr_complete`."""
    return refused(hca.profile, complaint.rule, *complaint.details, argument="qp")


# --------------------------------------------------------------------------- at creation
def judge(hca: Adapter, qp_type: QPType, mask: int, ops: int, *, has_pd: bool) -> Refused | None:
    """The refusal of create_qp_ex beyond create_qp: a requested builder does not exist. None:
    accepted.
    """
    profile = hca.profile
    needs_pd = qp_type not in tuple(QPType) or "pd" in TRANSPORTS[qp_type].parts
    if needs_pd and not (has_pd and mask & InitMask.PD):
        legal = "pd=A.pd0 comp_mask=PD|SEND_OPS_FLAGS"
        return refused(profile, "qp-ex-pd", argument="pd", legal=legal)
    if odd := mask & ~KNOWN_MASK:
        return refused(profile, "qp-ex-mask", _names(InitMask, odd), argument="comp_mask")
    if not mask & InitMask.SEND_OPS_FLAGS or qp_type not in tuple(QPType):
        return None
    able = supported(hca, qp_type)
    if odd := ops & ~able:
        legal = "send_ops_flags=" + (_names(SendOps, able) or "0")
        name, odds = qp_type.name, _names(SendOps, odd)
        return refused(profile, "send-ops", name, odds, argument="send_ops_flags", legal=legal)
    return None


def supported(hca: Adapter, qp_type: QPType) -> int:
    """The builders that this device has for a type."""
    lacks = hca.profile.lacks_builders
    return sum(f for f in offered(qp_type) if f"{qp_type.name}:{f.name}" not in lacks)


def _names(of: type[IntFlag], bits: int) -> str:
    """`SEND|RDMA_READ`, and what has no name as a number."""
    named = [flag.name or "" for flag in of if flag & bits]
    rest = bits & ~sum(of)
    return "|".join([*named, hex(rest)] if rest else named)

"""The extended post API of a queue pair: work requests that are built and not posted yet."""

from dataclasses import dataclass
from typing import Annotated

from rdmalab.hca.qp import Extended, QueuePair
from rdmalab.spec.work import SendFlags, SendOps


@dataclass(slots=True)
class RegionRow:
    """The extended API of a queue pair: what wr_* functions have built and not posted yet."""

    extended: Annotated[bool, "whether wr_* functions work on it: made by create_qp_ex for them"]
    send_ops_flags: Annotated[SendOps, "the builders that create_qp_ex was asked for"]
    locked: Annotated[bool, "whether posting takes a lock; not in a thread domain"]
    open: Annotated[bool, "between wr_start and wr_complete"]
    thread: Annotated[int | None, "the thread that called wr_start"]
    built: Annotated[int, "work requests built since wr_start"]
    error: Annotated[str, "the rule that wr_complete will answer with, empty if none yet"]
    wr_id: Annotated[int, "what the next builder takes"]
    wr_flags: Annotated[SendFlags, "what the next builder takes"]


def region_row(qp: QueuePair) -> RegionRow:
    """The work requests built and not posted yet; for a plain queue pair always none."""
    ex = qp.ex or Extended(0)
    region = ex.region
    complaint = region.complaint if region else None
    return RegionRow(
        extended=qp.ex is not None,
        send_ops_flags=SendOps(ex.ops),
        locked=qp.locked,
        open=region is not None,
        thread=region.thread if region else None,
        built=len(region.built) if region else 0,
        error=complaint.rule if complaint else "",
        wr_id=ex.wr_id,
        wr_flags=SendFlags(ex.wr_flags),
    )

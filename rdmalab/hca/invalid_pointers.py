"""Invalid pointers: what C does with them is reported, not executed.

The rules named crash-… stand for a segmentation fault of the program.
"""

from typing import Any

from rdmalab.command import Fresh, Refused
from rdmalab.hca.adapter import Adapter
from rdmalab.hca.errors import refused
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import SGE, RecvWR, SendWR, WildPointer
from rdmalab.spec.document_differences import DIFFERENCES

NULL = "NULL"


def listed(wr: SendWR | RecvWR) -> list[SGE]:
    """The entries of `sg_list` that `num_sge` counts."""
    return wr.sg if wr.num_sge is None else wr.sg[: max(0, wr.num_sge)]


def copy_for_queue(wrs: list[Any]) -> list[Any]:
    """Copies of the requests, up to the first with next=NULL: the driver reads no further.

    Requests that were made for this call are the queue's already.
    """
    fresh = type(wrs) is Fresh
    if len(wrs) == 1:
        return wrs if fresh else [wrs[0].copy_for_queue()]
    queued = []
    for wr in wrs:
        queued.append(wr if fresh else wr.copy_for_queue())
        if wr.next == 0:
            break
    return queued


def check_list(
    hca: Adapter, sg: list[SGE], count: int | None, most: int, rule: str
) -> Refused | None:
    """num_sge is a number that the queue takes, and as many entries can be read."""
    if count is not None:
        return _check_counted(hca, sg, count, most, rule)
    if len(sg) > most:
        return refused(hca.profile, rule, len(sg), most, argument="sg")
    for sge in sg:
        if type(sge) is WildPointer:
            return _wild(hca, sge)
    return None


def _check_counted(hca: Adapter, sg: list[SGE], count: int, most: int, rule: str) -> Refused | None:
    """The entries that a num_sge of the program's own counts."""
    if count > most:
        return refused(hca.profile, rule, count, most, argument="num_sge")
    if count < 0:
        return refused(hca.profile, "num-sge", count, argument="num_sge")
    for sge in sg[:count]:
        if type(sge) is WildPointer:
            return _wild(hca, sge)
    if count > len(sg):
        where = beyond("num_sge", count, "sg_list", len(sg))
        return refused(hca.profile, "crash-sg", where, argument="num_sge")
    return None


def _wild(hca: Adapter, sge: SGE) -> Refused:
    where = f"sg_list={sge.addr:#x} points to no list"
    return refused(hca.profile, "crash-sg", where, argument="sg")


def beyond(counter: str, count: int, array: str, length: int) -> str:
    """An array that is shorter than the number given with it."""
    return f"{counter}={count} reads on beyond the end of {array}, which has {length}"


def check_handle(hca: Adapter, ah: int | None, legal: str) -> Refused | None:
    """ah points to an address handle. The memory of a destroyed one can still be read."""
    if not ah:
        return refused(hca.profile, "crash-ah", argument="ah", legal=legal)
    if ah >= hca.ahs.next_number or ah < 0:
        return refused(hca.profile, "crash-ah-pointer", hex(ah), argument="ah", legal=legal)
    return None


def check_length(hca: Adapter, wr: SendWR, length: int) -> Refused | None:
    """The message is not longer than max_msg_sz; an SGE of length 0 may make it longer.

    Of sends only: no document and no driver has a limit for the bytes of a receive.
    """
    profile, legal = hca.profile, ""
    if length <= profile.caps.max_msg_sz or not profile.refuses_long_message:
        return None
    if profile.zero_sge_bytes and not all(sge.length for sge in listed(wr)):
        legal = f"leave out the SGE of length 0: {DIFFERENCES['zero-length-sge'].sentence}"
    return refused(profile, "message-length", profile.caps.max_msg_sz, argument="sg", legal=legal)


def lost(hca: Adapter, wr: SendWR | RecvWR, index: int) -> Refused:
    """The refusal of a list that continues at an invalid pointer after this posted request."""
    where = hex(wr.next or 0)
    refusal = refused(hca.profile, "crash-next", where, argument="next", legal="next=NULL")
    refusal.bad_wr = index + 1
    return refusal


def notice_null(hca: Adapter, queue: object, name: str) -> None:
    """Refuse a NULL queue on drivers that check their pointers; none does for an SRQ."""
    if hca.profile.refuses_null_pointers and isinstance(queue, QueuePair):
        raise refused(hca.profile, "null-pointer", name, argument=name)


def without_bad_wr(hca: Adapter, refusal: Refused) -> Refused:
    """The refusal where the driver must return the bad request and bad_wr is NULL."""
    legal = "give a pointer: bad_wr=&bad_wr"
    crash = refused(hca.profile, "crash-bad-wr", refusal.message, argument="bad_wr", legal=legal)
    crash.bad_wr, crash.left = refusal.bad_wr, refusal.left
    return crash

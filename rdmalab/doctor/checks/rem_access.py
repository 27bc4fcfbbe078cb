"""rem-access: the peer's memory may not be touched so."""

from typing import NamedTuple

from rdmalab.command import Noun
from rdmalab.doctor import cures
from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Cure, Evidence, Finding, Section, fail, ok, said
from rdmalab.hca.dma import Denied, locate
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import SendWqe
from rdmalab.lens.words import EVENT, B
from rdmalab.spec.records import Kind
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WORK, WROpcode


class Wanted(NamedTuple):
    """What a work request wants to do with which bytes of the peer."""

    rights: int
    length: int


def examine(case: Case) -> Finding:
    """Which test of its key the responder's memory failed."""
    send, peer = case.send, case.peer
    if send is None or send.wqe is None or send.ending is None or case.qp is None:
        return NA
    if send.ending.status is not WCStatus.REM_ACCESS_ERR:
        return ok("the peer did not deny its memory")
    evidence: list[Evidence] = []
    naks = [row for row in send.answers if row.syndrome is not None and row.syndrome.name != "ACK"]
    refusals = _refusals(case, peer)
    evidence += [said(f"{case.qp_name(peer)} refused it: {_test(send.wqe, peer, case)}", event)
                 for event in refusals[-1:] if peer]  # fmt: skip
    evidence += [said(f"{row.label} came back", row.event) for row in naks[-1:]]
    evidence.append(said("so it ended with REM_ACCESS_ERR", send.ending.event))
    return fail(*evidence, cure=_cure(case, send.wqe, case.qp, peer))


def _refusals(case: Case, peer: QueuePair | None) -> list[int]:
    if peer is None:
        return []
    found = case.log.of(Kind.REQUEST_REFUSED, peer.node, peer.number)
    return [r[EVENT] for _, r in found if r[B] == "rkey"]


def _wanted(wqe: SendWqe) -> Wanted:
    work = WORK[WROpcode(wqe.wr.opcode)]
    return Wanted(int(work.remote), 8 if work.outstanding and wqe.wr.opcode != WROpcode.RDMA_READ
                  else wqe.length)  # fmt: skip


def _denied(wqe: SendWqe, peer: QueuePair, case: Case) -> Denied | None:
    """The test that it would fail now."""
    keys, wanted = case.world.nodes[peer.node].rkeys, _wanted(wqe)
    place = locate(keys, wqe.wr.rkey, peer, wanted.rights, wqe.wr.remote_addr, wanted.length)
    return place if isinstance(place, Denied) else None


def _test(wqe: SendWqe, peer: QueuePair, case: Case) -> str:
    found = _denied(wqe, peer, case)
    key = f"rkey {wqe.wr.rkey:#x}"
    return f"{key}: {found.value}" if found is not None else f"{key} was not good for it then"


def _cure(case: Case, wqe: SendWqe, qp: QueuePair, peer: QueuePair | None) -> Cure | None:
    """Bring both ends up again, and name a region of the peer that allows it."""
    if peer is None:
        return None
    wanted = _wanted(wqe)
    for number, mr in case.world.nodes[peer.node].mrs.items.items():
        if (
            mr.pd == peer.pd
            and mr.access & wanted.rights == wanted.rights
            and (wanted.length <= mr.length)
        ):
            inside = mr.iova <= wqe.wr.remote_addr <= mr.iova + mr.length - wanted.length
            start = wqe.wr.remote_addr - mr.iova if inside else 0
            name = f"{case.name(Noun.MR, peer.node, number)}[{start}]"
            changed = {"remote_addr": None, "rkey": None, "remote": name}
            once_more = cures.again(case, qp, wqe.wr, revived=True, **changed)
            return Cure([*cures.revive(case, qp), *once_more])
    return None


CHECK = Check(
    71, "rem-access", Section.ERROR,
    question="Did the peer deny its memory: rkey, domain, right or range?",
    rule="a responder asks of each request: is the key known, of my domain, allowed, in its range",
    source="ibv_reg_mr(3)", examine=examine, station=True,
)  # fmt: skip

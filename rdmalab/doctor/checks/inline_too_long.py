"""inline-too-long: more INLINE bytes than the queue pair was made for."""

from rdmalab.command import Noun
from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import attempts
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.doctor.fixes import reposting
from rdmalab.doctor.fixes.changed_calls import mended
from rdmalab.hca.qp import QueuePair
from rdmalab.spec.records import A, Kind, event_of
from rdmalab.spec.rules import errno_name
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Of a refused post, whether its INLINE bytes were what was too much."""
    call, qp = case.call, case.qp
    if call is None or qp is None or call.verb not in attempts.SENDING:
        return NA
    if call.refusal != "inline-length":
        return ok("its inline bytes were not too many")
    made = [r for _, r in case.log.of(Kind.CREATED, qp.node, qp.number) if r[A] == Noun.QP.value]
    room, used = qp.cap.max_inline_data, len(qp.sq.wqes)
    return fail(
        said(f"{case.qp_name(qp)} was made with max_inline_data={room}",
             event_of(made[-1]) if made else None),
        said(f"{call.verb} returned {errno_name(call.errno)} for {_asked(case, qp)}", call.event),
        said(f"{used} of {fmt.count(qp.sq.capacity, 'slot')} of its send queue are in use: "
             "it was not full"),
        cure=_cure(case, qp), since=call.event,
    )  # fmt: skip


def _asked(case: Case, qp: QueuePair) -> str:
    """`24 INLINE bytes of wr24`."""
    attempt = attempts.of_call(case)
    if attempt is None or not attempt.left:
        return "too many INLINE bytes"
    many = _length(case, qp, attempt)
    name = fmt.wr(attempts.id_of(attempt.left[0]))
    return f"{many} INLINE bytes of {name}" if many else f"the INLINE bytes of {name}"


def _length(case: Case, qp: QueuePair, attempt: attempts.Attempt) -> int:
    del qp
    found = attempts.bound(case.session, attempt, attempt.left[:1])
    return sum(sge.length for wr in found for sge in wr.sg)


def _cure(case: Case, qp: QueuePair) -> Fix:
    """Without INLINE, where the adapter may fetch the bytes by itself."""
    attempt = attempts.of_call(case)
    if attempt is not None and attempt.left and _registered(case, attempt):
        plain = mended(attempt.left[0], "inline-length") or attempt.left[0]
        return Fix(reposting.repost(case, qp, attempt, [plain, *attempt.left[1:]]))
    many = _length(case, qp, attempt) if attempt is not None else 0
    enough = f"max_inline_data={many}" if many else "a larger max_inline_data"
    return Fix(program=f"make the queue pair with {enough}, or register the memory and leave "
                        "INLINE out")  # fmt: skip


def _registered(case: Case, attempt: attempts.Attempt) -> bool:
    """Every piece has the key of a region."""
    found = attempts.bound(case.session, attempt, attempt.left[:1])
    return bool(found) and all(sge.lkey in case.hca.lkeys for wr in found for sge in wr.sg)


CHECK = Check(
    99, "inline-too-long", Section.POSTED,
    question="Has it more INLINE bytes than max_inline_data of its queue pair?",
    rule="INLINE bytes are copied into the queue, which has room for max_inline_data a request; "
         "some devices say ENOMEM where others say EINVAL",
    source="mori-424", examine=examine,
)  # fmt: skip

"""The ACK timeout and the retries after it."""

from rdmalab.doctor.evidence.outcome import Status
from rdmalab.doctor.evidence.time_spent import TimeSpent
from rdmalab.doctor.kit import *
from rdmalab.doctor.moments.future import LONG_WAIT_NS, look_ahead
from rdmalab.spec.refusals import Syndrome
from rdmalab.spec.states import usual_word
from rdmalab.spec.timers import INFINITE_RETRIES, MOST_RETRIES
from rdmalab.views.fates import Fate
from rdmalab.world.faults import Delay, Reorder

_GONE = (Fate.LOST, Fate.DROPPED)
_USUAL = {"timeout": usual_word("timeout")}


@check("timeout-zero", qp=acknowledged)
def timeout_zero(case: Case, send: Send, wqe: SendWqe, qp: QueuePair) -> Finding:
    """Check whether the request waits, with timeout=0, for a reply that was lost."""
    if not send.on_queue or not send.begun or qp.attr.timeout or qp.comp.rnr_until_ns is not None:
        return ok("it does not wait without a timer")
    gone = [row for row in (*delivery.last_try(case), *delivery.answers(case)) if row.fate in _GONE]
    if not gone or case.will_succeed:
        return _careless(case, qp)
    lost = [fact(delivery.fate_of(row), row.event) for row in gone[:2]]
    lines = recovery.reconnected(case, qp, wqe.wr, _USUAL, _USUAL)
    given = _timeout_zero_evidence(case, qp)
    cure = Fix(lines, note=f"timeout becomes {_USUAL['timeout']}")
    return blocking(case, given, *lost, cure=cure, since=given.event)


def _careless(case: Case, qp: QueuePair) -> Finding:
    """Warning that timeout=0 is harmless only as long as nothing is lost."""
    if not case.asked:
        return ok("timeout is 0, and nothing was lost")
    return warn(_timeout_zero_evidence(case, qp))


def _timeout_zero_evidence(case: Case, qp: QueuePair) -> Evidence:
    text = f"{case.qp_name(qp)} was given timeout=0: no ack timer, no retransmit"
    return fact(text, set_at(case, qp, Attr.TIMEOUT))


_SECOND_NS = 1_000_000_000  # after so long a failure is reported late: with 14 and 7 it is 0.5 s


@check("timeout-huge")
def timeout_huge(case: Case, send: Send, wqe: SendWqe, qp: QueuePair) -> Finding:
    """The cause if all that is wrong is how long it waits, or waited, before it is sent again."""
    if not send.on_queue or not send.begun:
        return NA
    wait_ns = qp.path.answer_ns if qp.path is not None else None
    if wait_ns is None or not qp.comp.watching or not qp.transport.acknowledged:
        return ok("no ack timer runs")
    tries = (qp.attr.retry_cnt or 0) + 1
    if tries * wait_ns <= LONG_WAIT_NS:
        return ok(f"RETRY_EXC_ERR comes after {fmt.duration(tries * wait_ns)} at the latest")
    if case.future.settled:
        return ok("it ends earlier than that")
    since = set_at(case, qp, Attr.TIMEOUT)
    evidence = (
        fact(f"{case.qp_name(qp)} was given timeout={qp.attr.timeout}: "
             f"{fmt.duration(wait_ns)} before each retransmit", since),
        fact(f"{fmt.count(tries, 'try')} take "
             f"{fmt.duration(tries * wait_ns)}; {tries - 1 - qp.comp.retried} are left"),
        fact(f"it has waited {fmt.duration(_waited_ns(case))} so far", send.posted),
    )  # fmt: skip
    far = look_ahead(case.session, case.subject, tries * wait_ns)
    if far.settled and far.outcome.kind is not Status.COMPLETED:
        return warn(*evidence)  # another try would not help: it is slow to say so, no more
    lines = recovery.reconnected(case, qp, wqe.wr, _USUAL, _USUAL)
    return blocking(case, *evidence, cure=Fix(lines), since=since)


@timeout_huge.instead
def _took_long(case: Case, send: Send) -> Finding | None:
    """Of a send that failed for want of an answer: whether that was reported after a long time."""
    if not send.retries_exhausted:
        return None
    took_ns, qp = TimeSpent(send).total_ns, case.qp
    if took_ns < _SECOND_NS or qp is None:
        return ok(f"it failed {fmt.duration(took_ns)} after its post")
    return warn(
        fact(f"it failed {fmt.duration(took_ns)} after its post", case.ended),
        fact(f"{case.qp_name(qp)} was given timeout={qp.attr.timeout} and "
             f"retry_cnt={qp.attr.retry_cnt}", set_at(case, qp, Attr.TIMEOUT)),
    )  # fmt: skip


def _waited_ns(case: Case) -> int:
    posting = case.send.posting if case.send is not None else None
    return case.world.now_ns - (rec.at_ns_of(posting) if posting is not None else 0)


@check("timeout-short")
def timeout_short(
    case: Case, send: Send, wqe: SendWqe, ending: Ending, qp: QueuePair, path: Path
) -> Finding:
    """Check whether a timeout shorter than the round trip, without loss, retransmitted it.

    If it ended with success all the same, that is a warning.
    """
    again = len([row for row in send.transmissions if row.psn == wqe.first_psn]) > 1
    done = ending.status is WCStatus.SUCCESS and again
    if ending.status is not WCStatus.RETRY_EXC_ERR and not done:
        return ok("it did not fail for want of an answer")
    way_ns, wait_ns = 2 * case.world.network.cable.latency_ns, path.answer_ns
    gone = [row for row in (*send.transmissions, *send.answers) if _is_gone(row, ending)]
    gone = gone if not done or TimeSpent(send).is_lossy else []
    late_ns, late_row = (0, None) if done else _longest_delay(send)
    if gone or wait_ns is None or wait_ns >= max(way_ns, late_ns):
        return ok("an answer takes less time than its timer waits")
    since = set_at(case, qp, Attr.TIMEOUT)
    enough = next((code for code in range(1, 31) if 4096 << code > 2 * max(way_ns, late_ns)), 31)
    longer = {"timeout": str(enough)}
    facts = [
        fact(f"{case.qp_name(qp)} was given timeout={qp.attr.timeout}: it waits "
             f"{fmt.duration(wait_ns)} for an answer", since),
        fact(f"the round trip takes {fmt.duration(way_ns)}"),
    ]  # fmt: skip
    if late_row is not None and late_ns > wait_ns:
        facts = [_delayed(late_row, late_ns), facts[0], *_delays(case, late_row)]
    if done:
        late = fact("nothing was lost, and it was retransmitted all the same", ending.event)
        return warn(*facts, late, cure=Fix(program=f"connect with timeout={enough} or more"))
    failed = fact("nothing was lost, and it failed with RETRY_EXC_ERR", ending.event)
    cure = Fix(recovery.reconnected(case, qp, wqe.wr, longer, longer))
    return fail(*facts, failed, cure=cure, since=since)


def _is_gone(row: PacketRow, ending: Ending) -> bool:
    """Whether a packet was lost, or dropped before the request ended: a late ACK is dropped too."""
    late = row.end_event is not None and row.end_event > ending.event
    return row.fate in _GONE and not (row.fate is Fate.DROPPED and late)


def _longest_delay(send: Send) -> tuple[int, PacketRow | None]:
    """Of its packets and answers that the cable delayed: the longest time in ns from the
    request's departure to the arrival of one of them, and that one."""
    asked = [row.at_ns for row in send.transmissions]
    times = [(row.arrives_ns - max((at for at in asked if at <= row.at_ns), default=row.at_ns), row)
             for row in (*send.transmissions, *send.answers)
             if row.troubles and row.arrives_ns is not None]  # fmt: skip
    return max(times, key=lambda each: each[0], default=(0, None))


def _delayed(row: PacketRow, late_ns: int) -> Evidence:
    text = f"{row.label} psn={row.psn} from {row.source} was {', '.join(row.troubles)}"
    return fact(f"{text}: it arrives {fmt.duration(late_ns)} after the request was sent", row.event)


def _delays(case: Case, row: PacketRow) -> list[Evidence]:
    """The faults that are set and delay packets of this direction, with their events."""
    events = {object_of(r): event_of(r) for r in case.log.of(Kind.FAULT_SET)}
    faults = [f for f in case.world.network.cable.faults if isinstance(f, Delay | Reorder)]
    return [fact(f"fault {f.number} is set: {f}", events.get(f.number))
            for f in faults if f.match.source in ("", row.source)]  # fmt: skip


@check("retry7-rxe", send=waiting)
def retry7_rxe(case: Case, send: Send, wqe: SendWqe, qp: QueuePair) -> Finding:
    """Check whether the request is retransmitted without limit, as rxe does for retry_cnt=7."""
    if not case.profile.retry_cnt_7_is_infinite:
        return NA
    endless = qp.attr.retry_cnt == INFINITE_RETRIES and qp.comp.rnr_until_ns is None
    tries = [r for r in send.sent if packet_of(r).psn == wqe.first_psn]
    if not endless or len(tries) <= INFINITE_RETRIES or case.future.settled:
        return ok("it is not sent again without end")
    since = set_at(case, qp, Attr.RETRY_CNT)
    last, many = delivery.last_try(case)[-1], fmt.count(len(tries), "time")
    many = f"at least {many}" if case.log.begins > (send.posted or 0) else many
    limited = {"retry_cnt": str(MOST_RETRIES)}
    lines = recovery.reconnected(case, qp, wqe.wr, limited, limited)
    return blocking(
        case, fact(f"{case.qp_name(qp)} was given retry_cnt=7, which has no limit "
                   "on this device", since),
        fact(f"it was sent {many}, the last one {last.fate_text}",
             last.event),
        cure=Fix(lines), since=since,
    )  # fmt: skip


_HELD, _RETRIED = "held back", {"retry_cnt": str(MOST_RETRIES)}
SHOWN = 3  # transmissions that are listed one by one, the last among them


@check("retry-exc")
def retry_exc(case: Case, send: Send, ending: Ending, qp: QueuePair) -> Finding:
    """Evidence: the fate of each transmission."""
    if ending.status is not WCStatus.RETRY_EXC_ERR:
        return ok("it did not fail for want of an answer")
    rows = send.transmissions
    shown = rows if len(rows) <= SHOWN else [*rows[:2], rows[-1]]
    tries = [fact(_try(row), row.event) for row in shown]
    count = f"retry_cnt={qp.attr.retry_cnt} is used up: RETRY_EXC_ERR"
    late = [row for row in rows if _HELD in row.troubles][:1]
    held = [evidence for row in late for evidence in _overtaken(case, row)]
    naks = [row for row in send.answers if late and row.syndrome is Syndrome.NAK_SEQUENCE]
    held += [fact(f"{row.label} psn={row.psn} came back: {count.partition(':')[0]}", row.event)
             for row in naks[-1:]]  # fmt: skip
    cure = None
    if late and send.wqe is not None:
        lines = recovery.reconnected(case, qp, send.wqe.wr, _RETRIED, _RETRIED)
        cure = Fix(lines, note=f"retry_cnt becomes {MOST_RETRIES}")
    return fail(*held, *tries, fact(count, ending.event), cure=cure, since=ending.event)


def _overtaken(case: Case, row: PacketRow) -> list[Evidence]:
    """Evidence on a packet that the cable held back, and on the fault that did."""
    text = f"{row.label} psn={row.psn} was held back, and came after later packets"
    return [fact(text, row.event), *_delays(case, row)[:1]]


def _try(row: PacketRow) -> str:
    """A sentence: the time at which a packet was sent, and its end."""
    sent = f"{row.source} sent {row.label} psn={row.psn} at {fmt.clock(row.at_ns)}"
    if row.fate is Fate.RECEIVED and not row.troubles:
        return f"{sent}; it arrived at {fmt.clock(row.arrives_ns or 0)}"
    return f"{sent}; it was {row.fate_text}"


@check("ack-delayed", send=waiting, qp=acknowledged)
def ack_delayed(case: Case, send: Send, qp: QueuePair) -> Finding:
    """Check whether the request was executed, and its ACK is late or lost."""
    work = send.wqe.work if send.wqe is not None else None
    if work is None or work.outstanding:  # the response of a READ or an atomic also has its data
        return NA
    late = [row for row in delivery.answers(case) if row.fate is Fate.LOST or row.troubles]
    done = carried_out(case) if late else None
    if not late or done is None or not case.will_succeed:
        return ok("no ACK for it is late or lost")
    peer = case.qp_name(case.peer) if case.peer is not None else "the peer"
    return wait(
        fact(f"{peer} has carried it out: its data is there", done),
        fact(f"its {late[-1].label} psn={late[-1].psn} is {late[-1].fate_text}", late[-1].event),
        *_after_wait(case, late[-1]),
        cure=Fix(["run"]),
    )  # fmt: skip


def _after_wait(case: Case, row: PacketRow) -> list[Evidence]:
    """The time at which the timer asks for it again."""
    qp = case.qp
    if row.fate is not Fate.LOST or qp is None or qp.path is None or qp.path.answer_ns is None:
        return []
    text = f"the ack timer asks again at {fmt.clock(case.future.end_ns)} at the latest"
    return [fact(text)]


@check("slow")
def slow(send: Send, ending: Ending) -> Finding:
    """A warning if waits made it five times as long as it takes on an unloaded link."""
    if ending.status is not WCStatus.SUCCESS:
        return NA
    spent = TimeSpent(send)
    if spent.life is None:
        return NA
    if not spent.is_late:
        return ok(f"it took {fmt.duration(spent.total_ns)}")
    total, rest = fmt.duration(spent.total_ns), fmt.duration(spent.unloaded_ns)
    advice = next((wait.advice for wait in spent.waits if wait.advice), "")
    return warn(*(fact(wait.text, wait.event) for wait in spent.waits),
                fact(f"{total} in all, {rest} without these waits"),
                cure=Fix(program=advice) if advice else None)  # fmt: skip

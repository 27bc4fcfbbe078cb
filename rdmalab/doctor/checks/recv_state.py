"""recv-state: the queue pair that should receive is not in a state in which it does."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts import partners
from rdmalab.doctor.facts.undelivered import waiting_qps
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said, warn
from rdmalab.doctor.fixes import simple_fixes
from rdmalab.doctor.fixes.reconnecting import once_more, reconnect
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.wr import SendWR
from rdmalab.spec.states import QPState

_EARLY = (QPState.RESET, QPState.INIT)


def examine(case: Case) -> Finding:
    """Whether a message came while its queue pair was not in RTR or later."""
    if case.receive is not None:
        return _of_receive(case)
    unheard, qp = case.unheard, case.qp
    if unheard is None or qp is None or unheard.send.wqe is None or qp.transport.acknowledged:
        return NA
    misses, target = unheard.because("not-ready"), partners.target(case)
    if not misses or target is None:
        return ok("its target was ready to receive")
    state, since = partners.state_at(case, target, misses[-1].event)
    name = case.qp_name(target)
    return fail(
        said(f"{name} was in {state.name}", since),
        said(f"so {target.node} dropped it", misses[-1].event),
        cure=_cure(case, qp, target, unheard.send.wqe.wr), since=since,
    )  # fmt: skip


def _of_receive(case: Case) -> Finding:
    """A receive may be posted early; it is only said that nothing comes to it yet."""
    deaf = [qp for qp in waiting_qps(case) if qp.state in _EARLY]
    if not deaf or not case.asked:
        return ok("its queue pair receives") if case.receive is not None else NA
    qp = deaf[0]
    since = partners.entered(case, qp, qp.state)
    return warn(said(f"{case.qp_name(qp)} is in {qp.state.name}: it takes no message", since))


def _cure(case: Case, qp: QueuePair, target: QueuePair, wr: SendWR) -> Fix | None:
    """Bring it up, and say the message once more."""
    if target.state_row.receives:
        return Fix(once_more(case, qp, wr, target))
    if target.state is QPState.INIT and not target.transport.connected:
        up = simple_fixes.move(case, target, QPState.INIT, QPState.RTR, {})
        return Fix([up, *once_more(case, qp, wr, target)])
    if target.transport.connected:
        lines = reconnect(case, qp, target)
    else:
        lines = simple_fixes.revive(case, target)
    return Fix(lines + once_more(case, qp, wr, target, revived=True))


CHECK = Check(
    55, "recv-state", Section.RECEIVE,
    question="Did it come while the queue pair that should take it was not in RTR or later?",
    rule="in INIT receives may be posted, but messages are taken from RTR on, and none in ERR",
    source="ibv_post_recv(3)", examine=examine,
)  # fmt: skip

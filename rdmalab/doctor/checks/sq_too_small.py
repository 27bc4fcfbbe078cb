"""sq-too-small: all that holds the send queue is still under way; the queue is too short for it."""

from rdmalab.doctor.case import Case
from rdmalab.doctor.facts.backlog import after_polling, answer, backlog, gets_on
from rdmalab.doctor.facts.send import Send
from rdmalab.doctor.finding import NA, Check, Finding, Fix, Section, fail, ok, said
from rdmalab.spec.rules import errno_name
from rdmalab.spec.work import WROpcode
from rdmalab.views import fmt


def examine(case: Case) -> Finding:
    """Of a post that found no slot, whether polling could not have helped."""
    found, call = backlog(case), case.call
    if found is None or call is None or not case.asked:
        return NA
    if not found.all_under_way:
        return ok("some of what held its slots was done")
    if not found.signaled:
        return ok("none of what held its slots is signaled: no poll will ever free them")
    if answer(case, found) is not None:
        return ok("a message was polled in between, and taken for their completion")
    if not gets_on(case, found.sends[0]):
        return ok("the oldest of what holds its slots does not get on")
    lines = after_polling(case, found)
    many = fmt.count(len(found.sends), "slot")
    return fail(
        said(f"{many} of {case.qp_name(found.qp)}, all held by what was under way: "
             f"{_kinds(found.sends)}", found.sends[0].posted),
        said(f"{call.verb} returned {errno_name(call.errno)}; nothing waited to be polled",
             call.event),
        cure=Fix(lines) if lines else None,
    )  # fmt: skip


def _kinds(sends: list[Send]) -> str:
    """`4 RDMA_READ, 1 SEND`."""
    names = [fmt.member(s.wqe.wr.opcode, WROpcode) for s in sends if s.wqe is not None]
    return ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names))


CHECK = Check(
    102, "sq-too-small", Section.POSTED,
    question="Was the send queue full of requests that were all still under way?",
    rule="max_send_wr counts every request from its post to its polled completion, of every kind",
    source="tensorpipe-414", examine=examine,
)  # fmt: skip

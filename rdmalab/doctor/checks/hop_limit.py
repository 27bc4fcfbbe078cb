"""hop-limit: a packet that may not pass a single router."""

from rdmalab.command import Noun
from rdmalab.doctor import cures
from rdmalab.doctor.bring_up import told
from rdmalab.doctor.case import Case
from rdmalab.doctor.finding import NA, Check, Cure, Evidence, Finding, Section, ok, said, warn
from rdmalab.hca.attributes import AhAttr
from rdmalab.lens.words import EVENT, A
from rdmalab.spec.records import Kind
from rdmalab.spec.states import Attr
from rdmalab.wire.packet import gid_text

_FAR = 64


def examine(case: Case) -> Finding:
    """Whether the address that it goes to has hop_limit 0."""
    send, qp = case.send, case.qp
    if send is None or send.wqe is None or qp is None or not case.asked:
        return NA
    found = _connection(case) if qp.transport.connected else _handle(case)
    if found is None:
        return NA
    av, evidence = found
    if av.hop_limit or not av.is_global:
        return ok(f"hop_limit={av.hop_limit}")
    return warn(evidence, said("it was sent there", send.posted), cure=_cure(case, av))


def _connection(case: Case) -> tuple[AhAttr, Evidence] | None:
    qp = case.qp
    assert qp is not None
    if qp.attr.ah_attr is None or qp.path is None:
        return None
    text = f"the address of {case.qp_name(qp)} has hop_limit=0"
    return qp.attr.ah_attr, said(text, told(case, qp, Attr.AV))


def _handle(case: Case) -> tuple[AhAttr, Evidence] | None:
    wqe = case.send.wqe if case.send is not None else None
    number = wqe.wr.ah if wqe is not None else None
    made = case.hca.ahs.items.get(number or 0)
    if number is None or made is None:
        return None
    text = f"{case.name(Noun.AH, case.node, number)} has hop_limit=0"
    events = [r[EVENT] for _, r in case.log.of(Kind.CREATED, case.node, number)
              if r[A] == Noun.AH.value]  # fmt: skip
    return made.attr, said(text, events[-1] if events else None)


def _cure(case: Case, av: AhAttr) -> Cure | None:
    """Of a datagram: another handle; a connection would have to be made anew."""
    qp, wqe = case.qp, case.send.wqe if case.send is not None else None
    if qp is None or wqe is None or qp.transport.connected:
        return None
    number = 0
    while not case.names.is_free(f"{qp.node}.ah{number}"):
        number += 1
    name, pd = f"{qp.node}.ah{number}", case.name(Noun.PD, qp.node, qp.pd)
    said_ = f"is_global=1 dgid={gid_text(av.dgid)} sgid_index={av.sgid_index}"
    made = f"create_ah {name} pd={pd} {said_} hop_limit={_FAR} port_num={av.port_num}"
    return Cure([made, cures.post_send(case, qp, wqe.wr, ah=name)])


CHECK = Check(
    43, "hop-limit", Section.PROGRESS,
    question="Has the address it goes to hop_limit 0?",
    rule="each router counts hop_limit down and drops what is at 0; 64 is usual",
    source="ibv_create_ah(3)", examine=examine,
)  # fmt: skip

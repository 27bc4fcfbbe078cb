"""The subject of a question: a work request, a call, a queue, a program, or bytes."""

from enum import Enum
from typing import TYPE_CHECKING

from rdmalab.command import Thing
from rdmalab.session.names import Names
from rdmalab.spec.row import dataclass
from rdmalab.views import fmt

if TYPE_CHECKING:
    from rdmalab.hca.wr import RecvWqe, SendWqe


class Sort(Enum):
    """The kind of thing that a question is about."""

    SEND = "send"
    RECV = "receive"
    CALL = "call"
    CQ = "completion queue"
    QP = "queue pair"
    PROGRAM = "program"
    BYTES = "bytes"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a question.

    thing: the QP of a send, the QP or SRQ of a receive, the MR of bytes, the CQ, the program, any
    other object, the object of a call, or its node. serial: of a work request on its queue, -1 if
    it never was on one. wr_id: as posted. event: of a call. start, stop: of bytes.
    """

    sort: Sort
    thing: Thing
    serial: int = -1
    wr_id: int = 0
    event: int = -1
    start: int = 0
    stop: int = 0

    @classmethod
    def of_send(cls, thing: Thing, wqe: "SendWqe") -> "Subject":
        """A send of a queue pair."""
        return cls(Sort.SEND, thing, wqe.serial, wqe.wr.wr_id)

    @classmethod
    def of_receive(cls, thing: Thing, wqe: "RecvWqe") -> "Subject":
        """A receive of a queue pair or an SRQ."""
        return cls(Sort.RECV, thing, wqe.serial, wqe.wr.wr_id)


def name_of(names: Names, subject: Subject) -> str:
    """The name to type in a question about it: `A.qp0.wr[7]`."""
    name = names.of(subject.thing)
    match subject.sort:
        case Sort.SEND | Sort.RECV:
            return fmt.work_name(name, subject.wr_id, is_send=subject.sort is Sort.SEND)
        case Sort.BYTES:
            return f"{name}[{subject.start}:{subject.stop}]"
        case Sort.CALL:
            return f"the call of event {subject.event}"
    return name

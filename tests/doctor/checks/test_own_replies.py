"""A server of datagrams that takes the wrong GID of the GRH: it replies to its own node."""

import pytest

from rdmalab.doctor.evidence.outcome import Status
from rdmalab.lab import Lab
from tests.doctor.asking import played, why

_SERVED = (
    "use ud_pair", "create_ah B.back pd=B.pd0 to={to}",
    "post_recv A.qp0 wr_id=5 sg=A.mr0[0:200]", "post_recv B.qp0 wr_id=6 sg=B.mr0[0:200]",
    "post_send A.qp0 wr_id=1 opcode=SEND sg=A.mr0[0:8] ah=A.ah0 remote_qpn=B.qp0"
    " remote_qkey=0x11111111 flags=SIGNALED",
    "run",
)  # fmt: skip
_REPLY = (
    "post_send B.qp0 wr_id=2 opcode=SEND sg=B.mr0[40:48] ah=B.back remote_qpn=A.qp0"
    " remote_qkey=0x11111111 flags=SIGNALED"
)


def served(*more: str, to: str = "B") -> Lab:
    return played(*(line.format(to=to) for line in _SERVED), *more, _REPLY, "run")


@pytest.mark.parametrize("asked", ["A.qp0.recv_wr[5]", "B.qp0.wr[2]"])
@pytest.mark.parametrize("more", [(), ("post_recv B.qp0 wr_id=7 sg=B.mr0[200:400]",)])
def test_wrong_gid_of_a_reply_to_its_own_node(more: tuple[str, ...], asked: str) -> None:
    report = why(served(*more), asked)
    assert report.slug == "wrong-gid"
    first = report.causes[0].finding.evidence[0].text
    assert first.startswith("B.qp0 sent its reply through B.back, whose dgid 10.0.0.2")
    assert report.remedy is not None
    assert report.remedy.works


def test_a_receive_that_gets_no_reply_waits_in_vain() -> None:
    assert why(served(), "A.qp0.recv_wr[5]").outcome.kind is Status.NEVER


def test_a_reply_to_the_sender_and_a_datagram_to_oneself_are_no_mistake() -> None:
    assert why(served(to="A"), "B.qp0.wr[2]").slug != "wrong-gid"
    lab = played("use ud_pair", "create_ah B.back pd=B.pd0 to=B", _REPLY, "run")
    assert why(lab, "B.qp0.wr[2]").slug != "wrong-gid"

"""At rest: the agenda is empty, or threads come back to their lines and change nothing."""

import pytest

from rdmalab.doctor.evidence.components import at_rest, component_of
from rdmalab.lab import Lab
from tests.digest import digest

_WRITE = "post_send A.qp0 opcode=RDMA_WRITE flags=SIGNALED"


def rests(lab: Lab, name: str) -> bool:
    """Whether a thing and all that it has to do with is at rest."""
    thing = lab.session.names.find(name)
    assert thing is not None
    return at_rest(lab.session, component_of(lab.session, thing))


@pytest.mark.parametrize(
    ("lines", "rest"),
    [
        ("poll A.cq0", True),
        ("loop; poll_cq A.cq0; sleep 1us; end", True),
        ("loop; req_notify_cq A.cq0; try get_cq_event A.ch0; end", True),
        ("loop 100000; poll_cq A.cq0; end", False),
        (f"loop; {_WRITE}; poll A.cq0; end", False),
        ("loop; if now > 9us; stop; end; end", False),
        ("sleep 1us; sleep 1us", False),
    ],
)
def test_rests_of_a_thread(lines: str, *, rest: bool) -> None:
    lab = Lab()
    for line in ("use rc_pair channel=1", f"program A.x lines={{{lines}}}", "run 500ns"):
        lab.do(line)
    before = digest(lab.session.world.trace), lab.session.history.here
    assert rests(lab, "A.x") is rest
    assert (digest(lab.session.world.trace), lab.session.history.here) == before


def test_an_empty_agenda_is_rest_and_a_packet_is_none() -> None:
    lab = Lab()
    lab.do("use rc_pair")
    assert rests(lab, "A.qp0")
    lab.do(_WRITE)
    assert not rests(lab, "A.qp0")


def test_rests_beside_a_busy_pair() -> None:
    lab = Lab()
    write = _WRITE.replace("qp0", "qp1")
    busy = f"program A.x lines={{loop; {write}; poll A.cq1; end}}"
    for line in ("use rc_pair", "use rc_pair", busy, "run 3us", "program A.y lines={poll A.cq0}"):
        lab.do(line)
    lab.do("run 1us")
    assert [rests(lab, name) for name in ("A.qp0", "A.y", "A.x", "A.qp1")] == [
        True, True, False, False,
    ]  # fmt: skip

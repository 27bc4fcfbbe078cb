"""`load` and `next` say what they want of the face; they open nothing themselves."""

import pytest

from rdmalab.lab import Lab
from rdmalab.workbench.files import Load, Next


@pytest.mark.parametrize(
    ("line", "wish"),
    [
        ('load "scenarios/rc/send.rdmalab.yaml"', Load("scenarios/rc/send.rdmalab.yaml")),
        ("load scenarios/rc/send.rdmalab.yaml", Load("scenarios/rc/send.rdmalab.yaml")),
        ("next", Next()),
    ],
)
def test_a_wish(line: str, wish: Load | Next) -> None:
    lab = Lab()
    (reply,) = lab.do(line)
    assert reply.value == wish
    assert reply.event is None
    assert lab.session.world.event == -1

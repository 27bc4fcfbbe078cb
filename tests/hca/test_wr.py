"""Work requests: what a driver writes into its ring is all of it, and nobody else's."""

from dataclasses import fields
from typing import Any

import pytest

from rdmalab.hca.wr import SGE, RecvWR, SendWR, WildPointer


@pytest.mark.parametrize("kind", [SendWR, RecvWR])
def test_the_ring_holds_a_copy_of_every_field(kind: Any) -> None:
    given: dict[str, Any] = {each.name: number for number, each in enumerate(fields(kind), 1)}
    wr = kind(**given | {"sg": [SGE(1, 2, 3), WildPointer(4)]})
    ring = wr.in_ring()
    assert ring == wr
    wr.sg[0].addr = wr.wr_id = 99
    wr.sg.pop()
    assert (ring.wr_id, ring.sg) == (given["wr_id"], [SGE(1, 2, 3), WildPointer(4)])

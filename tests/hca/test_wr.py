"""Work requests: their short forms, their copies, and octets in host and network order."""

from dataclasses import fields
from typing import Any

import pytest

from rdmalab.command import Noun, RefShorthand, Thing
from rdmalab.hca.wr import REMOTE_RANGE, SGE, RecvWR, SendWR, ShortSGE, WildPointer, swap_octets
from rdmalab.spec.work import WROpcode
from tests.pairs import Pair


@pytest.mark.parametrize(("word", "swapped"), [(0, 0), (0x12345678, 0x78563412), (1, 1 << 24)])
def test_htonl_swaps_both_ways(word: int, swapped: int) -> None:
    assert swap_octets(word) == swapped
    assert swap_octets(swapped) == word


def test_a_work_request_starts_empty_and_shares_nothing() -> None:
    one, other = SendWR(WROpcode.SEND), SendWR(WROpcode.SEND)
    one.sg.append(SGE(1, 2, 3))
    assert other.sg == []


def test_a_region_is_a_short_form_of_address_and_key() -> None:
    pair = Pair()
    region = pair.b.mr
    thing = Thing(Noun.MR, "B", region.number)
    made = REMOTE_RANGE.convert(pair.world, thing, 16, None)
    length = region.length - 16
    addr, rkey = region.addr + 16, region.rkey
    assert made == {"remote_addr": addr, "rkey": rkey, "flush_length": length}
    given: tuple[object, ...] = getattr(ShortSGE, "__metadata__")  # noqa: B009
    (short,) = (each for each in given if isinstance(each, RefShorthand))
    for start, stop, length in ((None, None, region.length), (100, None, 65436), (100, 164, 64)):
        expected = SGE(region.addr + (start or 0), length, region.lkey)
        assert short.convert(pair.world, thing, start, stop) == expected


@pytest.mark.parametrize("kind", [SendWR, RecvWR])
def test_post_send_copies_every_field_of_a_wr(kind: Any) -> None:
    given: dict[str, Any] = {each.name: number for number, each in enumerate(fields(kind), 1)}
    wr = kind(**given | {"sg": [SGE(1, 2, 3), WildPointer(4)]})
    ring = wr.copy_for_queue()
    assert ring == wr
    wr.sg[0].addr = wr.wr_id = 99
    wr.sg.pop()
    assert (ring.wr_id, ring.sg) == (given["wr_id"], [SGE(1, 2, 3), WildPointer(4)])

"""The words and texts for numbers: over ranges, at the edges, and of what is no number.

Those of base, cq, mr, qp and wr are here too.
"""

import random

import pytest

from rdmalab.compat.pyverbs.cq import flags_to_str
from rdmalab.compat.pyverbs.device import (
    QueryDeviceExInput,
    speed_to_str,
    str_from_flags,
    translate_event_type,
)
from tests.compat.real import needs_pyverbs, ours, real, same_calls

_CHANCE = random.Random(44)
WIDE = [
    1 << 31, 1 << 32, 1 << 63, (1 << 64) - 1, 1 << 64, -1, -2, -(1 << 63),
    *(_CHANCE.getrandbits(64) for _ in range(300)), *(_CHANCE.getrandbits(32) for _ in range(300)),
]  # fmt: skip
NO_NUMBERS = [True, False, 1.0, 2.5, "2", "x", None, [], [1]]

# module → functions with a word for each number
WORDS = {
    "cq": ["cqe_opcode_to_str", "cqe_status_to_str"],
    "device": [
        "phys_state_to_str", "port_state_to_str", "speed_to_str", "translate_event_type",
        "translate_gid_type", "translate_link_layer", "translate_mtu", "translate_node_type",
        "translate_transport_type", "width_to_str",
    ],
    "mr": ["mwtype2str"],
}  # fmt: skip
# Numbers that have a word since.
NEWER = {"speed_to_str": 256, "translate_event_type": 20}
# module → functions with a word for each bit
FLAGS = {
    "cq": ["cqe_flags_to_str", "create_wc_flags_to_str"],
    "device": ["translate_device_caps", "translate_port_cap_flags", "translate_port_cap_flags2"],
    "wr": ["send_flags_to_str"],
}
BITS = [1 << bit for bit in range(65)]


def _rows(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(module, function) for module, functions in table.items() for function in functions]


@needs_pyverbs
@pytest.mark.parametrize(("module", "function"), _rows(WORDS))
def test_words_of_numbers(module: str, function: str) -> None:
    numbers = [*range(-40, 600), *WIDE, *NO_NUMBERS]
    named = NEWER.get(function)
    same_calls(module, function, [[number] for number in numbers if number != named])


def test_words_of_numbers_that_rdma_core_64_knows() -> None:
    assert translate_event_type(20) == "IBV_EVENT_DEVICE_SPEED_CHANGE"
    assert speed_to_str(256) == "200.0 Gbps (256)"
    assert speed_to_str(128, 256) == "200.0 Gbps (256)"


@needs_pyverbs
@pytest.mark.parametrize(("module", "function"), _rows(FLAGS))
def test_words_of_flags(module: str, function: str) -> None:
    numbers = [*range(-40, 600), *BITS, *WIDE, *NO_NUMBERS]
    same_calls(module, function, [[number] for number in numbers])


@needs_pyverbs
def test_guids() -> None:
    for function in ("guid_format", "guid_to_hex"):
        same_calls("device", function, [[number] for number in [*range(40), *BITS, *WIDE]])
        same_calls("device", function, [[each] for each in NO_NUMBERS])


def test_flags_by_a_table_of_ones_own() -> None:
    """Tables with numbers for keys cannot be sent to pyverbs as JSON."""
    assert flags_to_str(5, {1: "one", 2: "two", 4: "four"}) == "one four "
    assert str_from_flags(5, {1: "one", 2: "two", 4: "four"}) == "\n  one\n  four\n  "


@needs_pyverbs
def test_keys_are_counted_on() -> None:
    numbers = [*range(600), 0xFFFF_FFFF, 0xFFFF_FF00, 1 << 32, -1, "x", None, 1.5]
    same_calls("base", "inc_rkey", [[number] for number in numbers])


@needs_pyverbs
def test_a_device_describes_itself() -> None:
    names = ["name", "guid", "node_type", "transport_type", "index"]
    scripts = [
        [
            {"class": "device.Device", "given": [{"bytes": "lab0"}, guid, node, transport, index]},
            [["str"], ["repr"], *(["get", name] for name in names), ["set", "guid", 1]],
        ]
        for guid, node, transport, index in (
            (0, 1, 0, 0), (1 << 63, 0, 9, -1), (0x0200_00FF_FE00_0001, 6, 3, 7), ("x", 1, 1, 1),
        )
    ]  # fmt: skip
    scripts.append([{"class": "device.Device", "given": ["lab0", 1, 1, 1, 1]}, [["str"]]])
    scripts.append([{"class": "device.Device", "given": [1]}, []])
    ask = ["scripts", scripts]
    assert ours(ask) == real(ask)


@needs_pyverbs
def test_gids_of_entries() -> None:
    entries = [(0, 0), (0x80FE, 1 << 56), ((1 << 64) - 1, 1), (1, (1 << 64) - 1)]
    scripts = [
        [{"class": "device.GIDEntry", "given": [*pair, 3, 1, kind, 2]}, [["call", "gid_str", []]]]
        for pair in entries
        for kind in range(4)
    ]
    ask = ["scripts", scripts]
    assert ours(ask) == real(ask)


@needs_pyverbs
def test_masks_and_flags_of_a_queue_pair_to_be() -> None:
    calls = [
        ["call", function, [number]]
        for function in ("mask_to_str", "flags_to_str")
        for number in [*range(130), *BITS, None, "x"]
    ]
    ask = ["scripts", [[{"class": "qp.QPInitAttrEx"}, calls]]]
    assert ours(ask) == real(ask)


@needs_pyverbs
def test_a_context_needs_a_name() -> None:
    ask = ["scripts", [[{"class": "device.Context"}, []]]]
    assert ours(ask) == real(ask)


def test_input_of_a_query_cannot_be_made() -> None:
    """pyverbs 44 writes to an attribute that the class does not have."""
    with pytest.raises(AttributeError, match="ex_input"):
        QueryDeviceExInput(0)

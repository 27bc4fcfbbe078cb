"""What the C library and the lab exchange."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rdmalab.compat.c import wire
from rdmalab.compat.c.connections import HANDLERS as CM_HANDLERS
from rdmalab.compat.c.posts import HANDLERS
from rdmalab.hca.wr import Cqe
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import WCFlags, WCOpcode

_SPECIAL = {"hello", "open_async", "create_comp_channel", "cm_open_channel", "poll_cq",
            "cm_get_event", "share_page"}  # fmt: skip
LAYOUTS = [*wire.STRUCTURES.values(), *wire.PLAIN.values()]
BITS = {"u8": 8, "u16": 16, "u32": 32, "u64": 64, "gid": 128}


def values(layout: wire.Layout) -> st.SearchStrategy[dict[str, int]]:
    numbers = {
        field.name: st.integers(0, (1 << BITS[field.type]) - 1)
        for field in layout.fields
        if field.type in BITS
    }
    return st.fixed_dictionaries(numbers)


def test_each_word_has_one_that_carries_it_out() -> None:
    names = {word.name for word in wire.WORDS.values()}
    assert names == set(HANDLERS) | set(CM_HANDLERS) | _SPECIAL


@given(st.data())
def test_what_is_packed_is_unpacked(data: st.DataObject) -> None:
    layout = data.draw(st.sampled_from(LAYOUTS))
    flat = data.draw(values(layout))
    nested: dict[str, object] = {}
    for name, value in flat.items():
        *outer, last = name.split(".")
        into: dict[str, object] = nested
        for each in outer:
            into = into.setdefault(each, {})  # type: ignore[assignment]
        into[last] = value
    octets = layout.pack(nested)
    assert len(octets) == layout.size
    found = layout.unpack(octets)
    for name, value in flat.items():
        here: object = found
        for each in name.split("."):
            here = here[each]  # type: ignore[index]
        assert here == value


def test_the_header_has_a_structure_of_each_word() -> None:
    text = wire.header()
    for word in wire.WORDS.values():
        assert f"WORD_{word.name.upper()} = {word.number}," in text
        assert f"struct ask_{word.name} {{" in text


def test_completions_of_all_sizes_are_packed_alike() -> None:
    usual = Cqe(7, WCStatus.SUCCESS, WCOpcode.RECV, 64, 17, 3, False, wc_flags=WCFlags.WITH_IMM)
    for cqe in (usual, replace(usual, route=(1, 2, 3)), replace(usual, byte_len=1 << 40)):
        assert wire.pack_cqe(cqe) == wire.WC.pack(cqe)

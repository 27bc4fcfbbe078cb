import pytest

from rdmalab.lab import Lab
from rdmalab.spec.records import Kind
from rdmalab.workbench.memory import Window
from tests.labs import lab_of, misread, seen, well


@pytest.mark.parametrize(
    ("text", "octets"),
    [
        ('"hello"', b"hello"),
        ("hello", b"hello"),
        (r'"a\n\0\x41"', b"a\n\0A"),
        ('"é"', b"\xe9"),
        ('"\u2192"', b"?"),
        ('""', b""),
    ],
)
def test_text_is_written_and_read(text: str, octets: bytes) -> None:
    lab = lab_of(f"write A.mr0[8] {text}")
    assert well(lab, f"read A.mr0[8:{8 + len(octets)}]").value == octets
    assert well(lab, "read A.mr0[0:8]").value == bytes(8)


def test_a_byte_fills_the_range_and_not_its_neighbours() -> None:
    lab = lab_of("fill A.mr0[1:3] 0xaa")
    assert well(lab, "read A.mr0[0:4]").value == b"\0\xaa\xaa\0"
    well(lab, "fill A.mr0 -1")
    assert well(lab, "read A.mr0").value == b"\xff" * 4096


def test_what_the_application_writes_is_logged_with_its_place() -> None:
    lab = lab_of('write A.mr0[8] "abc"')
    addr = lab.session.world.nodes["A"].mrs.items[1].addr
    assert seen(lab, Kind.HOST_WROTE) == [(0, addr + 8, 3)]


@pytest.mark.parametrize(
    ("line", "under"),
    [
        ('write A.mr0[0:2] "hello"', '"hello"'),
        ('write A.mr0[4093] "hello"', '"hello"'),
        ('write A.mr0[0:8] "hello"', '"hello"'),
        ("write A.mr0[0:8] 41", "41"),
        ("fill A.mr0[0:4097]", "A.mr0[0:4097]"),
        ("read A.mr0[4097]", "A.mr0[4097]"),
        ("hexdump A.mr0[9:5000]", "A.mr0[9:5000]"),
        ("fill A.mr0 0x100", "0x100"),
        ("read A.qp0", "A.qp0"),
    ],
)
def test_what_does_not_fit_points_at_what_is_too_long(line: str, under: str) -> None:
    lab = lab_of()
    error = misread(lab, line)
    assert line[error.place.start : error.place.stop] == under
    assert error.hint


def test_a_digit_is_text_and_the_hint_names_the_way_to_write_a_number() -> None:
    error = misread(lab_of(), "write B.mr0[0:8] 41")
    assert error.message == "the text has 2 bytes, the range 8"
    assert error.hint.startswith("for the number 41, its lowest byte first, write ")
    octets = error.hint.rpartition(" ")[2]
    other = lab_of(f"write A.mr0[0:8] {octets}")
    assert other.look("A.mr0[0:8]") == (41).to_bytes(8, "little")
    assert "write 8 bytes" in misread(other, "write A.mr0[0:8] hello").hint
    add = "post_send A.qp0 opcode=ATOMIC_FETCH_AND_ADD sg=A.mr0[8:16] remote=B.mr0 compare_add=1"
    lab = lab_of("fill B.mr0[0:8] 0", "fill B.mr0[0:1] 41", add)
    lab.run()
    assert well(lab, "read B.mr0[0:8]").value == (42).to_bytes(8, "little")


def test_the_edges_are_inside() -> None:
    lab = lab_of('write A.mr0[4091:4096] "hello"')
    assert well(lab, "read A.mr0[4091]").value == b"hello"
    assert well(lab, "read A.mr0[4096]").value == b""


def test_read_and_fill_of_2_gib_are_refused() -> None:
    lab = lab_of("reg_mr A.big pd=A.pd0 length=2GiB access=0")
    for line in ("read A.big", "fill A.big 1"):
        assert misread(lab, line).message == "too many bytes at once"
    assert well(lab, "read A.big[2147483640]").value == bytes(8)
    assert lab.session.world.nodes["A"].memory.pages == {}


@pytest.mark.parametrize(
    ("where", "start", "stop"),
    [("", 0, 64), ("[16]", 16, 80), ("[0:200]", 0, 200), ("[4090]", 4090, 4096)],
)
def test_a_dump_is_a_window(where: str, start: int, stop: int) -> None:
    window = well(lab_of(), f"hexdump A.mr0{where}").value
    assert isinstance(window, Window)
    assert (window.start, window.stop) == (start, stop)


def test_memory_is_mapped_where_a_program_has_it_and_registered_there() -> None:
    lab = Lab()
    lab.do("map_memory A addr=0x7f0000001000 length=5000")
    lab.do("alloc_pd A.pd0")
    made = lab.do("reg_mr A.mr0 pd=A.pd0 addr=0x7f0000001010 length=6000 access=LOCAL_WRITE")[-1]
    assert not made.failed
    lab.do('poke A addr=0x7f0000001010 text="hello"')
    assert lab.do("read A.mr0[0:5]")[-1].value == b"hello"


def test_neighbouring_maps_are_one() -> None:
    lab = Lab()
    lab.do("map_memory A addr=0x7f0000001000 length=4096")
    lab.do("map_memory A addr=0x7f0000002000 length=4096")
    lab.do("alloc_pd A.pd0")
    assert not lab.do("reg_mr A.mr0 pd=A.pd0 addr=0x7f0000001000 length=8192 access=LOCAL_WRITE")[
        -1
    ].failed


def test_a_buffer_of_the_lab_lies_where_it_lay_before_a_map() -> None:
    plain, mapped = Lab(), Lab()
    mapped.do("map_memory A addr=0x7f0000001000 length=4096")
    for lab in (plain, mapped):
        lab.do("use rc_pair")
    assert plain.look("A.mr0.addr") == mapped.look("A.mr0.addr")


@pytest.mark.parametrize(("line", "text"), [
    ('poke A addr=0x10 text="x"', "node A has no memory at 0x10"),
    ("map_memory A addr=0xffffffffffffffff length=2", "beyond 2^64"),
])  # fmt: skip
def test_what_cannot_be_mapped_or_written_is_named(line: str, text: str) -> None:
    error = Lab().do(line)[-1].error
    assert error is not None
    assert text in error.message

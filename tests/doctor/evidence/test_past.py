"""What lay in memory before, and the command that puts it back."""

import pytest

from rdmalab.doctor.evidence import content
from rdmalab.lab import Lab
from tests.labs import everything, fingerprint, well


@pytest.fixture
def written() -> Lab:
    lab = Lab()
    for line in ("use rc_pair", 'write A.mr0[0:7] "\\"one\\x00\\xff\\n"', "fill A.mr0[0:8] 2"):
        well(lab, line)
    return lab


def addr(lab: Lab) -> int:
    return next(iter(lab.session.world.nodes["A"].mrs.items.values())).addr


def test_the_past_is_read_and_nothing_has_changed(written: Lab) -> None:
    before, event = everything(written), written.session.world.event
    assert (
        content.octets_then(written.session, event - 1, "A", (addr(written), 7)) == b'"one\0\xff\n'
    )
    assert content.octets_then(written.session, event - 2, "A", (addr(written), 2)) == b"\0\0"
    assert everything(written) == before
    assert fingerprint(written)


def test_the_command_puts_back_exactly_these_bytes(written: Lab) -> None:
    session, piece = written.session, (addr(written), 8)
    event = session.world.event
    for when in (event - 2, event - 1, event):
        wanted = content.octets_then(session, when, "A", piece)
        line = content.written_back(session, when, "A", piece)
        assert line is not None
        well(written, line)
        assert session.world.nodes["A"].memory.read(*piece) == wanted


def test_many_different_bytes_are_not_written_back(written: Lab) -> None:
    piece = (addr(written), content.MOST_BYTES + 1)
    assert content.written_back(written.session, written.session.world.event, "A", piece) is None
    assert content.words_for(written.session, "A", (1, 1)) is None
    assert content.words_for(written.session, "A", (addr(written) + 4, 4)) == "A.mr0[4:8]"

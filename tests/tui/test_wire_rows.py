"""The newest packets and timers: what is kept while time goes on, and what a jump takes away."""

from rdmalab.lab import Lab
from rdmalab.tui.wire_rows import WireRows
from rdmalab.views import ladder
from tests.labs import well

SEND = "post_send A.qp0 opcode=SEND sg=A.mr0[0:8] flags=SIGNALED"
WRITE = "post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:600] remote=B.mr0[0] flags=SIGNALED"


def polling() -> Lab:
    """A program polls for a SEND whose receive is missing."""
    lab = Lab()
    well(lab, "use rc_pair")
    lab.start("A.tx", [f"{SEND} wr_id=7", "poll A.cq0"])
    return lab


def texts(lab: Lab, rows: WireRows, last: int = 20) -> list[str]:
    return [row.text for row in rows.newest(lab.session, last)]


def expected(lab: Lab, last: int = 20) -> list[str]:
    found = ladder.rows(lab.session.world, lab.session.names, last=last)
    return [row.text for row in found]


def test_packets_stay_however_many_polls_come() -> None:
    lab, rows = polling(), WireRows(500)
    for _ in range(4):
        well(lab, "step 3000")
        assert texts(lab, rows) == expected(lab)
    assert len(texts(lab, rows)) >= 6


def test_only_the_newest_rows_are_given_and_more_if_they_are_asked_for() -> None:
    lab, rows = Lab(), WireRows(500)
    for line in ("use rc_pair", *[WRITE, "run"] * 4):
        well(lab, line)
    for last in (3, 10, 5):
        assert texts(lab, rows, last)[-last:] == expected(lab, last)


def test_a_packet_in_flight_is_read_again_until_it_has_arrived() -> None:
    lab, rows = Lab(), WireRows(500)
    for line in ("use rc_pair", WRITE):
        well(lab, line)
    fates = []
    for _ in range(8):
        well(lab, "step 1")
        fates.append([row.fate_text for row in rows.newest(lab.session, 20)])  # type: ignore[union-attr]
        now = ladder.rows(lab.session.world, lab.session.names, last=20)
        assert fates[-1] == [row.fate_text for row in now]  # type: ignore[union-attr]
    assert len({str(each) for each in fates}) > 2


def test_the_past_and_another_branch_have_their_own_packets() -> None:
    lab, rows = Lab(), WireRows(500)
    for line in ("use rc_pair", WRITE, "run", WRITE, "run"):
        well(lab, line)
    for line in ("back 3", "back 2", "forward", "goto 16", SEND, "run 3us", "switch main"):
        texts(lab, rows)
        lab.do(line)
        assert texts(lab, rows) == expected(lab), line


def test_another_session_begins_with_its_own_packets() -> None:
    lab, rows = polling(), WireRows(500)
    well(lab, "step 1000")
    assert texts(lab, rows)
    assert texts(Lab(), rows) == []

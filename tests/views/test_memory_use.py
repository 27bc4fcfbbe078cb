"""The bytes that were used last."""

import pytest

from rdmalab.lab import Lab
from rdmalab.spec.work import WROpcode
from rdmalab.views.memory_use import latest_use
from tests.pairs import Pair
from tests.views.looking import MR, PEER_MR, names_of

SEND = "post_send A.qp0 opcode=SEND sg=A.mr{mr}[0:8] flags=SIGNALED"


def lab(*lines: str) -> Lab:
    made = Lab()
    for line in ("use rc_pair", "use rc_pair", *lines):
        assert not made.do(line)[-1].failed, line
    return made


def used(made: Lab, node: str) -> str:
    use = latest_use(made.session.world, made.session.names, node)
    return f"{made.session.names.of(use.region)}[{use.start}]" if use else ""


def test_nothing_was_used_before_the_first_post() -> None:
    assert (used(lab(), "A"), used(lab(), "B")) == ("", "")
    assert used(Lab(), "A") == ""


@pytest.mark.parametrize(
    ("lines", "a", "b"),
    [
        (("post_recv B.qp0 sg=B.mr0[0:64]",), "", "B.mr0[0]"),
        (("post_recv B.qp0 sg=B.mr1[0:64]",), "", "B.mr1[0]"),
        ((SEND.format(mr=0),), "A.mr0[0]", ""),
        ((SEND.format(mr=0), SEND.format(mr=1)), "A.mr1[0]", ""),
        ((SEND.format(mr=0), 'write A.mr1[0:2] "hi"'), "A.mr1[0]", ""),
        (('write A.mr1[0:2] "hi"', SEND.format(mr=0)), "A.mr0[0]", ""),
        (('write A.mr1[70:72] "hi"',), "A.mr1[70]", ""),
        (("post_recv B.qp0 sg=B.mr0[256:320]",), "", "B.mr0[256]"),
        (("post_recv B.qp0 sg=B.mr1[0:64]", SEND.format(mr=0), "run"), "A.mr0[0]", "B.mr1[0]"),
        ((SEND.format(mr=0), 'write A.mr1[0:2] "hi"', "dereg_mr A.mr1"), "A.mr0[0]", ""),
    ],
)
def test_it_is_the_region_that_a_post_a_write_or_the_adapter_used_last(
    lines: tuple[str, ...], a: str, b: str
) -> None:
    made = lab(*lines)
    assert (used(made, "A"), used(made, "B")) == (a, b)


def test_the_peer_of_a_write_uses_the_region_of_the_rkey() -> None:
    pair = Pair()
    assert latest_use(pair.world, names_of(pair), "B") is None
    pair.a.issue(WROpcode.RDMA_WRITE, 8)
    pair.run()
    read, written = (latest_use(pair.world, names_of(pair), node) for node in ("A", "B"))
    assert read is not None
    assert written is not None
    assert (read.region, written.region) == (MR, PEER_MR)
    assert (read.start, read.event + 1) == (0, written.event)


def test_a_work_request_with_the_key_of_no_region_uses_none() -> None:
    pair = Pair()
    pair.a.post(pair.a.wr(WROpcode.SEND, sg=[pair.a.sge(0, 8, lkey=0xDEAD)]))
    assert latest_use(pair.world, names_of(pair), "A") is None


def test_it_looks_no_further_back_than_the_trace_is_read() -> None:
    pair = Pair()
    pair.a.issue(WROpcode.RDMA_WRITE, 8)
    pair.world.begin_event()
    pair.world.trace.record(1, "A", 0)  # type: ignore[arg-type]
    pair.world.trace.reach = 1
    assert latest_use(pair.world, names_of(pair), "A") is None
    pair.world.trace.reach = 0
    use = latest_use(pair.world, names_of(pair), "A")
    assert use is not None
    assert use.region == MR

"""An exception in the midst of anything: history returns to the moment before it."""

from typing import TYPE_CHECKING, Any

import pytest

from rdmalab.lab import Lab
from rdmalab.session import history
from rdmalab.session.history import History
from rdmalab.session.journal import Entry
from rdmalab.world.trace import Trace
from tests.labs import RECV, SEND, everything, lab_of

if TYPE_CHECKING:
    from collections.abc import Callable

AGAIN = "post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:900] flags=SIGNALED"
WRITE = 'write A.mr0[0:5] "hello"'


@pytest.fixture(params=[1_024, 5])
def _snapshots(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "EVENTS_APART", request.param)
    if request.param == 5:
        for name, value in (("RECENT", 4), ("OLD", 2), ("HOT", 2)):
            monkeypatch.setattr(history, name, value)


def raising_after(records: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing the record with this number, from now on, raises when it is written."""
    real: Callable[..., None] = Trace.record
    left = records

    def broken(*given: Any) -> None:
        nonlocal left
        real(*given)
        left -= 1
        if not left:
            raise ZeroDivisionError

    monkeypatch.setattr(Trace, "record", broken)


def undone(lab: Lab, line: str) -> None:
    """Do a line that raises, and go back to before it."""
    kept: History = lab.session.history
    point = kept.safe_point()
    with pytest.raises(ZeroDivisionError):
        lab.do(line)
    kept.undo_to(point)


def went_on(lab: Lab) -> Any:
    """All there is after going on, back, and on again."""
    for line in (RECV, AGAIN, "run", "back 3", "goto end", "poll_cq A.cq0"):
        lab.do(line)
    return everything(lab)


@pytest.mark.usefixtures("_snapshots")
@pytest.mark.parametrize("records", [1, 2, 3, 7])
@pytest.mark.parametrize(
    "line",
    ["post_send A.qp0 opcode=SEND sg=A.mr0[0:900]; run", "use srq_pair", "run", "step 4",
     'write A.mr0[0:5] "world"; fill B.mr0[0:9] 3; dereg_mr B.mr0; destroy_qp A.qp0',
     "modify_qp A.qp0 state=ERR; reset A.qp0"],
)  # fmt: skip
def test_safe_point_restores_the_world(
    line: str, records: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab, twin = (lab_of(WRITE, RECV, SEND, "run", RECV, AGAIN, "step 2") for _ in range(2))
    before = everything(lab)
    with monkeypatch.context() as patched:
        raising_after(records, patched)
        undone(lab, line)
    assert everything(lab) == before
    assert went_on(lab) == went_on(twin)


@pytest.mark.usefixtures("_snapshots")
def test_safe_point_in_the_past_stays_in_the_past(monkeypatch: pytest.MonkeyPatch) -> None:
    lab, twin = (lab_of(RECV, SEND, "run", RECV, AGAIN, "goto 18") for _ in range(2))
    for line, records in (("run", 2), ("alloc_pd A.pd9", 1), ("run; alloc_pd A.pd8", 8)):
        with monkeypatch.context() as patched:
            raising_after(records, patched)
            undone(lab, line)
        assert not lab.session.history.live
        assert everything(lab) == everything(twin)
    for each in (lab, twin):
        each.do("goto end")
    assert went_on(lab) == went_on(twin)


def test_a_branch_that_the_command_began_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = lab_of(RECV, SEND, "run", "goto 18")
    real = History.keep

    def broken(self: History, entry: Entry) -> str:
        real(self, entry)
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(History, "keep", broken)
        undone(lab, "alloc_pd A.pd9")
    assert list(lab.session.history.branches) == ["main"]
    assert lab.session.history.branch.name == "main"
    assert [reply.left for reply in lab.do("alloc_pd A.pd9")] == ["main"]

"""A question that is not asked after an event has the value that it had before the event."""

import enum
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.grammar.expressions import parse_expression
from rdmalab.lab import Lab, open_session
from rdmalab.scenario.loader import load
from rdmalab.scenario.runner import Runner
from rdmalab.vocabulary import VOCABULARY
from tests.each import a_twentieth, each
from tests.labs import BUSY, RECV, SEND, fingerprint, lab_of, trip
from tests.views.watching import unnoticed, values, watched

_FILES = {path.stem: path for path in sorted(Path("scenarios").glob("*/*.rdmalab.yaml"))}
_MOST = 120  # events of a scenario
_PROGRAMS = (
    "program A.tx lines={loop 3; post_send A.qp0 wr_id=9 opcode=SEND sg=A.mr0[0:1500] "
    "flags=SIGNALED; wait A.cq0.count > 0; poll_cq A.cq0 num_entries=4; end}",
    "program B.rx lines={loop; post_recv B.qp0 wr_id=8 sg=B.mr0[0:2048]; wait B.cq0.count > 0; "
    "poll_cq B.cq0 num_entries=4; end}",
)


@each("file", a_twentieth(_FILES))
def test_whatever_changes_is_noticed(file: str) -> None:
    runner = Runner(load(str(_FILES[file]), VOCABULARY), open_session)
    left, wrong = _MOST, list[str]()
    while not runner.over and left > 0:
        for reply in runner.replies():
            for _, missed in watched(runner.session, reply, values(runner.session)):
                wrong += missed
                left -= 1
                if left < 0:
                    break
    assert not wrong


# --------------------------------------------------------------------------- the same halts
def _busy(*more: str) -> Lab:
    return lab_of(*BUSY, *_PROGRAMS, *more)


def _always(lab: Lab) -> Lab:
    """A lab that asks every question after every event."""
    lab.session.touches = lambda _: True
    lab.session.world.programs.touches = None
    return lab


def _atoms_of(lab: Lab) -> Iterator[str]:
    """Comparisons with the values that this run has seen, each true at some moment of it."""
    reply = next(lab.replies("run"))
    for seen, _ in watched(lab.session, reply, values(lab.session)):
        for path, value in seen.items():
            if isinstance(value, enum.Enum):
                yield f"{path} == {value.name}"
            elif isinstance(value, bool):
                yield f"{path}" if value else f"not {path}"
            elif isinstance(value, int):
                yield f"{path} == {value}"
                yield f"{path} > {value}"


@cache
def _atoms() -> list[str]:
    return sorted(set(_atoms_of(_busy())))


_AWAITED = st.deferred(lambda: st.sampled_from([a for a in _atoms() if a.startswith("A.")]))
_ATOM = st.deferred(lambda: st.sampled_from(_atoms()))


def _questions(atom: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    joined = st.tuples(atom, st.sampled_from(["and", "or", "and not", "or not"]), atom)
    return atom | joined.map(lambda parts: f"({parts[0]}) {parts[1]} ({parts[2]})")


@given(_questions(_ATOM), st.sampled_from(["until {}", "break {}\nrun\nrun", "watch {}\nrun\nrun"]))
@settings(max_examples=30)
def test_a_run_halts_where_it_would_if_asked_after_every_event(question: str, way: str) -> None:
    lines = way.format(question).split("\n")
    assert _halts(_busy(), lines) == _halts(_always(_busy()), lines)


def _halts(lab: Lab, lines: list[str]) -> list[tuple[int, str]]:
    found = []
    for line in lines:
        for reply in lab.do(line):
            over = reply.travel.over if reply.travel is not None else str(reply.error)
            found.append((lab.session.world.event, over))
    return found


@given(_questions(_AWAITED), st.lists(st.integers(1, 60), max_size=3))
@settings(max_examples=30)
def test_a_program_goes_on_where_it_would_if_asked_after_every_event(
    question: str, stops: list[int]
) -> None:
    def played(lab: Lab) -> str:
        lab.do(f"program A.w lines={{wait {question}; post_send A.qp0 opcode=SEND}}")
        for events in stops:
            lab.do(f"step {events}")
            lab.do("back 7")
        lab.do("goto end")
        lab.do("run")
        return fingerprint(lab)

    assert played(_busy()) == played(_always(_busy()))


# --------------------------------------------------------------------------- what is not asked
@pytest.mark.parametrize(
    ("question", "most"),
    [
        ("A.cq0.count > 9", 3), ("A.qp0.sq.free > 999", 4), ("A.qp0.state == ERR", 2),
        ("wire.count(syndrome=RNR_NAK) > 9", 5), ("log.any(errno=ENOMEM)", 1),
        ("A.cq0.total(status=SUCCESS) > 9", 3), ("A.qp7.state == RTS or A.cq0.count > 9", 3),
        ("A.qp0.rnr_retry < 7", 2), ("A.qp0.sq.posted > 9", 3), ("wire.any(qp!=A.qp0.name)", 5),
    ],
)  # fmt: skip
def test_it_is_asked_only_after_events_that_concern_it(question: str, most: int) -> None:
    lab = lab_of(RECV, SEND)
    node, asked = parse_expression(question).node, 0
    for _ in range(lab_of(RECV, SEND).run().travel.events):  # type: ignore[union-attr]
        trip(lab, "step")
        asked += lab.session.touches(node)
    assert asked <= most
    assert lab.session.world.event > most


def test_an_event_of_another_branch_is_not_taken_for_this_one() -> None:
    """Two branches have events with equal numbers and other records."""
    lab = _busy()
    for line in ("step 8", "back 4", "step 4", "back 2", SEND.replace("wr_id=1", "wr_id=5")):
        lab.do(line)
    before = values(lab.session)
    for seen, missed in watched(lab.session, next(lab.replies("run")), before):
        assert seen
        assert not missed


def test_unnoticed_lists_changes_that_touches_missed() -> None:
    lab = lab_of(RECV, SEND)
    before = values(lab.session)
    lab.session.touches = lambda _: False
    trip(lab, "step")
    assert any("A.qp0" in line for line in unnoticed(lab.session, before, values(lab.session)))

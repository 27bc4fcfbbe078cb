"""The agenda: order, lazy timers, and that looking changes nothing."""

from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.hca.environment import Timer
from rdmalab.world.event_queue import NEVER, Door, Entry, EventQueue
from rdmalab.world.trace import Trace
from tests.each import examples
from tests.pairs import image

OWNERS = [("A", 1), ("A", 2), ("B", 1)]


class Clocks:
    """An agenda, and the timers of some queue pairs."""

    def __init__(self) -> None:
        self.agenda = EventQueue(Trace())
        self.timers = {owner: Timer(*owner) for owner in OWNERS}

    def arm(self, node: str, qpn: int, at_ns: int, cause: int) -> None:
        self.agenda.trace.first = cause + 1  # the newest record
        self.agenda.arm(self.timers[node, qpn], at_ns)

    def disarm(self, node: str, qpn: int) -> None:
        self.agenda.disarm(self.timers[node, qpn])

    def pop(self, until_ns: int = NEVER) -> Entry | None:
        """The next entry; of a timer, its number."""
        return with_number(self.agenda.pop(until_ns))


def with_number(entry: Entry | None) -> Entry | None:
    """A timer's entry as `plans` shows it."""
    if entry is None or not isinstance(entry[4], Timer):
        return entry
    return (*entry[:4], entry[4].qpn, entry[5])


def popped(agenda: EventQueue) -> list[tuple[int, Any]]:
    """What is left, in order: when, and the argument."""
    found = []
    while (entry := with_number(agenda.pop())) is not None:
        found.append((entry[0], entry[4]))
    return found


def test_events_of_one_time_come_in_the_order_of_filing() -> None:
    agenda = EventQueue(Trace())
    for at_ns, name in ((5, "x"), (3, "y"), (5, "a"), (3, "b"), (5, "m")):
        agenda.file(at_ns, Door.ARRIVAL, "A", name, -1)
    assert popped(agenda) == [(3, "y"), (3, "b"), (5, "x"), (5, "a"), (5, "m")]


def test_arguments_are_never_compared() -> None:
    agenda = EventQueue(Trace())
    for argument in (object(), object(), None):
        agenda.file(1, Door.ARRIVAL, "A", argument, -1)
    assert len(popped(agenda)) == 3


def test_a_timer_fires_once_at_its_last_time_with_its_cause() -> None:
    for wishes in ([10], [10, 30], [30, 10], [30, 10, 30], [10, 30, 20], [10, 10]):
        clocks = Clocks()
        for cause, at_ns in enumerate(wishes):
            clocks.arm("A", 1, at_ns, cause)
        entry = clocks.pop()
        assert entry
        assert (entry[0], entry[2:]) == (wishes[-1], (Door.TIMER, "A", 1, len(wishes) - 1))
        assert clocks.pop() is None


def test_a_disarmed_timer_does_not_fire_and_may_be_armed_again() -> None:
    clocks = Clocks()
    clocks.arm("A", 1, 10, 0)
    clocks.disarm("A", 1)
    clocks.disarm("A", 2)
    assert clocks.pop() is None
    assert clocks.agenda.next_ns() is None
    clocks.arm("A", 1, 20, 1)
    assert popped(clocks.agenda) == [(20, 1)]
    clocks.arm("A", 1, 5, 2)
    assert popped(clocks.agenda) == [(5, 1)]


def test_timers_of_two_owners_are_independent() -> None:
    clocks = Clocks()
    for at_ns, (node, qpn) in enumerate(OWNERS, 1):
        clocks.arm(node, qpn, at_ns, -1)
    clocks.disarm("A", 2)
    clocks.arm("A", 1, 9, -1)
    assert popped(clocks.agenda) == [(3, 1), (9, 1)]


# --------------------------------------------------------------------------- against a model
times = st.integers(0, 12)
file_steps = st.tuples(st.just("file"), times)
arm_steps = st.tuples(st.just("arm"), times, st.sampled_from(OWNERS))
disarm_steps = st.tuples(st.just("disarm"), st.sampled_from(OWNERS))
pop_steps = st.tuples(st.just("pop"), st.none() | times)
step_lists = st.lists(st.one_of(file_steps, arm_steps, disarm_steps, pop_steps), max_size=30)


class Model:
    """What is to happen: entries by sequence, and at most one time an owner."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, int]] = []
        self.timers: dict[tuple[str, int], int] = {}

    def due(self, until_ns: int | None) -> int | None:
        times = [*(at for at, _ in self.entries), *self.timers.values()]
        first = min(times, default=None)
        return None if first is None or (until_ns is not None and first > until_ns) else first

    def remove(self, entry: tuple[Any, ...]) -> None:
        """It must have been there, and nothing filed before it at the same time."""
        at_ns, _, door, node, argument, _ = entry
        if door is Door.TIMER:
            assert self.timers.pop((node, argument)) == at_ns
        else:
            assert (at_ns, argument) == min(self.entries)
            self.entries.remove((at_ns, argument))


def carry_out(clocks: Clocks, number: int, step: tuple[Any, ...]) -> Any:
    match step:
        case ("file", at_ns):
            return clocks.agenda.file(at_ns, Door.ARRIVAL, "A", number, -1)
        case ("arm", at_ns, (node, qpn)):
            return clocks.arm(node, qpn, at_ns, number)
        case ("disarm", (node, qpn)):
            return clocks.disarm(node, qpn)
        case ("pop", None):
            return clocks.pop()
        case ("pop", until_ns):
            return clocks.pop(until_ns)


@settings(max_examples=examples(300), derandomize=True)
@given(step_lists)
def test_the_event_queue_does_what_a_list_does(steps: list[tuple[Any, ...]]) -> None:
    clocks, model = Clocks(), Model()
    for number, step in enumerate(steps):
        assert clocks.agenda.next_ns() == model.due(None)
        before = image(clocks)
        entry = carry_out(clocks, number, step)
        match step:
            case ("file", at_ns):
                model.entries.append((at_ns, number))
            case ("arm", at_ns, owner):
                model.timers[owner] = at_ns
            case ("disarm", owner):
                model.timers.pop(owner, None)
            case ("pop", until_ns) if entry is None:
                assert model.due(until_ns) is None
                assert image(clocks) == before  # looking changes nothing
            case ("pop", until_ns):
                assert entry[0] == model.due(until_ns)
                model.remove(entry)


@settings(max_examples=examples(300), derandomize=True)
@given(step_lists, st.lists(times))
def test_reading_the_event_queue_changes_no_order_and_no_cause(
    steps: list[tuple[Any, ...]], looks: list[int]
) -> None:
    """The same steps, with and without vain looks, give the same entries to the last field."""
    plain, watched = Clocks(), Clocks()
    for number, step in enumerate(steps):
        assert carry_out(plain, number, step) == carry_out(watched, number, step)
        for until_ns in looks:
            if deepcopy(watched).pop(until_ns) is None:
                watched.pop(until_ns)
    assert image(plain) == image(watched)


@given(st.lists(times, min_size=1, max_size=20))
def test_the_cause_is_always_that_of_the_newest_arming(wishes: list[int]) -> None:
    clocks = Clocks()
    for cause, at_ns in enumerate(wishes):
        clocks.arm("A", 1, at_ns, cause)
        clocks.pop(at_ns - 1)
    entry = clocks.pop()
    assert entry
    assert (entry[0], entry[5]) == (wishes[-1], len(wishes) - 1)


def test_expired_timers_leave_no_entry_in_the_event_queue() -> None:
    """Queue pairs come and go for ever."""
    agenda = EventQueue(Trace())
    for qpn in range(50):
        timer = Timer("A", qpn)
        agenda.arm(timer, 10 + qpn)
        agenda.arm(timer, 5 + qpn)
        agenda.disarm(timer)
    agenda.arm(Timer("B", 1), 100)
    assert popped(agenda) == [(100, 1)]
    assert agenda.timers == []


def test_rearming_a_timer_earlier_leaves_one_entry_at_most() -> None:
    """A superseded entry goes when its time comes, even if the timer is armed again by then."""
    agenda, timer = EventQueue(Trace()), Timer("A", 1)
    for now_ns in range(0, 500, 10):
        agenda.arm(timer, now_ns + 30)
        agenda.arm(timer, now_ns + 10)
        assert agenda.pop(now_ns + 10)
    assert len(agenda.timers) < 5


def test_an_arrival_may_come_earlier_but_not_later_and_only_where_it_was_going() -> None:
    agenda = EventQueue(Trace())
    agenda.file(500, Door.ARRIVAL, "B", "held", 7)
    agenda.file(300, Door.ARRIVAL, "B", "passing", 8)
    agenda.file(500, Door.PORT, "B", None, 7)
    agenda.file(500, Door.ARRIVAL, "C", "other", 7)
    assert agenda.bring_forward(7, "B", 300)
    assert not agenda.bring_forward(7, "B", 400)
    assert not agenda.bring_forward(6, "B", 0)
    order = [entry[4] for entry in iter(agenda.pop, None)]
    assert order == ["passing", "held", None, "other"]

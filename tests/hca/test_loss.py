"""Whatever the cable does: every message completes once, in order, with success (style.md 14)."""

from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from rdmalab.spec.profiles import STRICT
from tests.cables import Wild
from tests.each import examples
from tests.pairs import Pair

from .traffic import CAPACITY, MOST, Message, Side, check_idle, messages

PATIENT = replace(STRICT, name="patient", retry_cnt_7_is_infinite=True)
SOON_NS = 30_000

losses = st.one_of(
    st.sets(st.integers(1, 200), max_size=60),
    st.integers(0, 80).map(lambda count: set(range(1, count + 1))),
    st.lists(st.booleans(), max_size=100).map(
        lambda bits: {nth for nth, lost in enumerate(bits, 1) if lost}
    ),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """Both sides' traffic, how many receives are there in time, and the connection."""

    asked: tuple[list[Message], list[Message]]
    receives: int
    rd_atomic: int
    psn: int

    def pair(self) -> Pair:
        depth = self.rd_atomic
        return Pair(
            profile=PATIENT, cap=CAPACITY, psn=self.psn, rd_atomic=depth, dest_rd_atomic=depth
        )

    def carry_out(self, pair: Pair) -> None:
        sides = [Side(pair.a, self.asked[0]), Side(pair.b, self.asked[1])]
        for side in sides:
            requests = side.prepare()
            side.post_receives(0, self.receives)
            side.end.post(*requests)
        pair.run(until_ns=SOON_NS)
        for side in sides:
            side.post_receives(self.receives, MOST)
        pair.run()
        for side in sides:
            side.check()
        check_idle(pair)


plans = st.builds(
    Plan,
    st.tuples(messages, messages),
    receives=st.integers(0, MOST),
    rd_atomic=st.integers(1, 4),
    psn=st.sampled_from([0, 0xFFFFFF - 30]),
)


@settings(max_examples=examples(200), derandomize=True)
@given(plans, losses, losses)
def test_rc_recovers_from_any_finite_loss(plan: Plan, lost_a: set[int], lost_b: set[int]) -> None:
    pair = plan.pair()
    pair.lose("A", *lost_a)
    pair.lose("B", *lost_b)
    plan.carry_out(pair)


# --------------------------------------------------------------------------- worse cables
delays_ns = st.sampled_from([0, 10, 100, 1_000, 5_000, 100_000])
wild_fates = st.lists(st.lists(delays_ns, max_size=3), max_size=300)


@settings(max_examples=examples(200), derandomize=True)
@given(plans, wild_fates)
def test_rc_executes_once_with_duplicates_and_reordering(
    plan: Plan, fates: list[list[int]]
) -> None:
    pair = plan.pair()
    pair.world.network.cable = Wild(iter(fates))
    plan.carry_out(pair)

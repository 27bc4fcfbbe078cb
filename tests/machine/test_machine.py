"""All words, in any order, on two nodes, with lost packets: the laws hold (`laws.py`)."""

import contextlib
from random import Random
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from rdmalab.command import Invocation, New, NotUnderstood, Noun, Ref
from rdmalab.hca.qp import QueuePair
from rdmalab.hca.send_checks import check_opcode
from rdmalab.hca.wr import SendWR
from rdmalab.lab import Lab
from rdmalab.session.session import CommandOutcome
from rdmalab.spec.states import QPState, QPType
from rdmalab.spec.work import SendFlags, WROpcode
from rdmalab.vocabulary import GROUPS, VOCABULARY
from tests.each import examples
from tests.machine.laws import Laws
from tests.machine.saying import Nothing, Saying
from tests.pairs import QKEY, image

MANY_EVENTS = 400
MANY_QPS = 8
CHANCE = st.randoms(use_true_random=True)
VERBS = [
    command.name
    for group, commands in GROUPS.items()
    if group.startswith("verbs")
    for command in commands
]
TYPES = (QPType.RC, QPType.RC, QPType.UC, QPType.UD)
# What may go wrong and still leave something behind: the requests before the bad one.
PREFIX = ("post_send", "post_recv", "post_srq_recv")


class Playground(RuleBasedStateMachine):
    """A person who tries everything."""

    def __init__(self) -> None:
        super().__init__()
        self.lab = Lab()
        self.session = self.lab.session
        self.session.max_events = MANY_EVENTS
        self.world = self.session.world
        self.laws = Laws(self.world)

    @initialize(types=st.lists(st.sampled_from(TYPES), min_size=1, max_size=2))
    def something_on_each_node(self, types: list[QPType]) -> None:
        for node in ("A", "B"):
            for line in (
                f"alloc_pd {node}.pd0",
                f"reg_mr {node}.mr0 pd={node}.pd0 length=4096 access=0xf",
                f"create_cq {node}.cq0 cqe=12",
            ):
                assert not self.lab.do(line)[-1].failed
        for node in ("A", "B"):
            self.a_way_to_the_other(node)
        for qp_type in types:
            self._pair(qp_type, rnr_retry=1, retry_cnt=1)

    def say(self, name: str, arguments: dict[str, Any]) -> CommandOutcome | None:
        """Carry it out; a command that is refused must leave the world as it was."""
        self.world.begin_event()  # adapters look at the clock when something happens
        self.world.cancel_event()
        before = image(self.world)
        try:
            outcome = self.session.perform(Invocation(name, arguments))
        except NotUnderstood:
            return None
        refusal = outcome.refusal
        if refusal is not None:
            assert refusal.errno > 0
            assert refusal.message
            if not (name in PREFIX and refusal.bad_wr) and not refusal.left:
                assert image(self.world) == before, f"{name} was refused and changed something"
        self.laws.check()
        return outcome

    # ------------------------------------------------------------------ anything at all
    @rule(chance=CHANCE, count=st.integers(1, 8))
    def any_verbs(self, chance: Random, count: int) -> None:
        for _ in range(count):
            name = chance.choice(VERBS)
            with contextlib.suppress(Nothing):
                self.say(name, Saying(self.session, chance).arguments(VOCABULARY[name], {}))

    @rule(chance=CHANCE)
    def a_program(self, chance: Random) -> None:
        """A thread that goes on whenever time does, until it ends or blocks."""
        self.say("program", Saying(self.session, chance).arguments(VOCABULARY["program"], {}))

    # ------------------------------------------------------------------ what makes things happen
    @rule(
        qp_type=st.sampled_from(TYPES),
        rnr_retry=st.sampled_from((0, 1, 7)),
        retry_cnt=st.sampled_from((0, 1, 7)),
    )
    def a_pair(self, qp_type: QPType, rnr_retry: int, retry_cnt: int) -> None:
        if len(self.session.names.all(Noun.QP)) <= MANY_QPS:
            self._pair(qp_type, rnr_retry=rnr_retry, retry_cnt=retry_cnt)

    @rule(form=st.sampled_from(("srq_pair", "xrc_pair", "raw_pair")))
    def a_short_form(self, form: str) -> None:
        """What shares receives, and what sends frames."""
        if len(self.session.names.all(Noun.QP)) <= MANY_QPS:
            self.lab.do(f"use {form}")
            self.laws.check()

    @rule(chance=CHANCE)
    def shared_receives(self, chance: Random) -> None:
        names = self.session.names.all(Noun.SRQ)
        for name in names[:2]:
            node, _, srq = name.partition(".")
            length = chance.choice((0, 8, 64, 800))
            wrs = [{"wr_id": 2, "sg": [Ref(node, "mr0", 1024, 1024 + length)]}]
            self.say("post_srq_recv", {"srq": Ref(node, srq), "wr": wrs * chance.randint(1, 3)})

    def _pair(self, qp_type: QPType, **options: int) -> None:
        """Two queue pairs, and the way up, if nobody has destroyed what they need."""
        made = []
        for node in ("A", "B"):
            number = len(self.session.names.thing_of)
            init = {"qp_type": qp_type, "send_cq": Ref(node, "cq0"), "recv_cq": Ref(node, "cq0")}
            init["cap"] = {"max_send_wr": 4, "max_recv_wr": 4}
            arguments = {"qp": New(Noun.QP, node, f"qp{number}"), "pd": Ref(node, "pd0")}
            outcome = self.say("create_qp", {**arguments, "init_attr": init})
            if outcome is None or outcome.refusal is not None:
                return
            made.append(f"{node}.qp{number}")
        text = " ".join(f"{key}={value}" for key, value in options.items())
        line = f"connect {made[0]} {made[1]} mtu=256 max_rd_atomic=2 max_dest_rd_atomic=2 {text}"
        for _ in self.lab.do(line):
            self.laws.check()

    @rule(chance=CHANCE)
    def work(self, chance: Random) -> None:
        """Receives and sends that mostly make sense, and some time for them."""
        for _ in range(chance.randint(1, 4)):
            self._receive(chance)
            self._send(chance)
        self.time(chance.randint(0, 40))
        self.poll(chance.choice("AB"), chance.randint(1, 20))

    def _send(self, chance: Random) -> None:
        """An opcode of the type, a destination that exists."""
        names = self._living_qps()
        if not names:
            return
        node, _, name = chance.choice(names).partition(".")
        qp = self.world.find(self.session.names.thing_of[f"{node}.{name}"], QueuePair)
        other, hca = "B" if node == "A" else "A", self.world.nodes[node]
        opcodes = [o for o in WROpcode if check_opcode(hca, qp, SendWR(o), 0) is None]
        wrs = []
        for _ in range(chance.randint(1, 3)):
            wr: dict[str, Any] = {"opcode": chance.choice(opcodes or [WROpcode.SEND])}
            wr["wr_id"] = chance.randrange(10)
            atomic = "ATOMIC" in wr["opcode"].name
            wr["sg"] = [Ref(node, "mr0", 0, 8 if atomic else chance.choice((0, 8, 200, 700)))]
            wr["remote"] = Ref(other, "mr0", 64, 80)
            wr["flags"] = SendFlags(chance.choice((0, 2, 2, 2, 6, 3, 10)))
            if qp.transport.addressed:
                handles = self.session.names.all(Noun.AH)
                handle = chance.choice([h for h in handles if h.startswith(node)] or ["A.ah9"])
                wr["ah"] = Ref(handle[0], handle[2:])
                wr["remote_qkey"] = QKEY
                wr["remote_qpn"] = chance.choice((0x11, 0x12, 0x13, 0xFFFFFF))
            wrs.append(wr)
        self.say("post_send", {"qp": Ref(node, name), "wr": wrs})

    def _receive(self, chance: Random) -> None:
        names = self._living_qps()
        if names:
            node, _, name = chance.choice(names).partition(".")
            length = chance.choice((0, 8, 64, 800, 800))
            wr = [{"wr_id": 1, "sg": [Ref(node, "mr0", 1024, 1024 + length)]}]
            self.say("post_recv", {"qp": Ref(node, name), "wr": wr})

    def _living_qps(self) -> list[str]:
        alive = (QPState.INIT, QPState.RTR, QPState.RTS, QPState.SQD, QPState.SQE)
        return [
            self.session.names.of(thing)
            for thing in map(self.session.names.thing_of.get, self.session.names.all(Noun.QP))
            if thing is not None and self.world.find(thing, QueuePair).state in alive
        ]

    @rule(node=st.sampled_from("AB"), entries=st.integers(1, 20))
    def poll(self, node: str, entries: int) -> None:
        with contextlib.suppress(NotUnderstood):
            self.say("poll_cq", {"cq": Ref(node, "cq0"), "num_entries": entries})

    @rule(node=st.sampled_from("AB"))
    def a_way_to_the_other(self, node: str) -> None:
        number = len(self.session.names.all(Noun.AH))
        to = Ref("B" if node == "A" else "A")
        new = New(Noun.AH, node, f"ah{number}")
        self.say("create_ah", {"ah": new, "pd": Ref(node, "pd0"), "attr": {"to": to}})

    @rule(
        source=st.sampled_from("AB"),
        nth=st.integers(1, 4),
        how=st.sampled_from(("drop", "drop", "corrupt")),
    )
    def lose(self, source: str, nth: int, how: str) -> None:
        target = "B" if source == "A" else "A"
        self.lab.do(f"fault {how} {source}->{target} nth={nth}")

    @rule(events=st.integers(1, 60))
    def time(self, events: int) -> None:
        for _ in range(events):
            if not self.world.run(1):
                break
            self.laws.check()

    @invariant()
    def it_can_be_shown(self) -> None:
        assert not self.lab.do("show")[-1].failed


TestPlayground = Playground.TestCase
TestPlayground.settings = settings(
    max_examples=examples(60),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

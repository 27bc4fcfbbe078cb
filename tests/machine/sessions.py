"""Sessions of anything at all: words with arguments out of thin air, and time between them."""

import contextlib
from random import Random

from rdmalab.command import Invocation, NotUnderstood
from rdmalab.lab import Lab
from rdmalab.vocabulary import GROUPS, VOCABULARY
from tests.labs import BUSY
from tests.machine.saying import Nothing, Saying

_SOON = "rnr_retry=1 retry_cnt=1"
PAIRS = (
    f"rc_pair {_SOON}",
    "uc_pair",
    "ud_pair",
    f"srq_pair {_SOON}",
    f"xrc_pair {_SOON}",
    "raw_pair",
    "rc_pair rnr_retry=7 min_rnr_timer=1",
)
_WORDS = [
    command.name
    for group, commands in GROUPS.items()
    if not group.startswith(("verbs: device",))
    for command in commands
    if command.changes_world and command.name != "program"
]
_TRAFFIC = ("post_send", "post_recv", "post_srq_recv", "poll_cq", "write", "fault", "modify_qp")
_TIMES = ("step", "step 5", "step packet", "run 3us", "run 700us", "step 60")
# What cannot be drawn word by word, or hardly ever makes sense then.
_LINES = (
    "program A.tx lines={loop 3; post_send A.qp0 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED; sleep "
    "2us; poll_cq A.cq0; end}",
    "program B.rx pace=700ns lines={loop; post_recv B.qp0 sg=B.mr0[0:64]; sleep 1us; end}",
    "stop A.tx",
    "fault drop A->B p=20%",
    "fault duplicate A->B after=1us every=2",
    "fault delay B->A 3us nth=1",
    "fault reorder A->B behind=1 nth=2",
    "fault mark A->B",
    "fault rate A->B 1Gbps",
    "fault clear",
    "link latency=3us",
)
MANY_EVENTS = 300


def random_lab(chance: Random, profile: str = "strict", words: int = 30) -> Lab:
    """A lab in which much was said, some of it refused, and time went on in between."""
    lab = Lab(profile=profile, seed=chance.randrange(2**32))
    lab.session.max_events = MANY_EVENTS
    for _ in range(chance.randint(1, 2)):
        lab.do(f"use {chance.choice(PAIRS)}")
    for line in BUSY if chance.random() < 0.5 else ():
        lab.do(line)
    for _ in range(chance.randint(0, words)):
        say_something(lab, chance)
    return lab


def say_something(lab: Lab, chance: Random) -> None:
    kind = chance.random()
    if kind < 0.3:
        lab.do(chance.choice(_TIMES))
        return
    if kind < 0.4:
        lab.do(chance.choice(_LINES))
        return
    name = chance.choice(_TRAFFIC if kind < 0.75 else _WORDS)
    with contextlib.suppress(Nothing, NotUnderstood):
        arguments = Saying(lab.session, chance).arguments(VOCABULARY[name], {})
        lab.session.perform(Invocation(name, arguments))

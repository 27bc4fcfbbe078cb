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
    if command.changes_world
]
_TRAFFIC = ("post_send", "post_recv", "post_srq_recv", "poll_cq", "write", "fault", "modify_qp")
_TIMES = ("step", "step 5", "step packet", "run 3us", "run 700us", "step 60")
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
    name = chance.choice(_TRAFFIC if kind < 0.7 else _WORDS)
    with contextlib.suppress(Nothing, NotUnderstood):
        arguments = Saying(lab.session, chance).arguments(VOCABULARY[name], {})
        lab.session.perform(Invocation(name, arguments))

"""The lab: a session with the vocabulary and the views, for every face.

from rdmalab import Lab
lab = Lab()
lab.do("use rc_pair")
lab.do("post_send A.qp0 opcode=SEND sg=A.mr0[0:64]")
lab.run()
lab.look("A.cq0.count")
"""

import gc
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from rdmalab.command import Noun
from rdmalab.grammar.answers import evaluate
from rdmalab.grammar.expressions import parse_expression
from rdmalab.session.checkpoints import event_of_mark
from rdmalab.session.lines import Reply, replies
from rdmalab.session.session import Session
from rdmalab.spec.profiles import PROFILES, Profile
from rdmalab.views import fmt
from rdmalab.views.query import QueryContext, Reads
from rdmalab.views.query_types import check_types, nouns_by_prefix
from rdmalab.views.warnings import warnings
from rdmalab.vocabulary import VOCABULARY
from rdmalab.world.world import World

if TYPE_CHECKING:
    from rdmalab.export.ladder_svg import Ladder

_NODES = ("A", "B")
_MOST_DRAWN = 400  # records


@cache
def tune_garbage_collection() -> None:
    """Run the garbage collector less often; only the first call in a process changes anything.

    A trace is many small tuples that live long and form no cycles. Measured: with the default
    thresholds the collector takes a third of a long run. What is loaded at the first call is never
    visited again. `gc.get_freeze_count` counts all frozen objects one by one: 12 ms a million.
    """
    gc.set_threshold(50_000, 20, 100)
    if not gc.get_freeze_count():
        gc.freeze()


class Lab:
    """A lab with nodes, a cable, and all commands.

    nodes: name → device profile, by name or as a Profile. seed: random seed.
    default_node: node of names without one, so that `qp0` means `A.qp0`.
    """

    def __init__(
        self, nodes: Mapping[str, str | Profile] | None = None, *,
        profile: str | Profile = "strict", seed: int = 0, default_node: str = "A",
    ) -> None:  # fmt: skip
        chosen = nodes or dict.fromkeys(_NODES, profile)
        self.profiles = {n: PROFILES[p] if isinstance(p, str) else p for n, p in chosen.items()}
        self.seed = seed
        tune_garbage_collection()
        self.session = open_session(self.profiles, seed=seed, default_node=default_node)
        self.all_replies: list[Reply] = []

    def empty(self) -> Session:
        """A new session with the devices and the seed of this lab."""
        node = self.session.default_node
        node = node if node in self.profiles else next(iter(self.profiles))
        return open_session(self.profiles, seed=self.seed, default_node=node)

    def replies(self, line: str, *, file: bool = False) -> Iterator[Reply]:
        """Run a line; the caller must finish each reply's travel before the next reply."""
        for reply in replies(self.session, line, file=file, now=lambda: self.session):
            if reply.error is not None and not file:
                from rdmalab.workbench.help_pages import meant

                reply.error.hint = meant(self.session, reply.error) or reply.error.hint
            self.all_replies.append(reply)
            yield reply

    def do(self, line: str) -> list[Reply]:
        """Run a line, and finish its runs."""
        done = []
        for reply in self.replies(line):
            if reply.travel is not None:
                reply.travel.finish()
            done.append(reply)
        return done

    def start(self, name: str, lines: Sequence[str] | str, *, pace: str = "") -> Reply:
        """Start a program: `start("A.tx", ["post_send A.qp0 …", "poll A.cq0"], pace="50ns")`."""
        text = lines if isinstance(lines, str) else "\n".join(lines)
        chosen = f" pace={pace}" if pace else ""
        return self.do(f"program {name}{chosen} lines={{\n{text}\n}}")[-1]

    def run(self, until: str | None = None) -> Reply:
        """Run until idle, or until a condition is true."""
        return self.do("run" if until is None else f"until {until}")[-1]

    def warnings(self, reply: Reply) -> list[str]:
        """Warnings about a reply, such as where devices and documents differ.

        reply: the newest one; for older ones only what the current state shows. [] if none.
        """
        return warnings(self.session, reply)

    def ladder(self, last: int | None = None) -> "Ladder":
        """A drawing of the packets, which Jupyter shows; as text it has a line for each fact.

        last: only the newest records, so many; None: all. Of more than 500 packets, arrivals and
        remarks some in the middle are left out.
        """
        from rdmalab.export.ladder_plan import WHOLE
        from rdmalab.export.ladder_svg import ladder

        world, names = self.session.world, self.session.names
        first = 0 if last is None else max(0, len(world.trace.records) - last)
        return ladder(world, names, first, WHOLE)

    def _repr_html_(self) -> str:
        """HTML for Jupyter: the moment, the latest reply that failed, and the ladder."""
        from html import escape

        from rdmalab.guide.svg import element

        world = self.session.world
        head = f"event {world.event}, {fmt.clock(world.now_ns)}" if world.event >= 0 else "no event"
        latest = self.all_replies[-1] if self.all_replies else None
        wrong = ""
        if latest is not None and latest.failed:
            why = latest.refusal.message if latest.refusal else str(latest.error or latest.bug)
            wrong = element("p", {}, escape(f"{latest.text}: {why}", quote=False))
        drawing = self.ladder(_MOST_DRAWN)
        return element("div", {}, element("p", {}, f"rdmalab, {head}"), wrong, drawing.svg)

    def look(self, question: str) -> Any:
        """The value of an expression: `A.cq0.count`, `wire.count(opcode=SEND_ONLY)`.

        Raises NotUnderstood if it has no value here.
        """
        asked = parse_expression(question, self.session.default_node)
        if self.session.refuse_senseless is not None:
            self.session.refuse_senseless(asked.node)
        return self.session.ask(asked.node)


def open_session(
    profiles: Mapping[str, Profile], *, seed: int = 0, default_node: str = ""
) -> Session:
    """A new session that can evaluate expressions."""
    world = World(dict(profiles), seed=seed)
    session = Session(world, VOCABULARY, seed, default_node=default_node)

    def nouns(name: str) -> Collection[Noun]:
        thing = session.names.find(name)
        return nouns_by_prefix(name) if thing is None else [thing.noun]

    def why(what: list[object], keys: dict[str, object]) -> object:
        from rdmalab.doctor.consultation import cause

        return cause(session, what, keys)

    asker = QueryContext(
        world, session.names, {"why": why}, lambda mark: event_of_mark(session, mark)
    )
    session.answer = lambda node: evaluate(node, asker)
    session.refuse_senseless = lambda node: check_types(node, nouns)
    session.touches = world.programs.touches = Reads(world, session.names).may_change
    session.open_copy = lambda: open_session(profiles, seed=seed, default_node=default_node)
    return session

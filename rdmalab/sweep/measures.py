"""Measures at the end of a point: built-in ones, and expressions of the prompt.

Built-in measures count requests that completed with SUCCESS after the setup, in virtual time from
the end of the setup to the end of the last step.
"""

import enum
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from rdmalab.command import NotUnderstood, Noun, Thing
from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.hints import quoted, suggest
from rdmalab.grammar.nodes import Path
from rdmalab.scenario.parameters import fill
from rdmalab.scenario.runner import Runner
from rdmalab.session.session import Session
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind
from rdmalab.spec.row import dataclass
from rdmalab.spec.statuses import WCStatus
from rdmalab.spec.work import Local
from rdmalab.views.query_fields import FACTS
from rdmalab.world.relations import find_qp, peer_node


@dataclass(frozen=True, slots=True)
class MeasuredRequest:
    """One completed request of the queue pair `number` of `node`.

    octets: of its payload. local: whether its node read or wrote them. latency_ns: from its post
    to its completion; None if it was posted before.
    """

    node: str
    number: int
    octets: int
    local: Local
    latency_ns: int | None


def requests(session: Session, first_record: int) -> Iterator[MeasuredRequest]:
    """Those that completed since a record, in order."""
    posted: dict[tuple[str, int, int], int] = {}
    for record in islice(session.world.trace.records, first_record, None):
        kind = rec.kind_of(record)
        if kind is Kind.SEND_POSTED:
            posted[(*rec.place_of(record), rec.send_wqe_of(record).serial)] = rec.at_ns_of(record)
        elif kind is Kind.WQE_COMPLETED:
            wqe, (node, number) = rec.send_wqe_of(record), rec.place_of(record)
            at_ns = posted.pop((node, number, wqe.serial), None)
            if rec.status_of(record) is WCStatus.SUCCESS:
                latency_ns = None if at_ns is None else rec.at_ns_of(record) - at_ns
                local = Local.NONE if wqe.work is None else wqe.work.local
                yield MeasuredRequest(node, number, wqe.length, local, latency_ns)


def peer(session: Session, node: str, number: int) -> str:
    """The node that the payload of a queue pair goes to or comes from.

    Raises NotUnderstood if the queue pair does not exist any more, and if SUCCESS does not mean
    that the peer has the payload.
    """
    name = session.names.of(Thing(Noun.QP, node, number))
    qp = find_qp(session.world, node, number)
    if qp is None:
        raise NotUnderstood(f"{name} was destroyed: the direction of its requests is not known")
    if not qp.transport.acknowledged:
        wrong = f"{name} is {qp.qp_type.name}: SUCCESS does not mean that its peer has the bytes"
        raise NotUnderstood(wrong, hint="measure the completions of the receiver")
    return peer_node(session.world, qp)


def quantile(ordered: Sequence[float], percent: int) -> float:
    """The value below which `percent` of the numbers are, interpolated as numpy does by default.

    ordered: at least one number, the smallest first. A quantile that needs no interpolation is
    one of the numbers, unchanged.
    """
    at = (len(ordered) - 1) * percent / 100
    low = int(at)
    if at == low:
        return ordered[low]
    value = ordered[low] + (ordered[low + 1] - ordered[low]) * (at - low)
    return round(value, 3)


Value = int | float | str | bool | None
"""The value of a measure: a number, yes or no, or a word such as RTS. None: it has none."""

_NAMED = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)\s*(.+)", re.ASCII | re.DOTALL)
_QUANTILE = re.compile(r"p(\d{1,2}|100)\((.+)\)", re.ASCII | re.DOTALL)
_NS = 10**9
_WHOLE_FROM = 1_000  # a rate above has no decimals
_OPENING, _CLOSING = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Measure:
    """A column of the table. percent: the quantile over seeds that it is; None: of each seed.

    text: the built-in measure or the expression.
    """

    name: str
    text: str
    percent: int | None = None


def measures(texts: tuple[str, ...]) -> tuple[Measure, ...]:
    """Those of `--measure NAME=EXPR,goodput(A->B),p50(iops)`; raises NotUnderstood."""
    found = [_measure(part) for text in texts for part in _parts(text)]
    named = {measure.name: measure.text for measure in found if measure.percent is None}
    used = {measure.text for measure in found if measure.percent is not None}
    found = [_resolved(m, named) for m in found if m.percent is not None or m.name not in used]
    names = [measure.name for measure in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise NotUnderstood(f"two measures are called {twice}", hint="write NAME=… to name one")
    for measure in found:
        check(measure.text)
    of_seeds = [measure.name for measure in found if measure.percent is not None]
    other = [measure.name for measure in found if measure.percent is None]
    if of_seeds and other:
        message = f"{of_seeds[0]} is one number for all seeds, {other[0]} one for each"
        raise NotUnderstood(message, hint=f"write p50({other[0]})")
    return tuple(found)


def _measure(part: str) -> Measure:
    if match := _QUANTILE.fullmatch(part):
        return Measure(part, match[2].strip(), int(match[1]))
    match = _NAMED.fullmatch(part)
    if match is None:
        return Measure(part, part)
    if inner := _QUANTILE.fullmatch(match[2].strip()):
        return Measure(match[1], inner[2].strip(), int(inner[1]))
    return Measure(match[1], match[2].strip())


def _resolved(measure: Measure, named: Mapping[str, str]) -> Measure:
    """`p50(gbps)` names another measure of the same sweep."""
    if measure.percent is None or measure.text not in named:
        return measure
    return Measure(measure.name, named[measure.text], measure.percent)


def _parts(text: str) -> Iterator[str]:
    """The text at its commas, except those in brackets and quotes."""
    depth, quote, start = 0, "", 0
    for at, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif character == "," and depth == 0:
            yield _given(text, text[start:at])
            start = at + 1
    yield _given(text, text[start:])


def _given(text: str, part: str) -> str:
    if not part.strip():
        hint = f"NAME=EXPR, {', '.join(_names())}"
        raise NotUnderstood(f"--measure {text}: a measure is missing", hint=hint)
    return part.strip()


def _names() -> list[str]:
    return [each.shown for each in _BUILT_IN]


def is_built_in(text: str) -> bool:
    """Whether it is a measure of this module, no expression."""
    return any(each.match(text) for each in _BUILT_IN)


def unit_of(text: str) -> str:
    """The unit of a built-in measure, or of a quantile of one; empty for an expression."""
    inner = _QUANTILE.fullmatch(text)
    text = inner[2] if inner else text
    return next((each.unit for each in _BUILT_IN if each.match(text)), "")


def check(text: str) -> None:
    """Raise NotUnderstood if it is neither a built-in measure nor an expression.

    A single word names no object: it is a measure, or a fact such as `now`.
    """
    if is_built_in(text) or "${" in text:
        return
    try:
        node = parse_expression(text).node
        if isinstance(node, Path) and len(node.steps) == 1 and text not in FACTS:
            hint = suggest(text, [*_names(), *FACTS])
            raise NotUnderstood(f"no measure is called {quoted(text)}", hint=hint)
    except NotUnderstood as wrong:
        built_in = f"built-in measures: {', '.join(_names())}"
        raise NotUnderstood(
            f"--measure {text}: {wrong.message}", hint=wrong.hint or built_in
        ) from None


def evaluated(runner: Runner, texts: tuple[str, ...], values: Mapping[str, str]) -> list[Value]:
    """The value of each measure at the end of a scenario that passed.

    values: of parameters, which an expression may name as `${name}`. Raises NotUnderstood for a
    measure that has no value there.
    """
    counted = Counted(runner)
    return [
        counted.value(text) if is_built_in(text) else _asked(runner, fill(text, values).text)
        for text in texts
    ]


def _asked(runner: Runner, text: str) -> Value:
    session = runner.session
    node = parse_expression(text).node
    if session.refuse_senseless is not None:
        session.refuse_senseless(node)
    value: object = session.ask(node)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, enum.Enum):
        return value.name or str(value)
    if isinstance(value, int | float):
        return value
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


class Counted:
    """The built-in measures of one replay; its records are read once, when they are needed."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        setup = [result for result in runner.results if result.step.is_setup]
        self.start_ns = setup[-1].now_ns if setup else 0
        rest = runner.results[len(setup) :]
        self.first_record = rest[0].first_record if rest else 0
        self._requests: list[MeasuredRequest] | None = None

    def value(self, text: str) -> Value:
        """The value of a built-in measure: ns, requests a second, bit/s."""
        tried = ((each.match(text), each.value) for each in _BUILT_IN)
        return next(value(self, *match.groups()) for match, value in tried if match)

    def time(self) -> int:
        """Virtual time since the setup, in ns."""
        return self.runner.session.world.now_ns - self.start_ns

    def iops(self, node: str | None) -> float:
        """Requests a second; node: only of this one."""
        return self._per_second(len(self._of(node)))

    def _per_second(self, count: int) -> float:
        if self.time() <= 0:
            raise NotUnderstood("no virtual time has passed since the setup")
        rate = count * _NS / self.time()
        return round(rate, 3) if rate < _WHOLE_FROM else round(rate)

    def latency(self, node: str | None, which: str) -> float:
        """A quantile, the least, the most or the mean of all latencies in ns."""
        found = sorted(r.latency_ns for r in self._of(node) if r.latency_ns is not None)
        if not found:
            raise NotUnderstood("no request that was posted after the setup has completed")
        if which == "mean":
            return round(sum(found) / len(found), 3)
        percent = {"min": 0, "max": 100}.get(which)
        return quantile(found, int(which[1:]) if percent is None else percent)

    def goodput(self, source: str, target: str) -> float:
        """Bits of payload a second from a node to another."""
        nodes = self.runner.session.world.nodes
        missing = next((node for node in (source, target) if node not in nodes), None)
        if missing is not None:
            raise NotUnderstood(f"goodput({source}->{target}): there is no node {missing}")
        session = self.runner.session
        peers = {
            place: peer(session, *place) for place in {(r.node, r.number) for r in self._moved()}
        }
        ends = {Local.GATHER: (source, target), Local.SCATTER: (target, source)}
        return self._per_second(8 * sum(
            r.octets for r in self._moved() if (r.node, peers[r.node, r.number]) == ends[r.local]
        ))  # fmt: skip

    def _moved(self) -> list[MeasuredRequest]:
        """The requests that have payload."""
        return [r for r in self._all() if r.local is not Local.NONE and r.octets]

    def _of(self, node: str | None) -> list[MeasuredRequest]:
        return [r for r in self._all() if node is None or r.node == node]

    def _all(self) -> list[MeasuredRequest]:
        if self._requests is None:
            self._requests = list(requests(self.runner.session, self.first_record))
        return self._requests


class _BuiltIn(NamedTuple):
    """shown: how errors name it. value: of what was counted and the groups of the pattern."""

    shown: str
    pattern: str
    unit: str
    value: Callable[..., Value]

    def match(self, text: str) -> re.Match[str] | None:
        """The text, if it is this measure."""
        return re.fullmatch(self.pattern, text, re.ASCII)


_BUILT_IN = (
    _BuiltIn("goodput(A->B)", r"goodput\(\s*([A-Z])\s*->\s*([A-Z])\s*\)", "bit/s", Counted.goodput),
    _BuiltIn("iops", r"iops(?:\(([A-Z])\))?", "requests/s", Counted.iops),
    _BuiltIn("time", "time", "ns", Counted.time),
    _BuiltIn(
        "latency.p50",
        r"latency(?:\(([A-Z])\))?\.(p\d{1,2}|p100|min|max|mean)",
        "ns",
        Counted.latency,
    ),
)

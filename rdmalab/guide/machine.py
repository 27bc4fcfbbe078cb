"""The state machine of a QP type as a drawing, made of nothing but the tables of `spec/states.py`.

The states stand in a column, in the order of the bring-up, and ERR beside them. Moves to RESET run
along the left, those to ERR along the right; automatic moves are dashed. A group of the SVG
names what it is: `data-state="RTS"`, `data-move="INIT RTR"`, `data-automatic="RTS ERR"`.
"""

import textwrap
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from rdmalab.guide import svg
from rdmalab.guide.phrases import attribute_names
from rdmalab.guide.sentences import note
from rdmalab.guide.states import move_words
from rdmalab.guide.svg import MONO, Point, Words
from rdmalab.spec.states import (
    AUTOMATIC,
    BRING_UP_MOVES,
    MOVES,
    STATES,
    Mishap,
    Move,
    QPState,
    QPType,
)

Pair = tuple[QPState, QPState]

# px
WIDTH = 1226
MARGIN = 32
LINE = 16  # from one line of text to the next
BOX_WIDTH, BOX_HEIGHT = 168, 96
_TOP = 104  # of the first box
_RESET_RAIL = MARGIN
_COLUMN_X = 402
_BRACKET, _RAIL, _ERR_X = 868, 924, 992
_APART = 22  # asked and automatic, side by side
_TWIN = 30  # how far from the middle two lines run that meet
_GAP = 60  # between two boxes, at least
_LOOP = 34  # how far a loop reaches out
_BESIDE = 14  # between a line and what is written beside it

_S = QPState
_COLUMN = tuple(state for state in QPState if state is not _S.ERR)
_STEP_LETTERS = int((_BRACKET - _BESIDE - (_COLUMN_X + BOX_WIDTH / 2 + _BESIDE)) // MONO)
_LOOP_LETTERS = int((_COLUMN_X - _LOOP - _BESIDE - _RESET_RAIL - _BESIDE) // MONO)


class Box(NamedTuple):
    """A state's place."""

    x: float
    y: float

    @property
    def right(self) -> float:
        return self.x + BOX_WIDTH

    @property
    def bottom(self) -> float:
        return self.y + BOX_HEIGHT

    @property
    def middle(self) -> float:
        return self.x + BOX_WIDTH / 2


class _End(NamedTuple):
    """One end of a line on the right of a box, from above to below."""

    rank: int
    pair: Pair
    by_itself: bool
    arrives: bool


Lines = Callable[[Pair, int], list[tuple[str, str]]]


class MachineLayout:
    """lines(pair, letters): the words beside a move and their class, a line each."""

    def __init__(self, asked: list[Pair], by_itself: list[Pair], lines: Lines) -> None:
        self.asked = asked
        self.by_itself = by_itself
        self.lines = lines
        self.boxes = self._boxes()
        self.heights = {end[1:]: y for state in _COLUMN for end, y in self._ends(state)}

    @property
    def bottom(self) -> float:
        """Below the last box."""
        return self.boxes[_COLUMN[-1]].bottom

    # ------------------------------------------------------------------ places
    def _boxes(self) -> dict[QPState, Box]:
        """The column grows where much is written between two states."""
        boxes: dict[QPState, Box] = {_COLUMN[0]: Box(_COLUMN_X, _TOP)}
        for above, below in pairwise(_COLUMN):
            lines = max(
                (len(self._pair_rows(pair)) for pair in self._written(above, below)), default=0
            )
            gap = max(_GAP, LINE * lines + 28)
            boxes[below] = Box(_COLUMN_X, boxes[above].bottom + gap)
        boxes[_S.ERR] = Box(_ERR_X, (boxes[_S.RTR].y + boxes[_S.RTS].y) / 2)
        return boxes

    def _written(self, above: QPState, below: QPState) -> Iterator[Pair]:
        """Moves whose words stand between two boxes."""
        for pair in self.asked:
            if set(pair) == {above, below} or (is_bracket(pair) and pair[0] is below):
                yield pair

    def _ends(self, state: QPState) -> Iterator[tuple[_End, float]]:
        """At which height each line on the right of a box begins or ends."""
        ends = sorted(self._on_the_right(state))
        for index, end in enumerate(ends, 1):
            yield end, self.boxes[state].y + BOX_HEIGHT * index / (len(ends) + 1)

    def _on_the_right(self, state: QPState) -> Iterator[_End]:
        """Lines to below begin below, so that as few as possible cross."""
        for by_itself, pairs in ((False, self.asked), (True, self.by_itself)):
            for pair in pairs:
                now, to = pair
                if state not in pair or now is to:
                    continue
                if pair == (_S.ERR, _S.RESET):
                    yield _End(0, pair, by_itself, arrives=True)
                elif to is _S.ERR:
                    yield _End(3 + by_itself, pair, by_itself, arrives=False)
                elif is_bracket(pair):
                    inner = 1 + by_itself if state is max(pair) else 6 - by_itself
                    yield _End(inner, pair, by_itself, arrives=state is to)

    # ------------------------------------------------------------------ words
    def _pair_rows(self, pair: Pair) -> list[tuple[str, str]]:
        return self.lines(pair, _LOOP_LETTERS if pair[0] is pair[1] else _STEP_LETTERS)

    def label(self, pair: Pair) -> list[Words]:
        """Words beside a move, with their places."""
        rows = self._pair_rows(pair)
        x, y, anchor = self._beside(pair, len(rows))
        return [
            Words(x, y + LINE * index, words, css, anchor)
            for index, (words, css) in enumerate(rows)
        ]

    def _beside(self, pair: Pair, lines: int) -> tuple[float, float, str]:
        """Place and anchor of the first of so many lines."""
        now, to = pair
        box = self.boxes[now]
        if now is to:
            return box.x - _LOOP - _BESIDE, box.y + 36 - LINE / 2 * (lines - 1), "end"
        if is_bracket(pair):
            return _BRACKET - _BESIDE, box.y - 14 - LINE * (lines - 1), "end"
        x, y = self._between(pair)[0][0], self.boxes[min(pair)].bottom + 24
        return (x - _BESIDE, y, "end") if x < box.middle else (x + _BESIDE, y, "start")

    # ------------------------------------------------------------------ lines
    def points(self, pair: Pair, *, by_itself: bool = False) -> list[Point]:
        """The corners of a line."""
        now, to = pair
        if now is to:
            return self._loop(now)
        if _S.ERR in pair:
            return self._of_err(pair, by_itself=by_itself)
        if to is _S.RESET:
            return self._to_reset(now)
        if is_bracket(pair):
            return self._bracket(pair, by_itself=by_itself)
        return self._between(pair)

    def _loop(self, state: QPState) -> list[Point]:
        box = self.boxes[state]
        x, out = (box.right, _LOOP) if state is _S.ERR else (box.x, -_LOOP)
        return [(x, box.y + 18), (x + out, box.y + 18), (x + out, box.y + 46), (x, box.y + 46)]

    def _to_reset(self, now: QPState) -> list[Point]:
        here, goal = self.boxes[now], self.boxes[_S.RESET]
        y, up = here.bottom - 12, goal.bottom - 12
        return [(here.x, y), (_RESET_RAIL, y), (_RESET_RAIL, up), (goal.x, up)]

    def _of_err(self, pair: Pair, *, by_itself: bool) -> list[Point]:
        now, to = pair
        err = self.boxes[_S.ERR]
        if now is _S.ERR:
            y = self.heights[pair, by_itself, True]
            return [(err.middle, err.y), (err.middle, y), (self.boxes[to].right, y)]
        y = self.heights[pair, by_itself, False]
        rail, goal = (_RAIL, 0.64) if by_itself else (_RAIL + _APART, 0.36)
        end = err.y + BOX_HEIGHT * goal
        return [(self.boxes[now].right, y), (rail, y), (rail, end), (err.x, end)]

    def _bracket(self, pair: Pair, *, by_itself: bool) -> list[Point]:
        start, end = (self.heights[pair, by_itself, arrives] for arrives in (False, True))
        x = _BRACKET + _APART * by_itself
        return [(self.boxes[pair[0]].right, start), (x, start), (x, end),
                (self.boxes[pair[1]].right, end)]  # fmt: skip

    def _between(self, pair: Pair) -> list[Point]:
        """Neighbours; the way down on the left where there is a way up too."""
        now, to = pair
        here, goal = self.boxes[now], self.boxes[to]
        twin = _TWIN if _S.RESET not in pair and pair[::-1] in self.asked else 0
        if to > now:
            return [(here.middle - twin, here.bottom), (here.middle - twin, goal.y)]
        return [(here.middle + twin, here.y), (here.middle + twin, goal.bottom)]


def is_bracket(pair: Pair) -> bool:
    """Whether it joins two states of the column that are no neighbours; RESET has its rail."""
    now, to = pair
    return _S.ERR not in pair and to is not _S.RESET and abs(now - to) > 1


_COLOURS = {QPState.RESET: "reset", QPState.ERR: "err"}  # of a state, and of the moves to it
_SORTS = ("quiet", "step", "reset", "err", "auto")
_ROW = LINE * 1.5
_LETTERS = "abcdefgh"


def state_machine(qp_type: QPType) -> str:
    """The drawing, as the text of an SVG file."""
    machine = _Machine(qp_type)
    title = f"{qp_type.name} queue pair: the moves of modify_qp"
    parts = [
        svg.tips(_SORTS),
        svg.text(Words(MARGIN, 42, title, "title")),
        svg.text(Words(MARGIN, 66, str(note(qp_type)), "small")),
        *machine.automatic(),
        *machine.moves(),
        *machine.states(),
        *machine.legend(),
    ]
    height = machine.plan.bottom + 48 + _ROW * (3 + len(machine.letters))
    return svg.document(WIDTH, height, title, *parts) + "\n"


class _Machine:
    """States and moves to draw of one QP type; `plan` has their places."""

    def __init__(self, qp_type: QPType) -> None:
        self.qp_type = qp_type
        self.asked = {(now, to): row for (kind, now, to), row in MOVES.items() if kind is qp_type}
        self.by_itself = _automatic(qp_type)
        self.ever = _reachable([*self.asked, *self.by_itself])
        met = {mishap for mishaps in self.by_itself.values() for mishap in mishaps}
        self.letters = dict(zip([m for m in Mishap if m in met], _LETTERS, strict=False))
        self.plan = MachineLayout(list(self.asked), list(self.by_itself), self._lines)

    def _lines(self, pair: Pair, letters: int) -> list[tuple[str, str]]:
        """(words, class) of each line beside a move; nothing where the state alone is given."""
        move = self.asked[pair]
        rows: list[tuple[str, str]] = []
        for mask, css in ((move.required, "mono need"), (move.optional, "mono may")):
            rows += [(words, css) for words in textwrap.wrap(attribute_names(mask), letters)]
        return rows

    # ------------------------------------------------------------------ moves
    def moves(self) -> Iterator[str]:
        """Moves from states that are never entered are drawn below the others."""
        for pair in sorted(self.asked, key=lambda pair: pair[0] in self.ever):
            css = _css(pair) if pair[0] in self.ever else "quiet"
            drawn = svg.line(self.plan.points(pair), css)
            label = [svg.text(words) for words in self.plan.label(pair)]
            yield _group("move", pair, _sentence(pair, self.asked[pair]), drawn, *label)

    def automatic(self) -> Iterator[str]:
        for pair, mishaps in sorted(self.by_itself.items(), key=lambda row: row[0][0] in self.ever):
            points = self.plan.points(pair, by_itself=True)
            text = "; ".join(mishap.value for mishap in mishaps)
            sentence = f"{pair[0].name} → {pair[1].name} automatically: {text}"
            drawn = svg.dashed(points, "auto" if pair[0] in self.ever else "quiet")
            yield _group("automatic", pair, sentence, drawn, *self._badges(points, mishaps))

    def _badges(self, points: list[Point], mishaps: list[Mishap]) -> Iterator[str]:
        """A letter a mishap, on the first stretch of the line."""
        (x, y), (_, later) = points[0], points[1]
        for index, mishap in enumerate(mishaps):
            ahead = 20 + 20 * index
            place = (x, y + ahead) if later != y else (x + ahead, y)
            yield _badge(place, self.letters[mishap])

    # ------------------------------------------------------------------ states
    def states(self) -> Iterator[str]:
        for state, box in self.plan.boxes.items():
            row = STATES[state]
            posts = " ".join(["recv"] * row.posts_recv + ["send"] * row.posts_send) or "nothing"
            packets = "processed" if row.receives else "dropped"
            frame: dict[str, object] = {
                "class": f"box {_COLOURS.get(state, '')}".strip(), "x": f"{box.x:g}",
                "y": f"{box.y:g}", "width": BOX_WIDTH, "height": BOX_HEIGHT, "rx": 10,
            }  # fmt: skip
            yield svg.element(
                "g",
                {"data-state": state.name, "class": "" if state in self.ever else "never"},
                svg.tooltip(f"{state.name}: {row.note}"),
                svg.element("rect", frame),
                svg.text(Words(box.middle, box.y + 36, state.name, "name", "middle")),
                svg.text(Words(box.middle, box.y + 59, f"may post: {posts}", "small", "middle")),
                svg.text(Words(box.middle, box.y + 76, f"packets: {packets}", "small", "middle")),
            )

    # ------------------------------------------------------------------ the legend
    def legend(self) -> Iterator[str]:
        """Lines on the left, words on the right."""
        y = self.plan.bottom + 48
        for css, text in (
            ("step", "modify_qp, bring-up"),
            ("quiet", "modify_qp, any other move; blue to RESET, red to ERR"),
            ("auto", "automatic, when"),
        ):
            draw = svg.dashed if css == "auto" else svg.line
            yield draw([(MARGIN, y - 4), (MARGIN + 46, y - 4)], css)
            yield svg.text(Words(MARGIN + 62, y, text))
            y += _ROW
        for mishap, letter in self.letters.items():
            yield _badge((MARGIN + 72, y - 4), letter)
            yield svg.text(Words(MARGIN + 92, y, mishap.value))
            y += _ROW
        yield from self._legend_of_words()

    def _legend_of_words(self) -> Iterator[str]:
        x, y = WIDTH / 2 + 30, self.plan.bottom + 48
        for css, text in (
            ("mono need", "must be given"),
            ("mono may", "may be given; where nothing is written, the state alone"),
        ):
            yield svg.text(Words(x, y, "attribute", css))
            yield svg.text(Words(x + 84, y, text))
            y += _ROW
        if never := [state.name for state in self.plan.boxes if state not in self.ever]:
            text = f"{' '.join(never)}: no {self.qp_type.name} queue pair ever enters it"
            yield svg.text(Words(x, y, text, "small"))


def _group(what: str, pair: Pair, sentence: str, *inside: str) -> str:
    name = " ".join(state.name for state in pair)
    return svg.element("g", {f"data-{what}": name}, svg.tooltip(sentence), *inside)


def _css(pair: Pair) -> str:
    return "step" if pair in BRING_UP_MOVES else _COLOURS.get(pair[1], "quiet")


def _sentence(pair: Pair, move: Move) -> str:
    return f"{pair[0].name} → {pair[1].name}: {move_words(move)}"


def _badge(place: Point, letter: str) -> str:
    x, y = place
    circle = svg.element("circle", {"class": "badge", "cx": f"{x:g}", "cy": f"{y:g}", "r": 8})
    return circle + svg.text(Words(x, y + 4, letter, "letter", "middle"))


def _automatic(qp_type: QPType) -> dict[Pair, list[Mishap]]:
    """Mishaps that lead from one state to another without a call."""
    found: dict[Pair, list[Mishap]] = {}
    for row in AUTOMATIC:
        for now in row.origins:
            if qp_type in row.types and now is not row.to:
                found.setdefault((now, row.to), []).append(row.mishap)
    return dict(sorted(found.items()))


def _reachable(pairs: list[Pair]) -> set[QPState]:
    """The states that can be come to from RESET, where a QP begins."""
    reached = {QPState.RESET}
    for _ in QPState:
        reached |= {to for now, to in pairs if now in reached}
    return reached

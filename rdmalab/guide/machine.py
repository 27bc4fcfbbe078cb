"""The state machine of a QP type as a drawing, made of nothing but the tables of `spec/states.py`.

The states stand in a column, in the order of the bring-up, and ERR beside them. Moves to RESET run
along the left, those to ERR along the right; automatic moves are dashed. A group of the SVG
names what it is: `data-state="RTS"`, `data-move="INIT RTR"`, `data-automatic="RTS ERR"`.
"""

import textwrap
from collections.abc import Iterator

from rdmalab.guide import svg
from rdmalab.guide.phrases import attribute_names
from rdmalab.guide.plan import BOX_HEIGHT, BOX_WIDTH, LINE, MARGIN, WIDTH, Pair, Plan
from rdmalab.guide.sentences import note
from rdmalab.guide.svg import Point, Words
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
    """What there is to draw of one type; `plan` says where."""

    def __init__(self, qp_type: QPType) -> None:
        self.qp_type = qp_type
        self.asked = {(now, to): row for (kind, now, to), row in MOVES.items() if kind is qp_type}
        self.by_itself = _automatic(qp_type)
        self.ever = _reachable([*self.asked, *self.by_itself])
        met = {mishap for mishaps in self.by_itself.values() for mishap in mishaps}
        self.letters = dict(zip([m for m in Mishap if m in met], _LETTERS, strict=False))
        self.plan = Plan(list(self.asked), list(self.by_itself), self._lines)

    def _lines(self, pair: Pair, letters: int) -> list[tuple[str, str]]:
        """(words, class) of each line beside a move; nothing where the state alone is given."""
        move = self.asked[pair]
        said: list[tuple[str, str]] = []
        for mask, css in ((move.required, "mono need"), (move.optional, "mono may")):
            said += [(words, css) for words in textwrap.wrap(attribute_names(mask), letters)]
        return said

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
            said = "; ".join(mishap.value for mishap in mishaps)
            sentence = f"{pair[0].name} → {pair[1].name} automatically: {said}"
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
        for css, said in (
            ("step", "modify_qp, bring-up"),
            ("quiet", "modify_qp, any other move; blue to RESET, red to ERR"),
            ("auto", "automatic, when"),
        ):
            draw = svg.dashed if css == "auto" else svg.line
            yield draw([(MARGIN, y - 4), (MARGIN + 46, y - 4)], css)
            yield svg.text(Words(MARGIN + 62, y, said))
            y += _ROW
        for mishap, letter in self.letters.items():
            yield _badge((MARGIN + 72, y - 4), letter)
            yield svg.text(Words(MARGIN + 92, y, mishap.value))
            y += _ROW
        yield from self._legend_of_words()

    def _legend_of_words(self) -> Iterator[str]:
        x, y = WIDTH / 2 + 30, self.plan.bottom + 48
        for css, said in (
            ("mono need", "must be given"),
            ("mono may", "may be given; where nothing is written, the state alone"),
        ):
            yield svg.text(Words(x, y, "attribute", css))
            yield svg.text(Words(x + 84, y, said))
            y += _ROW
        if never := [state.name for state in self.plan.boxes if state not in self.ever]:
            said = f"{' '.join(never)}: no {self.qp_type.name} queue pair ever enters it"
            yield svg.text(Words(x, y, said, "small"))


def _group(what: str, pair: Pair, sentence: str, *inside: str) -> str:
    name = " ".join(state.name for state in pair)
    return svg.element("g", {f"data-{what}": name}, svg.tooltip(sentence), *inside)


def _css(pair: Pair) -> str:
    return "step" if pair in BRING_UP_MOVES else _COLOURS.get(pair[1], "quiet")


def _sentence(pair: Pair, move: Move) -> str:
    needs, takes = attribute_names(move.required), attribute_names(move.optional)
    said = [f"needs {needs}"] * bool(needs) + [f"may set {takes}"] * bool(takes)
    return f"{pair[0].name} → {pair[1].name}: {'; '.join(said) or 'with the state alone'}"


def _badge(place: Point, letter: str) -> str:
    x, y = place
    circle = svg.element("circle", {"class": "badge", "cx": f"{x:g}", "cy": f"{y:g}", "r": 8})
    return circle + svg.text(Words(x, y + 4, letter, "letter", "middle"))


def _automatic(qp_type: QPType) -> dict[Pair, list[Mishap]]:
    """What leads from one state to another without being asked for."""
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

"""The screen for lectures: caption, wire and notes, large; a clicker goes on and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content

from rdmalab.grammar.text import in_quotes
from rdmalab.scenario.files import short_name
from rdmalab.tui.bars import Bar, CaptionBar
from rdmalab.tui.content import Ranked, filled
from rdmalab.tui.keys import shown
from rdmalab.tui.layouts import Cover
from rdmalab.tui.pane_table import NOTES, WIRE, made
from rdmalab.tui.screens.page import Page

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from rdmalab.shell.styled_text import Line
    from rdmalab.tui.app import Rdmalab

_PLACES = {"stage": (WIRE, NOTES), "nodes": ("node-0", "node-1")}  # these where there is room
# The keys of a clicker are PgDn and PgUp. Keys, action, label in the footer, meaning.
_KEYS = (
    ("pagedown,space,right,n,f8", "next_note", "PgDn", "next", "the answer or the next note"),
    ("pageup,left,b,f7", "previous_note", "PgUp", "back", "the note before"),
    ("s,shift+f8,f20", "one_event", "s", "event", "one event, in a lesson too"),
    ("escape,q", "dismiss", "Esc", "leave", "the lecture; the prompt is there again"),
    ("t", "scale", "t", "scale", "the wire to the scale of time; again: waits compressed"),
    ("f1,question_mark,h", "lecture_help", "F1", "keys", "this page"),
    ("1", "other('node-0')", "1", "left", "another queue pair at the left; both are held"),
    ("2", "other('node-1')", "2", "right", "another queue pair at the right; both are held"),
)
_HELP: list[Line] = [
    [("bold", "PgDn runs a lesson from note to note; PgUp returns to the note before.")],
    [("", "At the end PgDn loads the next lesson, and PgUp there returns to this end.")],
    [("", "Without a lesson the keys step and go back.")],
    [],
    *([("bold", f"  {' '.join(map(shown, keys.split(','))):<30}"), ("", f"{word}: {meaning}")]
      for keys, _, _, word, meaning in _KEYS),
]  # fmt: skip


class LectureKeys(Bar):
    """The keys that fit, each with what it does."""

    def lines(self, width: int, height: int) -> Ranked:
        """One line."""
        keys = [
            Content.assemble((key, f"bold $event @click=screen.{action}"), f" {word}")
            for _, action, key, word, _ in _KEYS
        ]
        return [(0, filled(width, keys))]


class Presenter(Cover[None]):
    """Its panes are drawn with each frame of the main screen, which is below it."""

    # Before the panes and the app: there is nothing to type, and these keys always act.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(keys, action, word, priority=True) for keys, action, _, word, _ in _KEYS
    ]

    REPLACED = ("help", "go_on", "say")
    """Actions of the app whose keys are here for something else."""

    app: Rdmalab

    def __init__(self) -> None:
        super().__init__()
        self._before: list[str] = []  # paths of the lessons that PgDn has left at their end

    def compose(self) -> ComposeResult:
        """Widgets of the lecture screen; no pane takes the keys."""
        view = self.app.main.view
        has_notes = view.model.walk is not None or view.model.exercise is not None
        yield CaptionBar(view, id="caption")
        for place, names in _PLACES.items():
            with Container(id=place):
                for name in names:
                    if name == NOTES and not has_notes:
                        continue  # the wire has their rows
                    pane = made(name, view)
                    pane.can_focus = False
                    yield pane.add_class("-lecture")
        yield LectureKeys(view, id="keys-of-lecture")

    def action_next_note(self) -> None:
        """Go on: to the answer, the next note, or the next lesson."""
        model = self.app.main.model
        line, walk = model.note_command(1), model.walk
        if walk is not None and line.startswith("load "):
            self._before = [*self._before, walk.scenario.path]
        self._say(line)

    def action_previous_note(self) -> None:
        """Go back to the note before; from the first one to the end of the lesson before."""
        line = self.app.main.model.note_command(-1)
        if line or not self._before:
            self._say(line)
            return
        self._say(f"load {in_quotes(short_name(self._before.pop()))}")
        self.app.prompt.say(self._to_end)

    def action_one_event(self) -> None:
        """One event; PgDn then goes on with the lesson."""
        self._say("step")

    def _to_end(self) -> str:
        """The next line on the way to the end of the lesson."""
        if not self.app.main.model.is_walking:
            return "goto end"
        self.app.prompt.say(self._to_end)
        return "next"

    def _say(self, line: str) -> None:
        if line:
            self.app.say(line)

    async def action_scale(self) -> None:
        """Rows of the wire to the scale of time, or waits compressed."""
        await self.query_one(f"#{WIRE}").run_action("scale")

    async def action_other(self, name: str) -> None:
        """Hold both queue pairs, and show another one in this card."""
        await self.query_one(f"#{name}").run_action("hold_other")

    def action_lecture_help(self) -> None:
        """Say what the keys do."""
        self.app.push_screen(Page("Lecture", _HELP))

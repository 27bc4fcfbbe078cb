"""The framed prompt at the bottom, with help for the argument at the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.strip import Strip
from textual.widget import Widget

from rdmalab.shell.prompt_setup import ask_session
from rdmalab.shell.signature import signature
from rdmalab.tui.console.pane import Console
from rdmalab.tui.frame import TITLE, border, edge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import History
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from rdmalab.shell.prompt import Evaluate
    from rdmalab.shell.styled_text import Line
    from rdmalab.tui.app_model import AppModel
    from rdmalab.tui.layout import PanePlace
    from rdmalab.tui.pane import Appearance

_LEAST = 4  # below so many rows the frame goes, the prompt stays


class Repl(Widget):
    """A frame around one Console."""

    DEFAULT_CSS = """
    Repl { position: absolute; layout: vertical; overflow: hidden; }
    Repl Console {
        margin: 1; height: 1fr; scrollbar-size: 0 0; scrollbar-gutter: auto;
        background: ansi_default; color: ansi_default;
    }
    Repl.bare Console { margin: 0; }
    """

    def __init__(
        self, scene: AppModel, look: Appearance, evaluate: Evaluate, *,
        leave_keys: frozenset[str], history: History,
    ) -> None:  # fmt: skip
        super().__init__(id="repl")
        self.history = history
        self.look = look
        self.scene = scene
        self.place: PanePlace | None = None
        self._rows: list[Strip] = []
        self.console = Console(self._session, evaluate, leave_keys=leave_keys)

    def compose(self) -> Iterable[Widget]:
        """Make the console."""
        yield self.console

    def on_mount(self) -> None:
        """Redraw the frame after each render of the prompt, and when scroll or focus changes."""
        # It is painted when a line was evaluated, and whenever the line or the cursor moves.
        self.console.live.session.app.after_render += lambda _: self.redraw()
        self.watch(self.console, "scroll_y", lambda _: self.redraw(), init=False)
        self.watch(self.console, "has_focus", lambda _: self.redraw(), init=False)

    def _session(self, *, input: Input, output: Output, embedded: bool) -> PromptSession[str]:  # noqa: A002
        session = ask_session(
            self.scene.lab, history=self.history, input=input, output=output, embedded=embedded
        )
        session.bottom_toolbar = None  # the lower border says it, and the header
        session.style = self.look.styles
        return session

    # ---- the frame ------------------------------------------------------------------------------

    def put(self, place: PanePlace) -> None:
        """Set position and size; a place too small for a frame shows the console alone."""
        self.place = place
        self.set_class(self.is_bare, "bare")

    @property
    def is_bare(self) -> bool:
        return self.place is None or self.place.height < _LEAST

    @property
    def inner_width(self) -> int:
        width = self.place.width if self.place else 80
        return width if self.is_bare else width - 2

    def redraw(self) -> None:
        """Draw the frame again; an equal frame is not painted again."""
        if self.place is None or self.is_bare:
            return
        width, height = self.place.width, self.place.height
        drawn = border(focused=self.console.has_focus, ascii_only=self.look.ascii_only)
        style = "class:frame.focused" if self.console.has_focus else "class:frame"
        side = [(style, drawn.down), ("", " " * (width - 2)), (style, drawn.down)]
        lines = [
            edge(drawn, width, self.look.spelled(self._title()), style),
            *([side] * (height - 2)),
            edge(drawn, width, self.look.spelled(self._foot()), style, bottom=True),
        ]
        rows = [self.look.strip(line) for line in lines]
        if rows != self._rows:
            self._rows = rows
            self.refresh()

    def _title(self) -> Line:
        if self.scene.talk.running:
            doing = "searching" if self.scene.talk.searching else "running"
            return [("class:warn", doing), ("", "  ^C or F9 stops")]
        above = int(self.console.scroll_y)
        line: Line = [(TITLE, "REPL")]
        if above:
            line.append(("class:dim", f"  PgUp: {above} above"))
        if above and self.console.scroll_y < self.console.max_scroll_y:
            line.append(("class:warn", "  reading back: type to return"))
        return line

    def _foot(self) -> Line:
        """Help for the argument at the cursor."""
        if self.console.busy:
            return []
        buffer = self.console.live.session.default_buffer
        text = buffer.text
        if not text.strip() or "\n" in text:
            again = self.scene.repeated
            on = "walks on" if again == "next" else f"repeats: {again}"
            return [("class:dim", f"Enter {on}")] if again else []
        said = signature(self.scene.session, text, buffer.cursor_position)
        return [("", said)] if said else []

    def render_line(self, y: int) -> Strip:
        """Row `y` of the frame; empty without a frame."""
        return self._rows[y] if y < len(self._rows) and not self.is_bare else Strip([])

"""A prompt_toolkit prompt without a terminal: key presses in, rows and a cursor out."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Point, Size
from prompt_toolkit.document import Document
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.mouse_events import MouseButton, MouseEvent, MouseEventType

from rdmalab.shell.prompt import colour_wanted, converse, echoed
from rdmalab.tui.console.bridge import EventInput, PaneOutput, SigwinchGuard
from rdmalab.tui.console.paint import Paint

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_toolkit import PromptSession
    from prompt_toolkit.application import Application
    from textual.strip import Strip

    from rdmalab.shell.prompt import Emit, Evaluate

_MENU_ROWS_MAX = 8


class LivePrompt:
    """One PromptSession for each pane. `rendered` is called after each of its renders."""

    def __init__(
        self,
        make_session: Callable[..., PromptSession[str]],
        output: PaneOutput,
        guard: SigwinchGuard,
        rendered: Callable[[], None],
    ) -> None:
        self.output = output
        self.busy = False
        self._guard = guard
        self._keys = EventInput(guard)
        self._said: deque[str] = deque()
        self._draft = Document()
        self._menu_met = False
        with create_app_session(input=self._keys, output=output):
            self.session = make_session(input=self._keys, output=output, embedded=True)
        self.paint = Paint(self.session.app.renderer.style, colour=colour_wanted())
        self._tune(rendered)

    def _tune(self, rendered: Callable[[], None]) -> None:
        app = self.session.app
        app.max_render_postpone_time = None
        app.terminal_size_polling_interval = None
        app.timeoutlen, app.ttimeoutlen = 0.25, 0.05
        app.before_render += self._before_render
        app.after_render += lambda _: rendered()

    async def converse(self, evaluate: Evaluate, emit: Emit) -> None:
        """Read lines and evaluate them until the prompt is closed; output goes to `emit`."""

        async def busily(text: str) -> bool:
            self.busy = True
            try:
                return await evaluate(text)
            finally:
                self.busy = False

        with create_app_session(input=self._keys, output=self.output):
            await converse(
                self.session,
                busily,
                emit,
                echo=lambda text: emit(echoed(self.session, text)),
                pre_run=self._begin,
                handle_sigint=False,
                set_exception_handler=False,
            )

    # ---- what goes in -------------------------------------------------------------------------

    def feed(self, presses: list[KeyPress]) -> None:
        """Send key presses to the prompt."""
        self._keys.feed(presses)

    def paste(self, text: str) -> None:
        """Insert a pasted text; each line end becomes a newline."""
        self.feed([KeyPress(Keys.BracketedPaste, text.replace("\r\n", "\n").replace("\r", "\n"))])

    def say(self, line: str) -> None:
        """Evaluate a line as if it had been typed; what is being typed stays as it is."""
        self._said.append(line)
        if self.session.app.is_running and not self.session.app.is_done:
            self._speak()

    def type_in(self, text: str) -> None:
        """Type a text, if nothing is typed yet and nothing runs."""
        buffer = self.session.default_buffer
        if not buffer.text and not self.busy:
            buffer.insert_text(text)
            self.redraw()

    def mouse(self, at: Point, kind: MouseEventType, button: MouseButton) -> bool:
        """True when something of the prompt took the event."""
        app = self.session.app
        if app.context is None or not app.is_running:
            return False
        took = app.renderer.mouse_handlers.mouse_handlers[at.y][at.x]
        event = MouseEvent(at, kind, button, frozenset())
        answer = app.context.copy().run(took, event)
        app.invalidate()
        return answer is not NotImplemented

    def resize(self, columns: int, rows: int) -> None:
        """Set the size of the prompt and redraw it."""
        self.output.size = Size(rows=max(1, rows), columns=max(1, columns))
        self.redraw()

    def redraw(self) -> None:
        """Request a new render."""
        self.session.app.invalidate()

    @property
    def menu_is_open(self) -> bool:
        return self.session.default_buffer.complete_state is not None

    # ---- what comes out -----------------------------------------------------------------------

    def rows(self, *, cursor: Point | None) -> list[Strip]:
        """Nothing while a line is evaluated: then there is no prompt."""
        screen = self.session.app.renderer.last_rendered_screen
        if screen is None:
            return []
        columns = self.output.size.columns
        return [
            self.paint.row(
                screen.data_buffer[y], columns, cursor.x if cursor and cursor.y == y else None
            )
            for y in range(screen.height)
        ]

    def cursor(self) -> Point | None:
        """The position of the cursor in the rendered rows; None before the first render."""
        app = self.session.app
        screen = app.renderer.last_rendered_screen
        return screen.cursor_positions.get(app.layout.current_window) if screen else None

    def _before_render(self, app: Application[str]) -> None:
        self._guard.restore()  # prompt_toolkit has just taken the signal
        self.session.reserve_space_for_menu = self._menu_space()
        # The prompt would never shrink again if the renderer remembered its last height;
        # asking for the rows below pins the toolbar to the bottom of the pane.
        app.renderer.reset()
        app.renderer.request_absolute_cursor_position()

    def _menu_space(self) -> int:
        """Rows kept for the prompt and its menu: none on an empty line, so that small panes show
        the last answer; once a menu was there, as many until the line ends, so that the prompt
        does not jump while the next completions are sought."""
        typing = bool(self.session.default_buffer.text)
        self._menu_met = self.menu_is_open or (self._menu_met and typing)
        if not self._menu_met:
            return 0
        rows = self.output.size.rows
        wanted = 1 + min(_MENU_ROWS_MAX, max(3, rows // 2))
        return max(0, min(wanted, rows - 1))  # more would be "window too small"

    def _begin(self) -> None:
        self.session.default_buffer.document, self._draft = self._draft, Document()
        self._speak()

    def _speak(self) -> None:
        if self._said:
            self._draft = self.session.default_buffer.document
            self.session.app.exit(result=self._said.popleft())

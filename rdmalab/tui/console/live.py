"""A prompt_toolkit prompt without a terminal: key presses in, rows and a cursor out."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from prompt_toolkit.application import Application, application, create_app_session
from prompt_toolkit.data_structures import Point, Size
from prompt_toolkit.document import Document
from prompt_toolkit.input import DummyInput
from prompt_toolkit.key_binding import KeyBindings, KeyPress, merge_key_bindings
from prompt_toolkit.keys import Keys
from prompt_toolkit.mouse_events import MouseButton, MouseEvent, MouseEventType
from prompt_toolkit.output import ColorDepth, DummyOutput

from rdmalab.shell.prompt import Emit, Evaluate, colour_wanted, converse, echoed
from rdmalab.tui.console.paint import Paint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding.key_processor import KeyPressEvent
    from prompt_toolkit.styles import BaseStyle
    from textual.app import App
    from textual.strip import Strip


# prompt_toolkit and not an Input of Textual: completion in the middle of a line, programs of
# several lines and history search are then the same as at a terminal.
_MENU_ROWS_MAX = 8
_POSTPONED_S = 0.02
_SAID = Keys.F24  # a key that no keyboard sends; its data is the line of `say`


# A pane gets its size from Textual. prompt_toolkit would take SIGWINCH from it with each prompt
# and leave the default behind, after which no resize would be noticed.
vars(application)["attach_winch_signal_handler"] = lambda _handler: nullcontext()


class PaneInput(DummyInput):
    """A queue of key presses; they are kept while no prompt is active. It never ends."""

    closed = False

    def __init__(self) -> None:
        self.waiting: list[KeyPress] = []
        self._listener: Callable[[], None] | None = None

    def feed(self, presses: Iterable[KeyPress]) -> None:
        """Queue key presses and notify the active prompt, if any."""
        self.waiting += presses
        if self._listener is not None:
            self._listener()

    def read_keys(self) -> list[KeyPress]:
        """Remove and return all queued key presses."""
        presses, self.waiting = self.waiting, []
        return presses

    @contextmanager
    def attach(self, input_ready_callback: Callable[[], None]) -> Iterator[None]:
        """Notify this prompt of key presses inside the context, also of those already queued."""
        self._listener = input_ready_callback
        if self.waiting:
            asyncio.get_running_loop().call_soon(input_ready_callback)
        try:
            yield
        finally:
            self._listener = None


class PaneOutput(DummyOutput):
    """The pane as an output device: a size, the rows taken by the transcript, a bell."""

    def __init__(self, app: Callable[[], App[object]], erase: Callable[[], None]) -> None:
        self.size = Size(rows=10, columns=80)
        self.rows_above = 0
        self._app = app  # at construction there is none yet
        self._erase = erase

    def get_size(self) -> Size:
        """Rows and columns of the pane."""
        return self.size

    def get_rows_below_cursor_position(self) -> int:
        """Rows left below the transcript; NotImplementedError with fewer than 3."""
        if self.size.rows < 3:
            # An unknown height hides the toolbar, which would leave no row for the prompt.
            raise NotImplementedError
        return max(1, self.size.rows - self.rows_above)

    def get_default_color_depth(self) -> ColorDepth:
        """Always 24 bits; the pane reduces colours where needed."""
        return ColorDepth.DEPTH_24_BIT

    def bell(self) -> None:
        """Ring the bell of the pane."""
        self._app().bell()

    def erase_screen(self) -> None:
        """Clear the transcript (^L)."""
        self._erase()  # Ctrl-L


class LivePrompt:
    """One PromptSession for each pane. `rendered` is called after each of its renders."""

    def __init__(
        self,
        make_session: Callable[..., PromptSession[str]],
        output: PaneOutput,
        rendered: Callable[[], None],
    ) -> None:
        self.output = output
        self.busy = False
        self._keys = PaneInput()
        self._lines: deque[str | Callable[[], str]] = deque()
        self._draft = Document()
        self.menu_met = False
        with create_app_session(input=self._keys, output=output):
            self.session = make_session(input=self._keys, output=output, embedded=True)
        spoken = KeyBindings()
        spoken.add(_SAID)(self._speak)
        self.session.key_bindings = merge_key_bindings(
            [each for each in (self.session.key_bindings, spoken) if each is not None]
        )
        app = self.session.app
        self.paint = Paint(app.renderer.style, colour=colour_wanted())
        app.max_render_postpone_time = _POSTPONED_S  # of keys that come together
        app.terminal_size_polling_interval = None
        app.timeoutlen, app.ttimeoutlen = 0.25, 0.05
        app.before_render += self._before_render
        app.after_render += lambda _: rendered()

    def dye(self, styles: BaseStyle) -> None:
        """Draw in these styles from now on."""
        self.session.style = styles
        self.paint = Paint(styles, colour=colour_wanted())
        self.redraw()

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
                self.session, busily, emit, echo=lambda text: emit(echoed(self.session, text)),
                pre_run=self._begin, handle_sigint=False, set_exception_handler=False,
            )  # fmt: skip

    # ---- what goes in -------------------------------------------------------------------------

    def feed(self, presses: list[KeyPress]) -> None:
        """Send key presses to the prompt.

        A lone Esc closes the menu, and ends a search. It does not begin Alt and a letter: Textual
        has decided that before, by the delay of the terminal (ESCDELAY).
        """
        is_escape = [each.key for each in presses] == [Keys.Escape]
        if is_escape and not self.session.app.layout.is_searching:
            self.session.default_buffer.cancel_completion()
            return
        self.session.complete_while_typing = True
        self._keys.feed(presses)

    @property
    def typed_ahead(self) -> str:
        """Text typed while a line is evaluated; it is read after that line."""
        ends = (Keys.ControlM, Keys.ControlJ)
        texts = [
            f"{each.data}⏎ " if each.key is _SAID else "⏎ " if each.key in ends else each.data
            for each in self._keys.waiting
        ]
        return "".join(text for text in texts if text.isprintable())

    def paste(self, text: str) -> None:
        """Insert a pasted text; each line end becomes a newline. No menu covers it."""
        self.session.complete_while_typing = False
        lines = text.replace("\r\n", "\n").replace("\r", "\n")
        self._keys.feed([KeyPress(Keys.BracketedPaste, lines)])

    def say(self, line: str | Callable[[], str]) -> None:
        """Evaluate a line as if it had been typed; what is being typed stays as it is.

        It is a key among the others: it does not overtake a line whose Enter was pressed before it.
        line: a function chooses it when its turn has come, for the world of that moment.
        """
        self._lines.append(line)
        self._keys.feed([KeyPress(_SAID, line if isinstance(line, str) else "")])

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
        try:
            answer = app.context.copy().run(took, event)
        except AssertionError:  # of the menu, which has closed since it was drawn
            answer = NotImplemented
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
    def said_ahead(self) -> int:
        """Lines of `say` that wait for their turn among the keys."""
        return len(self._lines)

    @property
    def has_more(self) -> bool:
        """Whether something waits to be evaluated, or is typed."""
        return bool(self.said_ahead or self._keys.waiting or self.session.default_buffer.text)

    @property
    def menu_is_open(self) -> bool:
        return self.session.default_buffer.complete_state is not None

    # ---- what comes out -----------------------------------------------------------------------

    def rows(self, *, cursor: Point | None) -> list[Strip]:
        """Nothing while a line is evaluated: then there is no prompt."""
        screen = self.session.app.renderer.last_rendered_screen
        if screen is None:
            return []
        columns, at = self.output.size.columns, {cursor.y: cursor.x} if cursor else {}
        cells = screen.data_buffer
        return [self.paint.row(cells[y], columns, at.get(y)) for y in range(screen.height)]

    def cursor(self) -> Point | None:
        """The position of the cursor in the rendered rows; None before the first render."""
        app = self.session.app
        screen = app.renderer.last_rendered_screen
        return screen.cursor_positions.get(app.layout.current_window) if screen else None

    def _before_render(self, app: Application[str]) -> None:
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
        self.menu_met = self.menu_is_open or (self.menu_met and typing)
        if not self.menu_met:
            return 0
        rows = self.output.size.rows
        wanted = 1 + min(_MENU_ROWS_MAX, max(3, rows - 2))
        return max(0, min(wanted, rows - 1))  # more would be "window too small"

    def _begin(self) -> None:
        self.menu_met = False
        self.session.default_buffer.document, self._draft = self._draft, Document()

    def _speak(self, event: KeyPressEvent) -> None:
        """The key of `say` is next: end the line with its text, and keep what is being typed."""
        line = self._lines.popleft()
        self._draft = self.session.default_buffer.document
        event.app.exit(result=line if isinstance(line, str) else line())

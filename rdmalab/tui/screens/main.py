"""The main screen: two nodes, the wire between them, tabs, and the prompt."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING

from textual.containers import Container
from textual.screen import Screen
from textual.widgets import ContentSwitcher, Tab, Tabs

from rdmalab.command import Noun
from rdmalab.recovery.bug_reports import called, report
from rdmalab.shell.lesson import rows_to_read
from rdmalab.shell.output_format import NOTE_PAGE, NOTE_STRIP
from rdmalab.shell.styled_text import Line, plain, rows, shown, text_of
from rdmalab.tui.app_model import CARD, AppModel, LivePrograms
from rdmalab.tui.bars import CaptionBar, Head, Keys, TabRow, Tape
from rdmalab.tui.console.prompt import Prompt
from rdmalab.tui.layouts import place
from rdmalab.tui.pacing import Pacing, after, after_refresh
from rdmalab.tui.pane import Pane, read_all
from rdmalab.tui.pane_table import APART, NOTES, PACKET, TABS, WHY, WIRE, made
from rdmalab.tui.screens.page import TextScreen
from rdmalab.tui.world_view import WorldView
from rdmalab.views import packets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prompt_toolkit.history import History
    from textual import events
    from textual.app import ComposeResult

    from rdmalab.doctor.checklist_report import ChecklistReport
    from rdmalab.doctor.report.report import Report
    from rdmalab.tui.app import Rdmalab

    # The lesson or lab, answer of why, checklist.
    News = tuple[object, Report | None, ChecklistReport | None]

_NARROW, _MEDIUM, _WIDE = 60, 110, 170  # as the breakpoints of the App
_LOW, _TALL, _HIGH = 18, 34, 50
_LEAST, _LEAST_WIRE, _MENU = 7, 2, 11  # rows of the prompt (a lesson takes one), wire, with a menu
_AROUND, _NEWEST_WIRE = 2, 3  # the frame and the typed line; rows of the wire beside a text
HELD = "held: F8 is one event, F9 runs the world; calls are answered"
_PROGRAM_FRAME_S, _PROGRAM_PAUSE_S = 0.15, 0.004  # between frames; looks at idle programs
_SHARES = ("-more-wire", "-most-wire")  # of the height, in the style sheet
_SIDE = 4  # columns that the frame of the prompt takes
QUIET_S, _SOON_S = 0.5, 0.001  # before the side pane without a key; the prompt, then the panes


class Main(Screen[None]):
    """In each frame the panes that are seen read the world again."""

    app: Rdmalab
    ALLOW_IN_MAXIMIZED_VIEW = "Head, Keys"  # the clock, and the key that leads back

    def __init__(self, model: AppModel, history: History, script: Iterable[str]) -> None:
        super().__init__()
        self.model = model
        self.view = WorldView(model)
        self.prompt = Prompt(model, self._evaluate, history)
        self._script = list(script)
        self._pacing = Pacing(self.frame)
        self._met = self._news()
        self._reported: set[str] = set()  # bugs of panes
        self._printed: list[Line] = []  # by the line that is carried out
        self.answer: list[Line] = []  # of the last line that does not copy
        self._was_beside = self._is_due = self._is_why_over = self._has_side = self._zooms = False
        self.is_packet_of_wire = False  # opened with the keys of the wire, to which Esc leads back
        self._grown_for: object = None  # the session whose wire has the height that it needs
        self.frames = 0  # drawn so far
        self.wanted = ""  # the pane that gets the focus when it is there

    def compose(self) -> ComposeResult:
        """Each part is placed by the style sheet."""
        self._was_beside = self.is_beside
        place(self)
        self.set_class(not self.is_beside, "-wire-in-front")
        yield Head(self.view, id="head")
        yield Tape(self.view, id="tape")
        yield CaptionBar(self.view, id="caption")
        yield made("strip", self.view)
        with Container(id="body"):
            yield made("node-0", self.view)
            yield made("node-1", self.view)
            with Container(id="middle"):
                tabs = [Tab(label, id=f"tab-{name}") for name, label in TABS.items()]
                tabs[0].set_class(self.is_beside, "-hidden")  # as Tabs.hide does
                yield TabRow(*tabs, active=f"tab-{self._first_tab}")
                yield made(WIRE, self.view)
                yield ContentSwitcher(id="side")  # its panes are made when they are asked for
        with Container(id="bottom"):
            yield self.prompt
        yield Keys(self.model)

    def on_mount(self) -> None:
        """Focus the prompt, say the first lines."""
        self.prompt.focus()
        for typed in self._script:
            self.prompt.say(typed)
        offers = [plain(each, "class:dim") for each in self.model.offers]
        is_asked = self._script or self.model.programs
        card = [] if is_asked else [*CARD[: len(CARD) - len(offers) - 1], CARD[-1]]
        for line in [*card, *offers]:
            for row in rows(line, self.text_width):
                self.prompt.write(row)
        self.frame_soon()
        if self.model.programs is not None:
            self._write(HELD)
            self.run_worker(self._serve(self.model.programs), name="programs")

    # ---- programs of the host -------------------------------------------------------------------

    def _write(self, text: str) -> None:
        for row in rows(plain(shown(text), "class:dim"), self.text_width):
            self.prompt.write(row)

    async def _serve(self, programs: LivePrograms) -> None:
        """Serve them until all have ended; draw what has happened, but not each call of theirs."""
        drawn_at, is_new = 0.0, False
        while not programs.is_over:
            has_happened = not self.model.busy and programs.serve()
            is_new = is_new or has_happened
            for text in programs.printed():
                self._write(text)
            if is_new and time.monotonic() > drawn_at + _PROGRAM_FRAME_S:
                drawn_at, is_new = time.monotonic(), False
                self.frame_soon()
            await asyncio.sleep(0 if has_happened else _PROGRAM_PAUSE_S)
        for text in [*programs.printed(), "All programs have ended. F7 goes back, why asks."]:
            self._write(text)
        self.frame_soon()

    def step_programs(self) -> bool:
        """One event of the world of programs, which is held from now on; False if none run here."""
        programs = self.model.running_programs
        if programs is None or not programs.is_served or self.model.busy:
            return False
        programs.hold(is_held=True)
        if not programs.step():
            self._write("nothing is planned: the programs have not posted anything new")
        self.frame_soon()
        return True

    def hold_or_run_programs(self) -> bool:
        """Hold the world of programs, or let it run on; False if none run."""
        programs = self.model.running_programs
        if programs is None:
            return False
        if not programs.is_served:
            self.prompt.say("goto end")
            return True
        if not self.hold_programs():
            programs.hold(is_held=False)
            self._write("running: ^C or F9 holds the world of the programs")
            self.frame_soon()
        return True

    def hold_programs(self) -> bool:
        """Hold the world of programs; False if it does not run."""
        programs = self.model.running_programs
        if programs is None or programs.is_held or not programs.is_served:
            return False
        programs.hold(is_held=True)
        self._write(HELD)
        self.frame_soon()
        return True

    # ---- the conversation -----------------------------------------------------------------------
    @property
    def text_width(self) -> int:
        """Columns of the lines of the prompt."""
        return max(20, self.prompt.scrollable_content_region.width or self.size.width - _SIDE)

    async def _evaluate(self, text: str) -> bool:
        self._tell(f"{self.model.session.default_node}> {text}")
        self.model.resize(self.text_width, self._note_rows(text))
        self._printed, before = [], self._moment
        self._pacing.begin()
        if isinstance(page := self.app.screen, TextScreen):
            page.leave()  # a key has said this line: the page is about an older one
        try:
            return await self.model.evaluate(text, self._emit, self._pacing.pause)
        finally:
            was, self._met = self._met, self._news()
            is_change = before != self._moment
            settle = partial(self._settle, text, self._printed, was, self._met, is_change)
            after(self, _SOON_S, settle)

    @property
    def _moment(self) -> tuple[object, ...]:
        """All that a line changes which the panes show."""
        lab = self.model.exercise
        return self.view.moment, dict(lab.answers) if lab is not None else None

    def _note_rows(self, text: str) -> int:
        """Rows in which the notes of a lesson are seen after this line."""
        opens = text.split()[:1] in (["load"], ["tour"])
        if self.is_beside:
            return NOTE_PAGE if opens or self.tab == NOTES else 0
        is_small = self.app.size.width < _NARROW or self.app.size.height < _LOW
        return 0 if is_small else NOTE_STRIP

    def _emit(self, line: Line) -> None:
        self._printed.append(line)
        self._tell(text_of(line))
        self.prompt.write(line)

    def _tell(self, text: str) -> None:
        if (listen := self.app.face.listen) is not None:
            listen(text)

    def _settle(
        self, text: str, printed: list[Line], before: News, now: News, is_change: bool
    ) -> None:
        """After a line: new content needs its pane, a long answer its page; all panes are drawn."""
        if not self.app.is_running:
            return
        if not text.startswith(("copy", "snapshot")):
            self.answer = printed
        walk, answer, checklist = now
        self._choose_shown(text)
        self.set_class(walk is not None, "-lesson")
        self._mark_covered()
        self.query_one(Head).read_if_seen()  # the end of a run is seen before the panes
        self.frame_soon()
        is_why = answer is not before[1] and answer is not None
        if walk is not before[0] and walk is not None:
            self._begin_walk(printed)
        elif self.is_beside and is_why:
            self.bring(WHY)
            self._is_why_over = self.model.exercise is not None
        elif self._is_why_over and self.tab == WHY:
            self._is_why_over = False
            self.bring(NOTES)  # the answer was read: the tasks are what one goes on with
        elif checklist is not before[2] and checklist is not None:
            from rdmalab.tui.screens.checklist import Checklist

            self.call_after_refresh(
                self._unless_typed, printed, partial(self._open, Checklist(checklist))
            )
        elif self._is_page(len(printed), is_change):
            from rdmalab.tui.screens.answers import answer_page  # not for the first frame

            page = answer_page(text, printed, answer if is_why else None, self.size.height)
            self.call_after_refresh(self._unless_typed, printed, partial(self._open, page))

    def _begin_walk(self, printed: list[Line]) -> None:
        """A lesson or lab was opened: show its pane, or its text from the beginning."""
        self.bring(NOTES if self.is_beside else WIRE)  # a strip has the notes otherwise
        if not self.is_beside and len(printed) >= self.prompt.size.height:
            self.call_after_refresh(
                self._unless_typed, printed, partial(self.prompt.show_last, len(printed))
            )

    def _is_page(self, rows: int, is_change: bool) -> bool:
        """Whether an answer of so many rows opens a page.

        Never of a run: its end says what came of it, and the wire has its events. What a change has
        changed is seen in the nodes of a high screen, and tasks are seen in the strip, too: such an
        answer covers nothing unless it takes two thirds of the screen.
        """
        height = self.app.size.height
        is_seen = is_change and (height >= _HIGH or self._news()[0] is not None)
        least = 2 * height // 3 if is_seen else 1
        has = self.prompt.size.height + self._share_rows(has_menu=False)  # it is closed by Enter
        return self.model.conversation.run is None and rows >= max(has, least)

    def _choose_shown(self, text: str) -> None:
        """The cards follow `show` of a queue pair."""
        verb, _, name = text.partition(" ")
        thing = self.view.session.names.find(name.strip()) if verb == "show" else None
        if thing is not None and thing.noun is Noun.QP:
            self.choose(name.strip())

    def choose(self, name: str) -> None:
        """Show a queue pair and its peer in the cards of the nodes."""
        self.view.choose(name)
        self.frame_soon()

    def _open(self, page: TextScreen) -> None:
        if self.app.screen is self:
            self.app.push_screen(page)

    def _unless_typed(self, printed: list[Line], show: Callable[[], None]) -> None:
        """Show an answer, unless the user has gone on typing, or another line is carried out.

        A key may have been given to the prompt, which has not read it yet: a page that opened now
        would take the Enter that follows. Of two answers the newer one alone may wait: each would
        find the other in the queue, without end.
        """
        if printed is self._printed and self.prompt.message_queue_size:
            self.prompt.call_later(self._unless_typed, printed, show)
        elif printed is self._printed and not self.prompt.has_more:
            show()

    def _news(self) -> News:
        exercise, diagnosis = self.model.exercise, self.model.diagnosis
        return exercise or self.model.walk, diagnosis, self.model.conversation.checklist

    def frame_soon(self) -> None:
        """Draw once after the next refresh, however often that is asked for."""
        if not self._is_due:
            self._is_due = True
            after_refresh(self, self.frame)

    def frame(self) -> None:
        """Draw what differs. During a search the panes would need a replay for each moment."""
        self._is_due = False
        if not self.is_mounted:
            return
        self.frames += 1
        screens = () if self.model.conversation.searching else self.app.screen_stack
        with self.view.frame():
            self.query_one(Head).read_if_seen()
            self.query_one(Keys).refresh()
            for screen in screens:
                read_all(screen)
        self._share_rows(has_menu=self.prompt.is_choosing)

    def _share_rows(self, *, has_menu: bool) -> int:
        """Give the prompt the empty rows of the wire, where room is short; returns how many more.

        Where there is much, the wire grows with the session and never shrinks: no step moves it.
        """
        bottom, wire = self.query_one("#bottom"), self.query_one(f"#{WIRE}", Pane)
        is_moving = self.model.conversation.running or self.maximized
        if self._grown_for is not self.model.session:
            self._grown_for = self.model.session
            self.remove_class(*_SHARES)
        elif wire.rows_drawn >= wire.size.height > 0 and not is_moving:
            for name in [name for name in _SHARES if not self.has_class(name)][:1]:
                self.add_class(name)
                self.frame_soon()
        has_few = _LOW <= self.app.size.height < _TALL and self.app.size.width >= _NARROW
        if not has_few or self.tab != WIRE or self.maximized:
            bottom.styles.clear_rule("height")
            return 0
        least = _LEAST - self.has_class("-lesson")
        both = bottom.size.height + wire.size.height
        if self._news()[0] is not None:  # what is to be read stands in the prompt
            least = max(least, min(rows_to_read(self.answer) + _AROUND, both - _NEWEST_WIRE))
        least = max(least, min(_MENU, both - _LEAST_WIRE) if has_menu else 0)
        rows = max(least, both - max(_LEAST_WIRE, wire.rows_drawn + 1))
        has = bottom.styles.height
        if wire.size.height and (has is None or has.value != rows):
            bottom.styles.height = rows
        return rows - bottom.size.height if wire.size.height else 0

    def tell_bug(self, bug: Exception) -> None:
        """A pane has failed: each bug is reported once, and the session goes on."""
        if (text := called(bug)) not in self._reported:
            self._reported.add(text)
            written = report(bug, self.model.conversation.last_typed)
            self.prompt.write(plain(shown(f"{text}; {written}"), "class:error"))

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """The tab in front has the colour of the focus while its pane has the keys."""
        around = {each.id for each in event.widget.ancestors_with_self}
        is_wire = WIRE in around and not self.is_beside
        self.set_class("side" in around or is_wire, "-side-focus")

    def on_console_interrupted(self) -> None:
        """Stop the run after ^C at the prompt."""
        self.model.stop()

    def on_console_closed(self) -> None:
        """Exit with status 0 when the session has ended (^D or a command)."""
        self.app.exit(0)

    # ---- what is where --------------------------------------------------------------------------
    @property
    def is_beside(self) -> bool:
        """Whether the wire has a place of its own, beside the tabs."""
        return self.app.size.width >= _MEDIUM and self.app.size.height >= _TALL

    def on_resize(self) -> None:
        """The style sheet places all but the wire, which is a tab only where room is short."""
        self.call_after_refresh(self._arrange)

    def _arrange(self) -> None:
        if self.is_beside != self._was_beside:
            self._was_beside, tabs = self.is_beside, self.query_one(TabRow)
            (tabs.hide if self.is_beside else tabs.show)(f"tab-{WIRE}")
            if not self.is_beside or self.tab == WIRE:
                tabs.active = f"tab-{self._first_tab}"
            self._front(self.tab)
        self._arrange_packet()
        self.frame_soon()

    @property
    def is_apart(self) -> bool:
        """Whether the packet has a place of its own, beside the prompt."""
        return self.app.size.width >= _WIDE and self.app.size.height >= _HIGH

    def _arrange_packet(self) -> None:
        """One pane shows the packet: the one beside the prompt, or the tab."""
        tabs = self.query_one(TabRow)
        (tabs.hide if self.is_apart else tabs.show)(f"tab-{PACKET}")
        if not self.is_apart:
            return
        if not self.query(f"#{APART}"):
            self.query_one("#bottom").mount(made(APART, self.view))
        if self.tab == PACKET:
            tabs.active = f"tab-{self._first_tab}"

    @property
    def _first_tab(self) -> str:
        """The tab in front, where none was chosen."""
        return WIRE if not self.is_beside else NOTES if self._news()[0] else WHY

    @property
    def tab(self) -> str:
        """The name of the tab in front."""
        return (self.query_one(TabRow).active or f"tab-{WIRE}").removeprefix("tab-")

    def on_tabs_tab_activated(self, event: Tabs.TabActivated) -> None:
        """A click on a tab, or `bring`."""
        event.stop()
        if self.is_mounted:
            self._front(self.tab)

    def _front(self, name: str) -> None:
        self.set_class(name == WIRE and not self.is_beside, "-wire-in-front")
        self._mark_covered()
        if name != WIRE and self._has_side:
            switch = partial(self._switch, name)  # no coroutine before the worker runs
            start = partial(self.app.run_worker, switch, group="tabs")  # type: ignore[arg-type]
            after(self, _SOON_S, start)
        self.frame_soon()

    def open_side(self) -> None:
        """Make the pane of the tab in front, once nothing is typed or carried out."""
        if self.prompt.busy or self.prompt.has_more:
            after(self, QUIET_S, self.open_side)
        elif not self._has_side:
            self._has_side = True
            self._front(self.tab)

    def _mark_covered(self) -> None:
        """Show the tasks of a lab in the strip, where another tab covers them."""
        is_covered = self.is_beside and self.tab != NOTES and self.model.exercise is not None
        self.set_class(is_covered, "-tasks-covered")

    async def _switch(self, name: str) -> None:
        """Make the pane of a tab when it is asked for the first time.

        Another tab may have come to the front meanwhile: its pane is not to be covered.
        """
        switcher = self.query_one("#side", ContentSwitcher)
        if not switcher.query(f"#{name}"):
            pane = made(name, self.view)
            pane.display = False
            await switcher.mount(pane)
        if not switcher.query(f"#{name}") or name != self.tab:  # the app may have been left
            return
        switcher.current = name
        self.frame_soon()
        self.call_after_refresh(self._focus, name)

    def show_packet(self, event: int) -> None:
        """Show the packet of an event: in the pane that is there, else in its tab."""
        wire = self.query_one(f"#{WIRE}")
        is_alone, self.is_packet_of_wire = self.maximized is wire, wire.has_focus
        chosen, world = self.view.packet, self.view.session.world
        row = None if chosen is None else packets.decoded_row(world, chosen)
        if row is None or row.event != event:
            found = packets.of_event(world, event)
            self.view.packet = None if found is None else found.number
        self.bring(PACKET, focus=is_alone or not self.is_apart, is_alone=is_alone)
        self.frame()

    def bring(self, name: str, *, focus: bool = False, is_alone: bool = False) -> None:
        """Show a pane that has a tab, alone if asked, and not alone what was shown alone."""
        if focus or self.maximized is not self.prompt:
            self.maximized = None
        self._has_side = True
        name = APART if name == PACKET and self.is_apart else name
        if name != APART and (name != WIRE or not self.is_beside):
            if name == self.tab:  # before `open_side` the tab in front has no pane yet
                self._front(name)
            self.query_one(TabRow).active = f"tab-{name}"
        self.wanted, self._zooms = name if focus else "", is_alone
        self.call_after_refresh(self._focus, name)

    def _focus(self, name: str) -> None:
        """Focus a pane that was asked for, once it is there."""
        if name != self.wanted:
            return
        found = [*self.query(f"#{name}"), *self.query(f"#{name} *")]
        if (first := next((each for each in found if each.focusable), None)) is not None:
            self.wanted = ""
            self.set_focus(first)
            if self._zooms:
                self.maximize(first)

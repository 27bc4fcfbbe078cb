"""The bars of the main screen: where we are in time, what has just happened, and the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.style import Style
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Tabs

from rdmalab.render.meanings import APPEARANCES
from rdmalab.shell import show_timeline
from rdmalab.shell.styled_text import shown
from rdmalab.spec.states import ERROR_STATES
from rdmalab.tui.content import Ranked, click, content, dim, filled, piece, style
from rdmalab.tui.pane import Card
from rdmalab.views import fmt, timeline
from rdmalab.views.caption import caption, last_act
from rdmalab.views.columns import Meaning
from rdmalab.views.planned import PlannedKind
from rdmalab.views.ports import LinkRow
from rdmalab.views.programs import stuck_rows
from rdmalab.views.stalled import stalled_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual import events
    from textual.app import App
    from textual.binding import Binding

    from rdmalab.tui.app_model import AppModel


class Bar(Card, can_focus=False):
    """One line, or few; it is no pane."""

    ALLOW_MAXIMIZE = False


_CHIP = Content.styled(" rdmalab ", "bold $on on $event")


def _busy(doing: str) -> Content:
    word, gap, rest = doing.partition(" ")
    return Content.styled(f" {word.upper()}{gap}{rest}: F9 stops ", "bold $on on $busy")


class Head(Bar):
    """Clock, event, what failed, what is next, lesson, cable if it is not as usual.

    What says least goes where there is no room.
    """

    def lines(self, width: int, height: int) -> Ranked:
        """One line."""
        first = (*self._time(), self._failed(), self._coming(), self._lesson())
        return [(0, filled(width, [*first, *self._settings(width)]))]

    def read_if_seen(self) -> None:
        """Look; while a command takes long, show how far it is without a look at the world."""
        conversation = self.view.model.conversation
        if conversation.work is None:
            super().read_if_seen()
            return
        self.shown = filled(self.content_size.width, [_CHIP, _busy(conversation.doing)])
        self.refresh()

    def _time(self) -> Iterator[Content]:
        """`4.427 us`, `ev 24 of 31  PAST`, the branch."""
        history = self.view.session.history
        here, many = history.here, len(history.branches)
        yield _CHIP + " " + Content.styled(fmt.clock(here.at_ns), "bold")
        about = click("event", here.event) if here.event >= 0 else ""
        end = "" if history.live else f" of {history.end.event}"
        word = (" LIVE", "bold $good") if history.live else (" PAST ", "bold $on on $odd")
        yield Content.assemble((f"{fmt.ev(here.event, 'start')}{end} ", f"$event {about}"), word)
        yield Content(f"{history.branch.name} of {many}" if many > 1 else "")

    def _failed(self) -> Content:
        """`✗ A.qp0 B.qp0 in ERR`, `✗ 3 QPs in ERR`."""
        world, names = self.view.session.world, self.view.session.names
        found = [qp for hca in world.nodes.values() for qp in hca.qps.items.values()
                 if qp.state in ERROR_STATES]  # fmt: skip
        named = " ".join(fmt.qp_name(names, qp.node, qp.number) for qp in found[:_NAMED])
        states = "/".join(dict.fromkeys(qp.state.name for qp in found))
        word = named if len(found) <= _NAMED else f"{len(found)} QPs"
        about = click("open", "show qp")
        return piece(f"{word} in {states}", Meaning.FAILED, about) if found else Content()

    def _coming(self) -> Content:
        """Text for what runs, what is scheduled next, or what waits with nothing scheduled."""
        if doing := self.view.model.conversation.doing:
            return _busy(doing)
        if rows := self.view.view_of("show agenda").rows:
            row, about = rows[0], click("open", "show agenda")
            what = f"{row.qp or row.node} {_PLANS[row.plan]} at {fmt.clock(row.at_ns)}"
            return Content.assemble(("next: ", "$dim"), (what, about))
        stalled = sorted(self.view.ask(stalled_rows), key=lambda row: row.state is not None)
        if stalled:
            row, about = stalled[0], click("ask", stalled[0].name)
            if row.state is None:
                return piece(f"dead: {row.text}", Meaning.FAILED, about)
            return Content.styled(f"idle: {row.text}", f"{style(Meaning.WAITING)} {about}")
        stuck = [f"{row.name} {row.state.name}" for row in self.view.ask(stuck_rows)]
        return dim(f"idle: {', '.join(stuck) or 'nothing is pending'}")

    def _lesson(self) -> Content:
        """`lost-packet 7 of 9`."""
        if (walk := self.view.model.walk) is None:
            return Content()
        from rdmalab.scenario.reading import reading  # with yaml, not at the start

        name = walk.scenario.path.rpartition("/")[2].partition(".")[0]
        place = f" {reading(walk).reached} of {len(walk.scenario.steps)}"
        return Content.assemble((shown(name), "$event"), place)

    def _settings(self, width: int) -> Iterator[Content]:
        """The cable if it is down or has faults, breakpoints, devices that are not the usual."""
        session = self.view.session
        (link,) = self.view.rows("show link", LinkRow)
        about = click("open", "show link")
        yield Content() if link.up else piece("link DOWN", Meaning.FAILED, about)
        stops, faults = len(session.breakpoints.by_number), len(link.faults)
        yield Content.styled(fmt.count(faults, "fault") if faults else "", about)
        yield Content(fmt.count(stops, "breakpoint") if stops else "")
        names = "/".join(dict.fromkeys(hca.profile.name for hca in session.world.nodes.values()))
        yield dim(f"profile {names}" if names != "strict" or width >= _ROOMY else "")


_NAMED = 2
_PLANS = {
    PlannedKind.ARRIVAL: "packet arrives",
    PlannedKind.SEND: "sends",
    PlannedKind.NOTHING: "has nothing to send",
    PlannedKind.LOCAL: "executes",
    PlannedKind.RNR_TIMER: "RNR timer",
    PlannedKind.ACK_TIMER: "ack timer",
    PlannedKind.LINE: "program",
    PlannedKind.ACCIDENT: "fault",
}
_ROOMY = 100  # columns; from here on the usual is shown as well


class Tape(Bar):
    """This branch of time; a click goes to the event under the pointer."""

    def lines(self, width: int, height: int) -> Ranked:
        """One line."""
        troubles = self.view.ask(timeline.trouble_events)
        columns = width - _AFTER
        return [(0, content(show_timeline.drawn(self._row(columns), columns, troubles)))]

    def _row(self, columns: int) -> timeline.TimelineRow:
        session = self.view.session
        return timeline.tape_row(session.history, session.names, session.checkpoints, columns)

    def on_click(self, event: events.Click) -> None:
        """Go to the event under the pointer."""
        columns = self.content_size.width - _AFTER
        at = show_timeline.event_at(self._row(columns), columns, event.x - self.gutter.left)
        self.act("say", f"goto {at}" if at >= 0 else "goto start")


_AFTER = 5  # columns of ` now`


class CaptionBar(Bar):
    """The last event that was no typed query, on the colour of how it ended; below, what it did."""

    def lines(self, width: int, height: int) -> list[tuple[int, Content]]:
        """The sentence; where there are more rows, what `show story` says of the event."""
        session = self.view.session
        event = session.world.event
        event = event if session.caller_of(event) else last_act(session.world, event)
        sentence = caption(session.world, session.names, event)
        appearance = APPEARANCES[sentence.meaning]
        self.set_classes(f"-{appearance.tone}")
        caller = session.caller_of(event)
        called = f", called by {caller}" if caller else ""
        what, then, follows = sentence.text.partition(", then ")
        what = what if self.view.is_asked else f"{what}{then}{follows}"  # that is the answer
        text = f"{appearance.sign or ' '} {what}{called}"
        line = Content.styled(text, f"bold {click('event', event)}" if event >= 0 else "bold")
        found = [line.truncate(width, ellipsis=True)]
        if height > 1:
            story = [row.text for row in self.view.view_of("show story last=1").rows]
            found += [Content(f"  {each}").truncate(width, ellipsis=True)
                      for each in story if each.lower() != sentence.text.lower()]  # fmt: skip
        return list(enumerate(found[:height]))


class TabRow(Tabs, can_focus=False):
    """The tabs; they have no keys of their own, so a click leaves the keys with the prompt."""


class Keys(Widget, can_focus=False):
    """The keys that act now; the last ones go where room is short, none is cut in its middle.

    Textual's Footer makes a widget of each key with each change of the focus: measured, a
    fifth of the time from the first frame to the prompt.
    """

    DEFAULT_CSS = "Keys { dock: bottom; height: 1; }"

    def __init__(self, model: AppModel | None = None) -> None:
        super().__init__()
        self.model = model  # None: the labels are always the same

    def on_mount(self) -> None:
        """Draw them again when others act."""
        self.screen.bindings_updated_signal.subscribe(self, lambda _screen: self.refresh())

    @property
    def _labels(self) -> dict[str, str]:
        """Of the actions that do something else now than what the table of keys says."""
        found = {"zoom": "Unzoom"} if self.screen.maximized else {}
        if self.model is not None and self.model.conversation.running:
            found["run_or_stop"] = "Stop"
        elif self.model is not None:
            found["go_on"] = self.model.way_on.title()
        return found

    link_style = Style()  # a key has its own colours

    def render(self) -> Content:
        """The keys that fit, and the palette at the right."""
        active = self.screen.active_bindings
        shown, labels = dict[str, Content](), self._labels
        back = [e for e in active.values() if self.screen.maximized and e.binding.action == "zoom"]
        for each in (*back, *active.values()):  # first the way back
            if each.binding.show and each.enabled:
                label = labels.get(each.binding.action, each.binding.description)
                shown.setdefault(each.binding.action, _key(self.app, each.binding, label))
        finder = active.get(self.app.COMMAND_PALETTE_BINDING)
        palette = Content() if finder is None else _key(self.app, finder.binding, "Palette")
        width, line = self.size.width - 1, Content()
        whole = sum(each.cell_length + 2 for each in (*shown.values(), palette))
        gap = "  " if whole <= width else " "
        for key in shown.values():
            if line.cell_length + key.cell_length + palette.cell_length + 1 > width:
                break
            line += key + gap
        return line.pad_right(max(0, width - line.cell_length - palette.cell_length)) + palette


def _key(app: App[object], binding: Binding, label: str) -> Content:
    """A key and what it does; a click presses it."""
    press = f"@click=app.simulate_key({binding.key!r})"
    return Content.assemble(
        (app.get_key_display(binding), f"bold $event {press}"), " ", (label, press)
    )

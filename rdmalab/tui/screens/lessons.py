"""The lesson browser: paths and folders, what is done and what is next; typing finds."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from rdmalab.classroom.progress import coming, done
from rdmalab.scenario.lessons import ListedLesson, catalogue, learning_paths, sought
from rdmalab.scenario.reading import about
from rdmalab.scenario.source import FileError
from rdmalab.shell.kept_labs import kept
from rdmalab.shell.lab_requests import TOUR
from rdmalab.shell.styled_text import paragraphs, shown
from rdmalab.tui.bars import Keys
from rdmalab.tui.content import piece, style
from rdmalab.tui.layouts import Cover
from rdmalab.views.columns import Meaning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual.app import ComposeResult

    from rdmalab.tui.app import Rdmalab

_DIM, _HEAD = style(Meaning.DIM), style(Meaning.EVENT)
_FACTS = 9  # columns of the minutes
_MOVES = {"up": "cursor_up", "down": "cursor_down", "pageup": "page_up", "pagedown": "page_down"}


class Lessons(ModalScreen[None], Cover[None]):
    """Enter loads the marked lesson; of a lab it types the line, which needs the student's id.

    What is typed is sought in titles, names and tags.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back"),
        Binding("enter", "load", "Load the lesson", priority=True),
        *(Binding(key, f"move('{way}')", way, show=False) for key, way in _MOVES.items()),
    ]

    app: Rdmalab

    def __init__(self) -> None:
        super().__init__()
        self._lessons = catalogue()
        self._titles = {path.name: path.title for path in learning_paths()}
        self._done = done()
        self._next = coming(self._lessons, self._done)

    def compose(self) -> ComposeResult:
        """Widgets: the search field, the list, and the description of the marked lesson."""
        count = len(self._lessons)
        yield Static(f"[bold $event]Lessons and labs[/]  [$dim]{count}[/]", id="heading")
        yield Input(placeholder="type a word of a title, a name or a tag", compact=True, id="word")
        with Horizontal(id="parts"):
            yield OptionList(id="listed", compact=True)
            with VerticalScroll(id="about", can_focus=False):
                yield Static()
        yield Keys()

    @property
    def _list(self) -> OptionList:
        return self.query_one("#listed", OptionList)

    def on_mount(self) -> None:
        """Give the keys to the search field."""
        self._list.can_focus = False
        self.query_one(Input).focus()

    def on_resize(self) -> None:
        """Draw the rows for the new width."""
        self.call_after_refresh(self._draw)

    def on_input_changed(self) -> None:
        """Only what has all words."""
        self._draw()

    def _found(self) -> list[ListedLesson]:
        return sought(self._lessons, self.query_one(Input).value)

    def _draw(self) -> None:
        width, found = max(20, self._list.scrollable_content_region.width - 2), self._found()
        self._list.set_options(self._options(found, width))
        first = self._next if self._next in found else next(iter(found), None)
        if first is not None:
            self._list.highlighted = self._list.get_option_index(first.name)
        else:
            self._list.add_option(Option("no lesson has these words", disabled=True))
            self._tell(None)

    def _options(self, found: Sequence[ListedLesson], width: int) -> Iterator[Option]:
        finished = Counter(_place(each) for each in self._lessons if each.name in self._done)
        sizes = Counter(map(_place, self._lessons))
        for place, group in groupby(found, _place):
            title = f"{place}: {self._titles[place]}" if place in self._titles else place
            count = f"  {finished[place]} of {sizes[place]} done"
            room = width - len(count)
            yield Option(
                Content.assemble(_fitted(title, room, f"bold {_HEAD}"), (count, _DIM)),
                disabled=True,
            )
            yield from (Option(self._row(each, width), id=each.name) for each in group)

    def _row(self, each: ListedLesson, width: int) -> Content:
        """State, place on the path, title; minutes at the right."""
        state = Meaning.CURRENT if each is self._next else Meaning.PLAIN
        state = Meaning.OK if each.name in self._done else state
        facts = f"{each.minutes} min".rjust(_FACTS) if width > 4 * _FACTS else ""
        start = f"{each.order or '':>3}  "
        room = max(8, width - 2 - len(start) - len(facts))
        sign = piece("", state) if state is not Meaning.PLAIN else Content("  ")
        return Content.assemble(sign, (start, _DIM), _fitted(each.title, room), (facts, _DIM))

    # ---- the marked lesson ----------------------------------------------------------------------

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Say what it shows."""
        self._tell(next(each for each in self._lessons if each.name == event.option.id))

    def _tell(self, lesson: ListedLesson | None) -> None:
        text = Content()
        if lesson is not None:
            try:
                words = about(lesson.file)
            except FileError as wrong:
                words = str(wrong)
            text = Content.assemble(
                (f"{shown(lesson.title)}\n", "bold"), (f"load {lesson.name}", _HEAD),
                (f"  level {lesson.level}\n\n" if lesson.level else "\n\n", _DIM),
                "\n".join(map(shown, paragraphs(words))),
                (f"\n\n{'  '.join(map(shown, lesson.tags))}", _DIM),
            )  # fmt: skip
        self.query_one("#about Static", Static).update(text)
        self.query_one("#about").scroll_home(animate=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click loads a lesson, as a line that was typed."""
        event.stop()
        self._load(event.option.id or "")

    def action_load(self) -> None:
        """Load the marked lesson."""
        if (marked := self._list.highlighted_option) is not None:
            self._load(marked.id or "")

    def _load(self, name: str) -> None:
        self.dismiss()
        lesson = next(each for each in self._lessons if each.name == name)
        if name != TOUR and lesson.is_lab:  # its work is graded: whose is it?
            known = next((each.student for each in kept() if each.student), "")
            self.app.type_in(f"load {name} student={known}")
        else:
            self.app.say(TOUR if name == TOUR else f"load {name}")

    def action_move(self, way: str) -> None:
        """Move the mark; the words that are sought keep the keys."""
        with suppress(KeyError):  # it is not laid out yet, and knows no page
            getattr(self._list, f"action_{way}")()


def _fitted(text: str, width: int, style: str = "") -> Content:
    return Content.styled(shown(text), style).truncate(width, ellipsis=True, pad=True)


def _place(each: ListedLesson) -> str:
    return each.path or f"folder {each.folder or '.'}"

"""Make the prompt of a lab, with colours, completion menu and toolbar, for both faces."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.lexers import PygmentsLexer

from rdmalab import disk
from rdmalab.command import Command, Parameter, Span, kinds
from rdmalab.grammar.arguments import Slot
from rdmalab.grammar.partial import Expected, expect
from rdmalab.lab import Lab
from rdmalab.recovery.user_paths import state_path
from rdmalab.session.session import Session
from rdmalab.shell.colour import RdmalabLexer
from rdmalab.shell.legal_arguments import Choice, CompletionContext, judge_key
from rdmalab.shell.legal_values import values_of_slot
from rdmalab.shell.prompt import make_prompt
from rdmalab.shell.reply_text import next_thing
from rdmalab.shell.signature import signature
from rdmalab.shell.styles import prompt_style
from rdmalab.shell.tables import cut
from rdmalab.spec.programs import WORDS
from rdmalab.views import fmt

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.history import History


def choices(session: Session, line: str, cursor: int) -> tuple[list[Choice], Expected]:
    """The candidates for the word at the cursor, best first."""
    expected = expect(line, cursor, session.vocabulary, session.default_node, session.aliases)
    if any(_is_topic(slot.kind) for slot in expected.values):
        _take_whole_word(expected, line[:cursor])
    if expected.is_verb:
        begin = _line_words if expected.is_line else _verbs
        return begin(session, expected.partial), expected
    here = CompletionContext(session, expected, line[:cursor])
    found = [c for slot in expected.values for c in values_of_slot(here, slot)]
    if not any(_comes_first(slot) for slot in expected.values):
        found += _keys(here)
    found.sort(key=lambda choice: choice.rank)
    wanted = expected.partial.lower()
    is_file = expected.command is not None and expected.command.name == "load"
    return [c for c in found if _begins(c.text.lower(), wanted, inside=is_file)], expected


def _begins(text: str, wanted: str, *, inside: bool) -> bool:
    """Whether a text starts with the typed piece.

    Inside: or a part of its path, `rnr` in `err/rnr-naks`.
    """
    return text.startswith(wanted) or (inside and f"/{wanted}" in text)


def _is_topic(kind: kinds.ArgumentKind) -> bool:
    return isinstance(kind, kinds.ExpressionKind) and kind.is_topic


def _take_whole_word(expected: Expected, before: str) -> None:
    """Complete `A.qp0.wr[7` as a whole."""
    word = before[len(before.rstrip()) :] or before.split(" ")[-1]
    expected.partial = word.strip()
    expected.place = Span(len(before) - len(expected.partial), len(before))


def _comes_first(slot: Slot) -> bool:
    """Whether a positional argument is still missing; a question may be followed by keys."""
    required = slot.parameter.required and slot.parameter.positional
    return required and not isinstance(slot.kind, kinds.ExpressionKind)


# --------------------------------------------------------------------------- verbs
def _verbs(session: Session, partial: str) -> list[Choice]:
    prefix = "ibv_" if partial.lower().startswith("ibv_") else ""
    wanted = partial.lower().removeprefix("ibv_")
    known = (c for name, c in session.vocabulary.items() if name not in session.shut)
    found = [Choice(prefix + c.name, c.summary) for c in known]
    starts = [c for c in found if c.text.lower().startswith(partial.lower())]
    inside = [c for c in found if wanted and f"_{wanted}" in c.text and c not in starts]
    aliases = [Choice(a, f"= {full}") for a, full in session.aliases.items() if partial == a]
    return aliases + starts + inside


def _line_words(session: Session, partial: str) -> list[Choice]:
    """The first words of a program's line: the words of programs and the verbs."""
    begun = [Choice(word, row.sentence) for word, row in WORDS.items() if word.startswith(partial)]
    known = session.vocabulary
    changing = [
        c
        for c in _verbs(session, partial)
        if _is_for_programs(known.get(c.text.removeprefix("ibv_")))
    ]
    return begun + changing


def _is_for_programs(command: Command | None) -> bool:
    return command is not None and command.in_programs


# --------------------------------------------------------------------------- keys
def _keys(here: CompletionContext) -> Iterator[Choice]:
    for key, slot in here.expected.keys.items():
        if _is_only_braces(slot) or _is_topic(slot.kind) or not here.is_near(slot):
            continue
        verdict = judge_key(here, slot)
        if verdict is None:
            continue
        if _is_list_of_records(slot):
            yield Choice(f"{key}={{", f"one of several: {key}={{…}} {key}={{…}}", 3)
            continue
        name = _short(key, slot, here.expected.partial)
        meta = verdict.word or _about(slot.parameter)
        for value in verdict.values:
            yield Choice(f"{name}={value}", meta, verdict.rank)
        wanted = name + (" " if slot.parameter.spoken else "=")
        yield Choice(slot.parameter.flag or wanted, meta, verdict.rank)


def _is_only_braces(slot: Slot) -> bool:
    """Whether the fields of a record are offered in its place."""
    return isinstance(slot.kind, kinds.RecordKind) and slot.kind.short is None


def _is_list_of_records(slot: Slot) -> bool:
    """Whether it is written in braces; `sg` for example takes a name instead."""
    kind = slot.kind
    return (
        isinstance(kind, kinds.ListKind)
        and isinstance(kind.item, kinds.RecordKind)
        and not kind.item.short
    )


def _short(key: str, slot: Slot, partial: str) -> str:
    """The short alias, such as `state` for `qp_state`, unless another name is being typed."""
    others = (*slot.parameter.aliases, *slot.parameter.dotted)
    if partial and not key.startswith(partial):
        return next((name for name in others if name.startswith(partial)), key)
    shorter = [alias for alias in slot.parameter.aliases if key.endswith(f"_{alias}")]
    is_long = bool(partial) and not shorter[0].startswith(partial) if shorter else True
    return key if is_long else shorter[0]


def _about(parameter: Parameter) -> str:
    if parameter.required:
        return "required"
    default = parameter.default
    return "" if default in (None, "") else f"default {default}"


# --------------------------------------------------------------------------- values


class Offer(Completion):
    """A row of the menu. about: all of its description; the menu has as much as fits."""

    def __init__(self, text: str, start: int, display: str, about: str, room: int) -> None:
        super().__init__(text, start, display, cut(about, room))
        self.about = about


class LabCompleter(Completer):
    """A prompt_toolkit completer. session: called for each completion, because `load` replaces
    the session."""

    def __init__(self, session: Callable[[], Session]) -> None:
        self._session = session

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:
        """Candidates for the word at the cursor, each with its description.

        None on an empty line unless the user asks for them: a search that a letter has begun may
        read the line after ^U has cleared it, and all verbs would then cover the last answer.
        """
        text, cursor = document.text, document.cursor_position
        if event.text_inserted and not text:
            return
        found, expected = choices(self._session(), text, cursor)
        start = expected.place.start - cursor
        after = " " if expected.is_verb and text[cursor : cursor + 1] != " " else ""
        columns = get_app().output.get_size().columns
        folder = expected.partial[: expected.partial.rfind("/") + 1]
        names = [_name(choice.text.removeprefix(folder), columns // 3) for choice in found]
        room = columns - max(map(len, names), default=0) - _BETWEEN
        for choice, name in zip(found, names, strict=True):
            yield Offer(choice.text + after, start, name, choice.meta, room)


_BETWEEN = 5  # columns of a menu that have neither name nor description


def _name(text: str, room: int) -> str:
    """The text; of a path that is too long its begin and its end."""
    half = room // 2
    return text if len(text) <= room or "/" not in text else f"{text[:half]}…{text[1 - half :]}"


Report = Callable[[str], None]
T = TypeVar("T")


def ask_session(lab: Lab, *, history: "History | None" = None, **more: Any) -> "PromptSession[str]":
    """more: further arguments of `make_prompt`: key_bindings, embedded, input, output."""

    def message() -> "StyleAndTextTuples":
        return [("class:prompt", f"{lab.session.default_node}> ")]

    session = make_prompt(
        lexer=PygmentsLexer(RdmalabLexer),
        completer=LabCompleter(lambda: lab.session),
        history=history,
        message=message,
        toolbar=lambda: [("class:bottom-toolbar", f" {toolbar(lab)}")],
        **more,
    )
    session.style = prompt_style()
    return session


def no_history() -> "History":
    """A history in memory, for this session only."""
    return InMemoryHistory()


def kept_history(report: Report) -> "History":
    """The history file of all sessions; in memory if it cannot be written.

    report: called once with the reason if it cannot.
    """
    try:
        path = state_path() / "history"
        disk.opened(path).close() if path.exists() else path.touch()
    except OSError as wrong:
        report(_not_kept(wrong))
        return no_history()
    return _Kept(path, report)


class _Kept(FileHistory):
    """A history file that may be removed, or be on a full disk, during the session."""

    def __init__(self, path: Path, report: Report) -> None:
        super().__init__(path)
        self._path = path
        self._report = report
        self._given_up = False

    def load_history_strings(self) -> Iterable[str]:
        return self._tried(lambda: list(super(_Kept, self).load_history_strings())) or []

    def store_string(self, string: str) -> None:
        self._tried(lambda: self._store(string))

    def _store(self, string: str) -> None:
        disk.regular(self._path.stat())  # a history that was removed is not begun again
        super().store_string(string)

    def _tried(self, use: Callable[[], T]) -> T | None:
        """Use the file; after the first failure it is not used again."""
        if self._given_up:
            return None
        try:
            return use()
        except OSError as wrong:
            self._given_up = True
            self._report(_not_kept(wrong))
            return None


def _not_kept(wrong: OSError) -> str:
    return f"the history of lines is not kept: {wrong.strerror or wrong}"


def toolbar(lab: Lab) -> str:
    """Help for the argument at the cursor; on an empty line the virtual time."""
    document = get_app().current_buffer.document
    line = signature(lab.session, document.text, document.cursor_position)
    return line or status(lab)


def status(lab: Lab) -> str:
    """`t=10.230 us  ev 31  link UP  Next: …`."""
    world = lab.session.world
    link = "UP" if world.network.cable.up else "DOWN"
    place = fmt.ev(world.event, "start")
    soon = next_thing(lab.session)
    parts = [f"t={fmt.clock(world.now_ns)}", place, f"link {link}"]
    parts.append(f"Next: {soon}" if soon else "idle")
    return "  ".join(parts)

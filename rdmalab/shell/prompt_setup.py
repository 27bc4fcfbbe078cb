"""Make the prompt of a lab, with colours, completion menu and toolbar, for both faces."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from prompt_toolkit.application import get_app
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.lexers import PygmentsLexer

from rdmalab import disk
from rdmalab.lab import Lab
from rdmalab.recovery.user_paths import state_path
from rdmalab.shell.colour import RdmalabLexer
from rdmalab.shell.completion import LabCompleter
from rdmalab.shell.prompt import make_prompt
from rdmalab.shell.reply_text import next_thing
from rdmalab.shell.signature import signature
from rdmalab.shell.styles import prompt_style
from rdmalab.views import fmt

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.history import History


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

"""The prompt of a lab, ready to ask: its colours, its menu, its line of help. For both faces."""

from typing import TYPE_CHECKING, Any

from prompt_toolkit.application import get_app
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.lexers import PygmentsLexer

from rdmalab.lab import Lab
from rdmalab.lens import words
from rdmalab.shell.colour import RdmalabLexer
from rdmalab.shell.completion import LabCompleter
from rdmalab.shell.looks import look
from rdmalab.shell.prompt import make_prompt
from rdmalab.shell.say import next_thing
from rdmalab.shell.signature import signature
from rdmalab.workbench.places import state_path

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.history import History


def ask_session(lab: Lab, *, history: "History | None" = None, **more: Any) -> "PromptSession[str]":
    """`more`: what `make_prompt` also takes: key_bindings, embedded, input, output."""

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
    session.style = look()
    return session


def no_history() -> "History":
    """This session remembers, the next does not."""
    return InMemoryHistory()


def kept_history() -> "History":
    """What was typed in earlier sessions too, where it can be written down."""
    try:
        path = state_path() / "history"
        path.touch()
    except OSError:
        return no_history()
    return FileHistory(path)


def toolbar(lab: Lab) -> str:
    """What the argument at the cursor is; on an empty line where time stands."""
    document = get_app().current_buffer.document
    said = signature(lab.session, document.text, document.cursor_position)
    return said or status(lab)


def status(lab: Lab) -> str:
    """`t=10.230us  ev 31  link UP  Next: …`."""
    world = lab.session.world
    link = "UP" if world.cable.up else "DOWN"
    place = words.ev(world.event, "start")
    soon = next_thing(lab.session)
    parts = [f"t={words.clock(world.now_ns)}", place, f"link {link}"]
    parts.append(f"Next: {soon}" if soon else "nothing planned")
    return "  ".join(parts)

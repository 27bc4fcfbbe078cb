"""A tiny application around one Console: for the pilot, for a pty, and to look at.

python -m tests.tui.console.demo_app
"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.history import History, InMemoryHistory
from prompt_toolkit.lexers import Lexer
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.widgets import Static

from rdmalab.shell.prompt import make_prompt
from rdmalab.tui.console.pane import Console

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ClassVar

    from prompt_toolkit import PromptSession
    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output
    from textual.events import Resize

VERBS = ["poll_cq", "post_recv", "post_send", "post_srq_recv", "quit", "step"]


class DemoLexer(Lexer):
    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        def line(number: int) -> StyleAndTextTuples:
            verb, space, rest = document.lines[number].partition(" ")
            style = "class:pygments.keyword" if verb in VERBS else ""
            return [(style, verb), ("", space + rest)]

        return line


class Demo(App[None]):
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #top { height: 1fr; }
    Console { height: 6; border: round white; }
    Console:focus { border: double white; }
    """
    BINDINGS: ClassVar = [
        Binding("f6", "app.focus_next", priority=True),
        Binding("f8", "say_step"),
        Binding("ctrl+q", "quit", priority=True),
    ]

    def __init__(self, history: History | None = None, toolbar: str | None = " F6 pane ") -> None:
        super().__init__()
        self.history = history or InMemoryHistory()
        self.toolbar = toolbar
        self.heard: list[str] = []
        self.interrupted = asyncio.Event()
        self.closed = False

    def compose(self) -> ComposeResult:
        top = Static("size", id="top")
        top.can_focus = True
        yield top
        yield Console(self._session, self.evaluate)

    def on_mount(self) -> None:
        self.console_pane.focus()

    def on_resize(self, event: Resize) -> None:
        self.query_one("#top", Static).update(f"{event.size.width} columns")

    def _session(self, *, input: Input, output: Output, embedded: bool) -> PromptSession[str]:  # noqa: A002
        return make_prompt(
            lexer=DemoLexer(),
            completer=WordCompleter(VERBS),
            history=self.history,
            message="A> ",
            toolbar=self.toolbar,
            embedded=embedded,
            input=input,
            output=output,
        )

    @property
    def console_pane(self) -> Console:
        return self.query_one(Console)

    async def evaluate(self, text: str) -> bool:
        self.heard.append(text)
        if text == "forever":
            await self.interrupted.wait()
        if text.startswith("lines "):
            say = self.console_pane.write
            for number in range(int(text.split()[1])):
                say([("", f"line {number}")])
        elif text:
            self.console_pane.write([("class:hint", f"   heard {text.count(chr(10)) + 1} line(s)")])
        return text != "quit"

    def on_console_interrupted(self) -> None:
        self.interrupted.set()

    def on_console_closed(self) -> None:
        self.closed = True
        self.exit()

    def action_say_step(self) -> None:
        self.console_pane.say("step")


def main() -> int:
    Demo().run()
    return 0


if __name__ == "__main__":
    sys.exit(main())

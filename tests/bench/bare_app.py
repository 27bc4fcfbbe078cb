"""`python -m tests.bench.bare_app`: a Textual app with one prompt_toolkit session in it.

The yardstick of the start: what any app on these two libraries costs before it does anything.
"""

import asyncio

from prompt_toolkit import PromptSession
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from textual.app import App, ComposeResult
from textual.events import Key
from textual.widgets import Static

PROMPT = "A> "


class Bare(App[None]):
    """The prompt in one widget; keys go to the session, its text comes back after each."""

    def compose(self) -> ComposeResult:
        yield Static(PROMPT, id="prompt", markup=False)

    def on_mount(self) -> None:
        self.run_worker(self._ask())

    async def _ask(self) -> None:
        with create_pipe_input() as self._keys:
            self._session: PromptSession[str] = PromptSession(
                input=self._keys, output=DummyOutput()
            )
            await self._session.prompt_async(PROMPT)

    async def on_key(self, event: Key) -> None:
        self._keys.send_text(event.character or "")
        await asyncio.sleep(0)
        self.query_one("#prompt", Static).update(PROMPT + self._session.default_buffer.text)


if __name__ == "__main__":
    Bare().run()

"""Upgrade risk: parts of prompt_toolkit that its manual does not promise.

A prompt inside a pane has to reach into the renderer and the running application. Only
`tui/console/live.py` does. pyproject.toml allows 3.0 only; before it allows a newer one, these
tests and tests/tui/console must pass with that version.
"""

import asyncio
import inspect
import re
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.application import application, create_app_session
from prompt_toolkit.data_structures import Point
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.layout.mouse_handlers import MouseHandlers
from prompt_toolkit.output import DummyOutput
from prompt_toolkit.renderer import Renderer

ROOT = Path(__file__).parents[3]
LIVE = ROOT / "rdmalab" / "tui" / "console" / "live.py"
INTERNALS = re.compile(
    r"mouse_handlers|last_rendered_screen|app\.context\b|data_buffer|cursor_positions\b"
    r"|renderer\.re\w+|attach_winch"
)


def test_only_the_live_prompt_reaches_into_prompt_toolkit() -> None:
    using = [p for p in (ROOT / "rdmalab").rglob("*.py") if INTERNALS.search(p.read_text("utf-8"))]
    assert using == [LIVE]


def test_one_minor_version_is_allowed() -> None:
    wanted = (ROOT / "pyproject.toml").read_text("utf-8")
    assert '"prompt_toolkit>=3.0.50,<3.1"' in wanted


def test_the_renderer_is_as_the_live_prompt_expects_it() -> None:
    assert isinstance(inspect.getattr_static(Renderer, "last_rendered_screen"), property)
    for name in ("reset", "request_absolute_cursor_position"):
        required = inspect.signature(getattr(Renderer, name)).parameters.values()
        assert all(p.name == "self" or p.default is not p.empty for p in required), name
    at = Point(3, 2)
    assert MouseHandlers().mouse_handlers[at.y][at.x](None) is NotImplemented  # type: ignore[arg-type]


def test_the_signal_of_a_resize_is_taken_where_the_live_prompt_prevents_it() -> None:
    source = inspect.getsource(application.Application.run_async)
    assert "attach_winch_signal_handler(self._on_resize)" in source
    assert "attach_winch_signal_handler" in vars(application)


def test_a_running_application_has_a_context_and_a_screen() -> None:
    async def prompted() -> None:
        with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
            session: PromptSession[str] = PromptSession()
            app = session.app
            assert app.context is None
            waiting = asyncio.ensure_future(session.prompt_async())
            while app.renderer.last_rendered_screen is None:
                await asyncio.sleep(0)
            screen = app.renderer.last_rendered_screen
            assert app.context is not None
            assert app.layout.current_window in screen.cursor_positions
            assert screen.data_buffer[0][0].char == " "
            app.exit(result="")
            await waiting

    asyncio.run(asyncio.wait_for(prompted(), 10))

"""Carries out requests to the face: load, next, open, continue, new, share, copy."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from rdmalab.lab import open_session
from rdmalab.session.lines import Reply
from rdmalab.shell.lab_requests import LAB_WISHES, open_lab
from rdmalab.shell.lesson import DIM, Drive, Lesson
from rdmalab.shell.styled_text import plain
from rdmalab.shell.tour import tour
from rdmalab.workbench.files import Continue, Empty, Load, Next, Open, Shared
from rdmalab.workbench.lab_words import Tour
from rdmalab.workbench.recovered_sessions import waiting
from rdmalab.workbench.write_ahead_log import head_of

if TYPE_CHECKING:
    from rdmalab.scenario.loader import Scenario
    from rdmalab.shell.conversation import Conversation, Emit, Pause

FaceHandler = Callable[["Conversation", Any, "Emit", "Pause"], Awaitable[None]]


def _driver(talk: "Conversation", pause: "Pause") -> Drive:
    async def drive(reply: Reply) -> None:
        if reply.travel is not None:
            await talk.go(reply.travel, pause)

    return drive


# --------------------------------------------------------------------------- lessons
async def _load(talk: "Conversation", wish: Load, emit: "Emit", pause: "Pause") -> None:
    """Replace the world by that of the scenario, and run its setup."""
    from rdmalab.scenario.files import LAB_SUFFIX, found
    from rdmalab.scenario.loader import FileError, load

    path = talk.diary.path(found(wish.path))
    if path.endswith(LAB_SUFFIX):
        open_lab(talk, wish, path, emit)
        return
    try:
        scenario = load(path, talk.lab.session.vocabulary)
    except FileError as error:
        talk.report_error(str(error), emit)
        return
    if wrong := talk.diary.loaded(scenario.path, scenario.source.text):
        talk.report_error(wrong, emit)
        return
    lesson = _opened(talk, scenario, wish.profile, emit)
    talk.lesson = lesson
    async for line in lesson.begin(_driver(talk, pause)):
        talk.tell([line], emit)
    talk.judge(ok=lesson.runner.ok)


async def _next(talk: "Conversation", _wish: Next, emit: "Emit", pause: "Pause") -> None:
    """Go on to the next stop of the loaded scenario."""
    lesson = talk.lesson
    if lesson is None:
        talk.report_error("no scenario is loaded: load FILE", emit)
        return
    async for line in lesson.advance(_driver(talk, pause)):
        talk.tell([line], emit)
    talk.judge(ok=lesson.runner.ok)


def _opened(
    talk: "Conversation", scenario: "Scenario", profile: str | None, emit: "Emit"
) -> Lesson:
    """A new world for a scenario; nodes without a profile get that of the lab."""
    from rdmalab.scenario.runner import Runner

    default = next(iter(talk.lab.profiles.values())).name
    runner = Runner(scenario, open_session, profile=profile, default=default)
    if runner.replaced:
        talk.tell([plain(runner.replaced, DIM)], emit)
    runner.session.default_node = talk.lab.session.default_node
    talk.start_over(runner.session)
    return Lesson(runner, talk.voice)


# --------------------------------------------------------------------------- handed on
async def _open(talk: "Conversation", wish: Open, emit: "Emit", pause: "Pause") -> None:
    """Replace the world by a shared session, played to its end; ^C stops it between two steps."""
    from rdmalab.scenario.loader import FileError, loads

    try:
        scenario = loads(wish.scenario, "shared", talk.lab.session.vocabulary)
    except FileError as error:
        talk.report_error(str(error), emit)
        return
    lesson = _opened(talk, scenario, wish.profile, emit)
    said = await lesson.through(_driver(talk, pause), pause, lambda: talk.stopping)
    talk.tell(said, emit)
    talk.judge(ok=lesson.runner.ok)


async def _continue(talk: "Conversation", wish: Continue, emit: "Emit", pause: "Pause") -> None:
    from rdmalab.shell.session_recovery import continued

    complaint = await continued(talk, wish, emit, pause)
    talk.judge(ok=True)
    if complaint:
        talk.report_error(complaint, emit)


async def _new(talk: "Conversation", _wish: Empty, emit: "Emit", _pause: "Pause") -> None:
    """Replace the world by an empty one, and close the log of the previous session."""
    talk.start_over(talk.lab.empty())
    session = talk.lab.session
    left = talk.diary.begin_empty(head_of(session))
    devices = ", ".join(f"{node} ({p.name})" for node, p in talk.lab.profiles.items())
    text = f"Empty world: nodes {devices}; time 0. use rc_pair makes a connection."
    talk.tell([plain(text)], emit)
    if left is not None and left in (kept := waiting(left.parent)):
        number = kept.index(left) + 1
        word = "continue" if number == 1 else f"continue {number}"
        talk.tell([plain(f"{word} restores the previous session.", DIM)], emit)
    talk.judge(ok=True)


async def _share(talk: "Conversation", word: Shared, emit: "Emit", _pause: "Pause") -> None:
    """Copy a text that was printed to the clipboard, if the face has one."""
    if talk.copy is not None:
        talk.copy(word.text)
        text = "copied to the clipboard, if the terminal permits it (OSC 52)"
        talk.tell([plain(text, DIM)], emit)


WISHES: dict[type, FaceHandler] = {
    Load: _load, Next: _next, Open: _open, Continue: _continue, Shared: _share, Empty: _new,
    Tour: tour, **LAB_WISHES,
}  # fmt: skip

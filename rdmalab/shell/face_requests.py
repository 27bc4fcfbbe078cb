"""Carries out requests to the face: load, next, open, continue, new, share, copy, settings."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from rdmalab.lab import open_session
from rdmalab.session.lines import Reply
from rdmalab.shell.kept_labs import open_kept, return_to_lab, tour
from rdmalab.shell.lab_requests import LAB_WISHES, left_lab, open_lab
from rdmalab.shell.lesson import Drive, Lesson
from rdmalab.shell.styled_text import plain
from rdmalab.shell.tables import DIM, GOOD, WARN
from rdmalab.views import fmt
from rdmalab.workbench.files import Continue, Empty, ListLessons, Load, Next, Open, Shared
from rdmalab.workbench.help import SettingChange
from rdmalab.workbench.lab_words import GiveAnswer, ReturnToLab, Tour
from rdmalab.workbench.recovered_sessions import waiting
from rdmalab.workbench.screen_words import ScreenRequest
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
    from rdmalab.scenario.files import LAB_SUFFIX, found, is_folder, short_name
    from rdmalab.scenario.loader import FileError, load

    path = talk.diary.path(found(wish.path))
    if (folder := short_name(path)) != path and is_folder(path):
        talk.report_error(f"{folder} is a folder; load one of its lessons:", emit)
        await _lessons(talk, ListLessons(folder), emit, pause)
        return
    if path.endswith(LAB_SUFFIX):
        (open_kept if talk.diary.is_kept else open_lab)(talk, wish, path, emit)
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


async def _lessons(talk: "Conversation", wish: ListLessons, emit: "Emit", _pause: "Pause") -> None:
    """Print the list; in the app all of it is a screen in which one can search."""
    from rdmalab.classroom import progress
    from rdmalab.scenario.lessons import UnknownWord, catalogue, chosen
    from rdmalab.scenario.source import FileError

    is_whole = bool(wish.path or wish.tag or wish.level)
    if talk.screen is not None and not is_whole:
        talk.screen(ScreenRequest("lessons"))
        return
    try:
        found = chosen(catalogue(), wish.path, wish.tag, wish.level)
    except (FileError, UnknownWord) as error:
        talk.report_error(str(error), emit)
        return
    talk.tell(list(progress.table(found, talk.voice.page.width, whole=is_whole)), emit)


async def _next(talk: "Conversation", _wish: Next, emit: "Emit", pause: "Pause") -> None:
    """Go on to the next stop of the loaded scenario."""
    lesson = talk.lesson
    if lesson is None:
        talk.report_error("no scenario is loaded: load FILE", emit)
        return
    async for line in lesson.advance(_driver(talk, pause)):
        talk.tell([line], emit)
    if lesson.runner.over and lesson.runner.ok:
        from rdmalab.classroom.progress import mark_done
        from rdmalab.scenario.files import short_name

        mark_done(short_name(lesson.runner.scenario.path))
    talk.judge(ok=lesson.runner.ok)


async def _answer(talk: "Conversation", wish: GiveAnswer, emit: "Emit", pause: "Pause") -> None:
    """Answer a task of a lab, or the question of a lesson: then go on to its answer."""
    from rdmalab.scenario.reading import open_letters, right_ahead

    if talk.exercise is not None or talk.lesson is None:
        await LAB_WISHES[GiveAnswer](talk, wish, emit, pause)
        return
    runner = talk.lesson.runner
    offered, word = open_letters(runner), (wish.text or wish.task).lower().rstrip(")")
    if word.isdecimal() and 0 < int(word) <= len(offered):
        word = offered[int(word) - 1]
    if not offered:
        talk.report_error("no question is open; next goes on", emit)
    elif len(word) != 1 or word not in offered:
        talk.report_error(f"{fmt.either(offered)} answers this question", emit)
    else:
        if right := right_ahead(runner):
            is_right = word == right
            told = f"✓ {word}) is right." if is_right else f"✗ {word}) is not the answer."
            talk.tell([plain(told, GOOD if is_right else WARN)], emit)
        await _next(talk, Next(), emit, pause)


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
    left_lab(talk, emit)
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

    if talk.exercise is not None or talk.lesson is not None:
        here = "lab" if talk.exercise is not None else "lesson"
        talk.report_error(
            f"continue restores an earlier session, and a {here} is open here. run goes on in time;"
            f" new leaves the {here}, then continue restores.", emit
        )  # fmt: skip
        return
    complaint = await continued(talk, wish, emit, pause)
    talk.judge(ok=True)
    if complaint:
        talk.report_error(complaint, emit)


async def _new(talk: "Conversation", _wish: Empty, emit: "Emit", _pause: "Pause") -> None:
    """Replace the world by an empty one, and close the log of the previous session."""
    left_lab(talk, emit)
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
        talk.tell([plain(talk.copy(word.text), DIM)], emit)


async def _screen(talk: "Conversation", wish: ScreenRequest, emit: "Emit", _pause: "Pause") -> None:
    """Hand a request to the app; the other faces have no screen."""
    if talk.screen is None:
        talk.report_error(f"{wish.word}: only in the app, which is started with rdmalab", emit)
    elif said := talk.screen(wish):
        talk.tell([plain(said, DIM)], emit)


async def _set(talk: "Conversation", _: SettingChange, _emit: "Emit", _pause: "Pause") -> None:
    if talk.settings_changed is not None:
        talk.settings_changed()


WISHES: dict[type, FaceHandler] = {
    Load: _load, Next: _next, Open: _open, Continue: _continue, Shared: _share, Empty: _new,
    SettingChange: _set, ListLessons: _lessons, Tour: tour, ReturnToLab: return_to_lab,
    ScreenRequest: _screen, **LAB_WISHES, GiveAnswer: _answer,
}  # fmt: skip

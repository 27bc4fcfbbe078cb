"""Carries out requests to the face: load, next, open, continue, new, share, copy, settings."""

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdmalab.command import UserError
from rdmalab.lab import open_session
from rdmalab.recovery.recovered_sessions import (
    LockedRecording,
    LoggedLine,
    Recording,
    Reread,
    lines_again,
    restoring,
    taken,
    waiting,
)
from rdmalab.recovery.write_ahead_log import WriteAheadLog, head_of, place_of
from rdmalab.shell.kept_labs import open_kept, return_to_lab, tour
from rdmalab.shell.lab_requests import LAB_HANDLERS, handed_out, in_lab, left_lab, open_lab
from rdmalab.shell.lesson import Lesson, judged
from rdmalab.shell.styled_text import Line, plain, text_of
from rdmalab.shell.tables import DIM, GOOD, WARN
from rdmalab.spec.profiles import PROFILES
from rdmalab.views import fmt
from rdmalab.workbench.files import (
    Continue,
    Empty,
    Exported,
    ListLessons,
    Load,
    Next,
    Open,
    Saved,
    Shared,
)
from rdmalab.workbench.help import SettingChange
from rdmalab.workbench.lab_words import GiveAnswer, ReturnToLab, Tour
from rdmalab.workbench.screen_words import ScreenRequest

if TYPE_CHECKING:
    from rdmalab.scenario.loader import Scenario
    from rdmalab.shell.evaluation import Emit, Evaluation

_SHOWN_SESSIONS = 5
_MANY_LINES = 20  # that take long to carry out again, if they ran for long
_MOST_COUNTS = 8  # how often a restoration says how far it is


async def continued(evaluation: "Evaluation", request: Continue) -> str:
    """Restore a session; returns the reason if that failed, else an empty text."""
    log = evaluation.log
    if not isinstance(log, WriteAheadLog):
        return "scripts keep no session: continue works at a prompt only"
    paths = waiting(log.folder)
    number = request.number or 1
    if number > len(paths):
        count = f"{len(paths)} of them" if paths else "none"
        return f"no session has number {number} to continue: there is {count}"
    volume = taken(paths[number - 1])
    if volume is None or volume.book is None:
        return "another process has continued that session already"
    try:
        await _Continuation(evaluation, log, volume.book).run(volume)
    finally:
        volume.close()
    return ""


class _Continuation:
    """Replay of one log, line by line."""

    def __init__(self, evaluation: "Evaluation", log: WriteAheadLog, book: Recording) -> None:
        self.evaluation = evaluation
        self.log = log
        self.book = book

    async def run(self, volume: LockedRecording) -> None:
        """Run the completed lines first; the unfinished one runs with output."""
        self._begin()
        lines = self.book.lines
        whole = lines[:-1] if lines[-1].end is None else lines
        if len(lines) > _MANY_LINES:
            count = fmt.count(len(lines), "line")
            self._say(f"Restoring {count}, each is carried out again; ^C stops.", DIM)
        done = 0
        while done < len(whole) and not (wrong := await self._again(whole[done])):
            done += 1
            if not done % max(_MANY_LINES, len(lines) // _MOST_COUNTS):
                self._say(f"{done} of {len(lines)} lines are restored.", DIM)
            await self.evaluation.pause()  # the screen and ^C are served between two lines
        self.log.whole()
        if done < len(whole):
            self._say(f"{wrong}  The other {len(lines) - done} of {len(lines)} lines are kept.")
            return
        volume.path.unlink(missing_ok=True)
        self._report(len(whole))
        if len(whole) < len(lines):
            await self._last(lines[-1])

    def _begin(self) -> None:
        head, lab = self.book.head, self.evaluation.lab
        lab.profiles = {node: PROFILES[name] for node, name in head.nodes.items()}
        lab.seed, node = head.seed, next(iter(head.nodes))
        session = open_session(lab.profiles, seed=head.seed, default_node=node)
        self.evaluation.conversation.start_over(session)
        for line in head.begin:
            lab.do(line)
        self.log.start_over(head)

    async def _again(self, typed: LoggedLine) -> str:
        """Run a completed line again; returns the reason if it ends elsewhere."""
        self.log.typed(typed.text)
        complaints: list[str] = []
        line, _ = await self._carry_out(typed, lambda row: complaints.append(text_of(row).strip()))
        place = place_of(self.evaluation.lab.session)
        self.log.ended(place, typed.commands or 0)
        if self.evaluation.stop.requested:
            return "Stopped."
        if place == typed.end:
            return ""
        because = f": {complaints[-1]}" if line.is_misread and complaints else ""
        return f"{typed.text} does not end at the same event as before{because}."

    async def _last(self, typed: LoggedLine) -> None:
        """Run the line in which the process ended, unless it did so twice.

        Its log entry is written first, so that no third process runs it.
        """
        if typed.again:
            self._say(f"skipped, because the lab ended in it twice: {typed.text}")
            return
        self.evaluation.emit(plain(f"> {typed.text}", DIM))
        self.log.typed(typed.text, again=True)
        printed: list[Line] = []
        line, halted = await self._carry_out(typed, printed.append)
        self.log.ended(place_of(self.evaluation.lab.session), line.commands)
        for row in printed:
            self.evaluation.emit(row)
        if halted:
            self._say("It had not finished when the lab ended: type it again to continue.")

    async def _carry_out(self, typed: LoggedLine, emit: "Emit") -> tuple["Evaluation", bool]:
        """Run a logged line; also returns whether a run was stopped at an unlogged place."""
        text, may_go_on = lines_again(self.evaluation.lab.session, typed)
        log = Reread(typed, self.log, may_go_on=may_go_on)
        line = self.evaluation.nested(emit, log)
        if text:
            await in_lab(line, text)
        return line, log.halted

    def _report(self, lines: int) -> None:
        world = self.evaluation.lab.session.world
        count = fmt.count(lines, "line")
        where = f"{fmt.clock(world.now_ns)}, {fmt.event(world.event)}"
        self._say(f"Continued: {count}; it is {where}.", GOOD)

    def _say(self, text: str, style: str = WARN) -> None:
        self.evaluation.tell([plain(text, style)])


FaceHandler = Callable[["Evaluation", Any], Awaitable[None]]


# --------------------------------------------------------------------------- lessons
async def _load(evaluation: "Evaluation", request: Load) -> None:
    """Replace the world by that of the scenario, and run its setup."""
    from rdmalab.scenario.files import LAB_SUFFIX, found, is_folder, short_name
    from rdmalab.scenario.loader import load

    path = evaluation.log.path(found(request.path))
    if (folder := short_name(path)) != path and is_folder(path):
        evaluation.report_error(f"{folder} is a folder; load one of its lessons:")
        await _lessons(evaluation, ListLessons(folder))
        return
    if path.endswith(LAB_SUFFIX):
        (open_kept if evaluation.log.is_kept else open_lab)(evaluation, request, path)
        return
    scenario = load(path, evaluation.lab.session.vocabulary)
    if wrong := evaluation.log.loaded(scenario.path, scenario.source.text):
        raise UserError(wrong)
    lesson = _opened(evaluation, scenario, request.profile)
    if scenario.is_session:
        await lesson.through(evaluation)
    else:
        evaluation.conversation.lesson = lesson
        await lesson.begin(evaluation)
    evaluation.judge(ok=lesson.runner.ok)


async def _lessons(evaluation: "Evaluation", request: ListLessons) -> None:
    """Print the list; in the app all of it is a screen in which one can search."""
    from rdmalab.classroom import progress
    from rdmalab.scenario.lessons import catalogue, chosen

    is_whole = bool(request.path or request.tag or request.level)
    if evaluation.conversation.screen is not None and not is_whole:
        evaluation.conversation.screen(ScreenRequest("lessons"))
        return
    found = chosen(catalogue(), request.path, request.tag, request.level)
    evaluation.tell(list(progress.table(found, evaluation.output.page.width, whole=is_whole)))


async def _next(evaluation: "Evaluation", _request: Next) -> None:
    """Go on to the next stop of the loaded scenario."""
    lesson = evaluation.lesson
    if lesson is None:
        raise UserError("no scenario is loaded: load FILE")
    await lesson.advance(evaluation)
    lesson.end(evaluation)


async def _answer(evaluation: "Evaluation", request: GiveAnswer) -> None:
    """Answer a task of a lab, or the question of a lesson: then go on to its answer."""
    from rdmalab.scenario.reading import open_letters, right_ahead

    if evaluation.exercise is not None or evaluation.lesson is None:
        await LAB_HANDLERS[GiveAnswer](evaluation, request)
        return
    runner = evaluation.lesson.runner
    offered, word = open_letters(runner), (request.text or request.task).lower().rstrip(")")
    if word.isdecimal() and 0 < int(word) <= len(offered):
        word = offered[int(word) - 1]
    if not offered:
        raise UserError("no question is open; next goes on")
    if len(word) != 1 or word not in offered:
        raise UserError(f"{fmt.either(offered)} answers this question")
    if right := right_ahead(runner):
        if word != right:
            runner.wrong[runner.position] = word
        evaluation.tell([judged(word, is_right=word == right)])
    await _next(evaluation, Next())


def _opened(evaluation: "Evaluation", scenario: "Scenario", profile: str | None) -> Lesson:
    """A new world for a scenario; nodes without a profile get that of the lab."""
    from rdmalab.scenario.runner import Runner

    default = next(iter(evaluation.lab.profiles.values())).name
    runner = Runner(scenario, open_session, profile=profile, default=default)
    if runner.replaced:
        evaluation.tell([plain(runner.replaced, DIM)])
    runner.session.default_node = evaluation.lab.session.default_node
    left_lab(evaluation)
    evaluation.conversation.start_over(runner.session)
    return Lesson(runner, evaluation.output)


# --------------------------------------------------------------------------- handed on
async def _open(evaluation: "Evaluation", request: Open) -> None:
    """Replace the world by a shared session, played to its end; ^C stops it between two steps."""
    from rdmalab.scenario.loader import loads

    scenario = loads(request.scenario, "shared", evaluation.lab.session.vocabulary)
    lesson = _opened(evaluation, scenario, request.profile)
    await lesson.through(evaluation)
    evaluation.judge(ok=lesson.runner.ok)


async def _continue(evaluation: "Evaluation", request: Continue) -> None:
    if evaluation.exercise is not None or evaluation.lesson is not None:
        here = "lab" if evaluation.exercise is not None else "lesson"
        raise UserError(
            f"continue restores an earlier session, and a {here} is open here. run goes on in time;"
            f" new leaves the {here}, then continue restores."
        )
    log = evaluation.log
    is_own = evaluation.conversation.has_commands and not request.number
    if is_own and isinstance(log, WriteAheadLog):
        evaluation.report_error(
            "continue closes this session and restores an earlier one; run goes on in time. "
            "continue 1 does restore it; this session is kept."
        )
        evaluation.tell(list(_waiting_rows(waiting(log.folder))))
        return
    complaint = await continued(evaluation, request)
    evaluation.judge(ok=True)
    if complaint:
        raise UserError(complaint)


def _waiting_rows(paths: Sequence[Path]) -> Iterator[Line]:
    """A row for each of the first sessions: its number, date, length and first line."""
    for number, path in enumerate(paths[:_SHOWN_SESSIONS], 1):
        volume = taken(path)
        if volume is None:
            continue
        try:
            book = volume.book
            if book is not None and book.lines:
                when = time.strftime("%Y-%m-%d %H:%M", time.localtime(volume.at_s))
                count = fmt.count(len(book.lines), "line")
                yield plain(f"continue {number}  {when}  {count}: {book.lines[0].text}", DIM)
        finally:
            volume.close()


async def _new(evaluation: "Evaluation", _request: Empty) -> None:
    """Replace the world by an empty one, and close the log of the previous session."""
    left_lab(evaluation)
    evaluation.conversation.start_over(evaluation.lab.empty())
    session = evaluation.lab.session
    left = evaluation.log.begin_empty(head_of(session))
    devices = ", ".join(f"{node} ({p.name})" for node, p in evaluation.lab.profiles.items())
    text = f"Empty world: nodes {devices}; time 0. use rc_pair makes a connection."
    evaluation.tell([plain(text)])
    if word := restoring(left):
        evaluation.tell([plain(f"{word} restores the previous session.", DIM)])
    evaluation.judge(ok=True)


async def _share(evaluation: "Evaluation", word: Shared) -> None:
    """Copy a text that was printed to the clipboard, if the face has one."""
    if evaluation.conversation.copy is not None:
        evaluation.tell([plain(evaluation.conversation.copy(word.text), DIM)])


async def _written(evaluation: "Evaluation", value: Exported | Saved) -> None:
    """Hand out a file that was written, where the user has no access to the directory."""
    handed_out(evaluation, value.file)


async def _screen(evaluation: "Evaluation", request: ScreenRequest) -> None:
    """Hand a request to the app; the other faces have no screen."""
    if evaluation.conversation.screen is None:
        raise UserError(f"{request.word}: only in the app, which is started with rdmalab")
    if text := evaluation.conversation.screen(request):
        evaluation.tell([plain(text, DIM)])


async def _set(evaluation: "Evaluation", _request: SettingChange) -> None:
    if evaluation.conversation.settings_changed is not None:
        evaluation.conversation.settings_changed()


REQUEST_HANDLERS: dict[type, FaceHandler] = {
    Load: _load, Next: _next, Open: _open, Continue: _continue, Shared: _share, Empty: _new,
    Exported: _written, Saved: _written, SettingChange: _set, ListLessons: _lessons, Tour: tour,
    ReturnToLab: return_to_lab, ScreenRequest: _screen, **LAB_HANDLERS, GiveAnswer: _answer,
}  # fmt: skip

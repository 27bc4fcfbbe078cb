"""`python -m tests.mistakes.examination`: the figures of `why`, on mistakes drawn by a seed.

Played one after another in one process. Right roots, pointed and plain, at once and after the
session was tidied up; exit codes, of healthy sessions too; fixes called working that do not;
answers that are too long or lack their evidence. One line for each miss, then the table.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator

from rdmalab.doctor.report.brief import MOST_LINES
from tests.doctor import tidying
from tests.doctor.tidying import why
from tests.mistakes.fixes import carried_out
from tests.mistakes.healthy import all_healthy
from tests.mistakes.kinds import kinds
from tests.mistakes.playing import Answer, Mistake, all_of, answer_of

NEW_AREAS = (
    "after_success", "thrown_away", "event_waits", "whose", "refused", "unseen", "support", "roots",
    "field",
)  # fmt: skip


def drawn(seed: str, count: int, areas: Iterable[str] = ()) -> list[Mistake]:
    """So many different sessions of these areas, or of all; each kind in its turn."""
    chance = random.Random(seed)
    order = [kind for kind in kinds() if not areas or kind.area in areas]
    chance.shuffle(order)
    packs = [list(all_of(kind)) for kind in order]
    for pack in packs:
        chance.shuffle(pack)
    longest = max(map(len, packs))
    return [pack[turn] for turn in range(longest) for pack in packs if turn < len(pack)][:count]


def say(line: str) -> None:
    """A line of the table, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def examined(mistakes: Iterable[Mistake], *, texts: bool = False) -> list[Answer]:
    """The answers; each miss is told as it comes."""
    answers = []
    for mistake in mistakes:
        try:
            answer = answer_of(mistake)
        except Exception as error:  # noqa: BLE001 (a traceback is an answer, too, and wrong)
            say(f"BUG    {mistake.name}: {type(error).__name__}: {error}")
            continue
        answers.append(answer)
        wrong = misses(answer)
        for miss in wrong:
            say(f"{miss}  [{mistake.name}] ask {mistake.text(mistake.kind.ask)}")
        if wrong and texts:
            say("\n".join(f"    | {line}" for text in answer.texts for line in text.splitlines()))
    return answers


def misses(answer: Answer) -> list[str]:
    """What is wrong with an answer."""
    kind = answer.mistake.kind
    found = {
        f"ASKED  {answer.asked}, not {' '.join(kind.accept)}": not answer.asked_right,
        f"PLAIN  {answer.plain}, not {' '.join(kind.plain or kind.accept)}": not answer.plain_right,
        f"CODE   {answer.code}": not answer.code_right,
        f"TEXT   {answer.untrue}": bool(answer.untrue),
        f"FIX    {answer.fixed}": bool(answer.fixed),
        f"LONG   {answer.long} lines": answer.long > MOST_LINES,
        f"BARE   {' '.join(answer.bare)}": bool(answer.bare),
        f"MISPLACED FIX  {' '.join(answer.misplaced)}": bool(answer.misplaced),
    }
    return [miss for miss, wrong in found.items() if wrong]


def table(answers: list[Answer]) -> None:
    """The shares, of each area, of what was tidied up, and of all."""
    for area in dict.fromkeys(answer.mistake.kind.area for answer in answers):
        _row(area, [a for a in answers if a.mistake.kind.area == area])
    _row("at once", [a for a in answers if not a.mistake.tidy])
    _row("tidied up", [a for a in answers if a.mistake.tidy])
    _row("alone", [a for a in answers if not a.mistake.beside])
    _row("beside another", [a for a in answers if a.mistake.beside])
    _row("all", answers)
    bad = [a for a in answers if not a.code_right]
    say(f"exit codes: false 0 {sum(not a.code for a in bad)}, false 1 {sum(a.code for a in bad)}")
    fixes = sum(a.works for a in answers)
    say(f"fixes called working {fixes}, false {sum(bool(a.fixed) for a in answers)}")
    long, bare = sum(a.long > MOST_LINES for a in answers), sum(bool(a.bare) for a in answers)
    say(f"answers above {MOST_LINES} lines {long}, numbered causes without evidence {bare}")
    say(f"fixes of a cause that does not stand first {sum(bool(a.misplaced) for a in answers)}")
    say(f"answers that lack a fact or state a false one {sum(bool(a.untrue) for a in answers)}")


def missed(answers: list[Answer]) -> Iterator[str]:
    """Lines of `missed.txt`: the kinds that are not right in every session, and what is wrong."""
    for name in sorted({answer.mistake.kind.kind for answer in answers}):
        mine = [a for a in answers if a.mistake.kind.kind == name]
        counts = {
            "sessions": len(mine), "asked": sum(not a.asked_right for a in mine),
            "plain": sum(not a.plain_right for a in mine),
            "fixes": sum(bool(a.fixed) for a in mine),
            "codes": sum(not a.code_right for a in mine),
            "texts": sum(bool(a.untrue or a.bare or a.long > MOST_LINES) for a in mine),
        }  # fmt: skip
        if sum(counts.values()) > len(mine):
            yield f"{name}: {{{', '.join(f'{k}: {v}' for k, v in counts.items())}}}"


def _row(name: str, answers: list[Answer]) -> None:
    if answers:
        share = _share(answers, lambda a: a.asked_right), _share(answers, lambda a: a.plain_right)
        say(f"{name:16} {len(answers):4} sessions  pointed {share[0]:6.1%}  plain {share[1]:6.1%}")


def _share(answers: list[Answer], right: Callable[[Answer], bool]) -> float:
    return sum(map(right, answers)) / len(answers)


def healthy_sessions() -> int:
    """How many questions about healthy sessions have exit code 1; warnings are told, too."""
    codes = []
    for each, profile in all_healthy():
        for tidy in ("", "closed"):
            session = each.session(profile)
            if tidy:
                tidying.destroy_all(session)
            for question in dict.fromkeys(("", each.ask)):
                report = why(session, question)
                codes.append(report.is_trouble)
                slugs = [cause.check.slug for cause in (*report.causes, *report.warnings)]
                if report.is_trouble or slugs:
                    text = f"{int(report.is_trouble)} {report.slug} {' '.join(slugs)}"
                    say(f"WELL   {text}  [{each.well} {profile} {tidy}] ask {question}")
    say(f"healthy: {len(codes)} questions, false 1 {sum(codes)}")
    return sum(codes)


def lesson_fixes() -> int:
    """How many fixes called working in the lessons of `scenarios/why` do not work."""
    answer = false = 0
    for path in tidying.files():
        for session, step in tidying.failed(path):
            report = why(session, step.why or "")
            if report.remedy is not None and report.remedy.works:
                answer += 1
                if wrong := carried_out(session, report, alone=False):
                    false += 1
                    say(f"FIX    {wrong}  [lesson {path.name.partition('.')[0]}] ask {step.why}")
    say(f"lessons: fixes called working {answer}, false {false}")
    return false


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mistakes.examination")
    parser.add_argument("--seed", default=str(int(time.time())))
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--areas", nargs="*", default=NEW_AREAS, help="no word: all areas")
    parser.add_argument("--lessons", action="store_true", help="with the fixes of the lessons")
    parser.add_argument("--missed", action="store_true", help="with the lines of missed.txt")
    parser.add_argument("--texts", action="store_true", help="with the answers that miss")
    chosen = parser.parse_args()
    say(f"seed {chosen.seed}")
    started = time.process_time()
    answers = examined(drawn(chosen.seed, chosen.sessions, chosen.areas), texts=chosen.texts)
    table(answers)
    if chosen.missed:
        say("\n".join(missed(answers)))
    healthy_sessions()
    if chosen.lessons:
        lesson_fixes()
    say(f"{time.process_time() - started:.0f} s of CPU")


if __name__ == "__main__":
    main()

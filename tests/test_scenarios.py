"""Every scenario passes, and every number that one of them asserts is needed for that.

The second is the mutation test: one number after the other is changed, and the scenario must fail.
"""

import dataclasses
import errno
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from rdmalab.grammar.expressions import parse_expression
from rdmalab.grammar.tokens import Lexeme, scan_expression
from rdmalab.lab import open_session
from rdmalab.scenario.expect import Expectation
from rdmalab.scenario.files import SUFFIX
from rdmalab.scenario.loader import FileError, Scenario, load, loads
from rdmalab.scenario.planned_step import PlannedStep
from rdmalab.scenario.result import Stop
from rdmalab.scenario.runner import Runner
from rdmalab.scenario.wire import Skip, parse_wire
from rdmalab.spec.work import WROpcode
from rdmalab.vocabulary import VOCABULARY
from tests.each import each

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "scenarios"
FILES = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.rglob(f"*{SUFFIX}"))

_WIRE_NUMBER = re.compile(r"(?<==)(?:0x[0-9a-f]+|\d+)\b|(?<=\[)\d+(?=\])")


@cache
def loaded(file: str) -> Scenario:
    return load(str(FOLDER / file), VOCABULARY)


def passes(scenario: Scenario) -> bool:
    runner = Runner(scenario, open_session)
    runner.run()
    return runner.ok


# --------------------------------------------------------------------------- what is there
def test_there_is_a_scenario_for_every_emulated_opcode_and_for_each_topic() -> None:
    texts = "\n".join((FOLDER / file).read_text("utf-8") for file in FILES)
    emulated = ("SEND", "SEND_WITH_IMM", "RDMA_WRITE", "RDMA_WRITE_WITH_IMM", "RDMA_READ",
                "ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD", "BIND_MW", "LOCAL_INV",
                "SEND_WITH_INV", "FLUSH", "ATOMIC_WRITE")  # fmt: skip
    for name in emulated:
        assert f"opcode={WROpcode[name].name} " in texts
    assert {file.partition("/")[0] for file in FILES} >= {
        "bringup",
        "rc",
        "err",
        "loss",
        "time",
        "mw",
        "mr",
    }


@each("file", FILES)
def test_it_teaches(file: str) -> None:
    """It says what it shows, has something to read on the way, and names the schema."""
    scenario = loaded(file)
    schema = "# yaml-language-server: $schema=../../rdmalab/scenario/scenario-1.json"
    has = {
        "about:": scenario.document.about,
        "tags:": scenario.document.tags,
        "a step with note:": [step for step in scenario.steps if step.step.note],
        schema: scenario.source.text.startswith(f"{schema}\n"),
    }
    assert all(has.values()), f"it lacks {[name for name, there in has.items() if not there]}"


def test_titles_are_different() -> None:
    titles = [loaded(file).title for file in FILES]
    assert len(set(titles)) == len(titles)


# --------------------------------------------------------------------------- mutants
def _more(number: str) -> str:
    """Another number, of the same kind."""
    if number.startswith("0x"):
        return hex(int(number, 16) + 1)
    digits = re.match(r"\d+", number)
    assert digits
    return str(int(digits[0]) + 1) + number[digits.end() :]


def _expect_mutants(text: str) -> Iterator[str]:
    for token in scan_expression(text):
        if token.lexeme is Lexeme.NUMBER:
            start, stop = token.place
            yield text[:start] + _more(token.text) + text[stop:]


_FLAGS = ("ack_req=", "solicited=", "mig_req=")  # 0 or 1


def _wire_mutants(text: str) -> Iterator[str]:
    for match in _WIRE_NUMBER.finditer(text):
        is_flag = text[: match.start()].endswith(_FLAGS)
        other = str(1 - int(match[0])) if is_flag else _more(match[0])
        yield text[: match.start()] + other + text[match.end() :]


def _step_mutants(step: PlannedStep) -> Iterator[tuple[str, PlannedStep]]:
    for index, placed in enumerate(step.expect):
        for text in _expect_mutants(placed.text):
            changed = dataclasses.replace(
                placed, expectation=Expectation(text, parse_expression(text))
            )
            expect = (*step.expect[:index], changed, *step.expect[index + 1 :])
            yield text, dataclasses.replace(step, expect=expect)
    for index, line in enumerate(step.wire or ()):
        for text in [] if isinstance(line, Skip) else _wire_mutants(line.text):
            wire = list(step.wire or ())
            wire[index] = parse_wire(text)
            yield text, dataclasses.replace(step, wire=wire)
        yield f"without {line.text}", _without(step, index)
    if step.errno:
        other = errno.ENOMEM if step.errno != errno.ENOMEM else errno.EINVAL
        yield errno.errorcode[other], dataclasses.replace(step, errno=other)


def _without(step: PlannedStep, index: int) -> PlannedStep:
    wire, spots = list(step.wire or ()), list(step.wire_spots)
    del wire[index], spots[index]
    return dataclasses.replace(step, wire=wire, wire_spots=tuple(spots))


def survivors(runner: Runner) -> Iterator[str]:
    """Play to the end or the first failure; the mutants that pass.

    What a step does is played once: only the judging of it changes.
    """
    scenario = runner.scenario
    for index, step in enumerate(scenario.steps):
        runner.next_step()
        if not runner.ok:
            return
        for text, mutant in _step_mutants(step):
            if mutant.errno != step.errno:
                passed = passes(_up_to(scenario, index, mutant))
            else:
                passed = _judged(runner, mutant)
            if passed:
                yield f"line {step.place.line}: {text}"


def _judged(runner: Runner, mutant: PlannedStep) -> bool:
    """Whether the world as it is now would satisfy this step."""
    try:
        runner._judge(mutant, runner.results[-1].first_record)
    except (Stop, FileError):
        return False
    return True


def _up_to(scenario: Scenario, index: int, mutant: PlannedStep) -> Scenario:
    """What comes behind the changed step is not needed to see it fail."""
    return dataclasses.replace(scenario, steps=(*scenario.steps[:index], mutant))


@pytest.mark.parametrize("file", FILES)
def test_it_passes_and_every_assertion_is_needed(file: str) -> None:
    runner = Runner(loaded(file), open_session)
    not_needed = list(survivors(runner))
    assert runner.ok, runner.results[-1].text(file)
    assert runner.position == len(runner.scenario.steps)
    assert not_needed == []


def test_the_mutation_test_changes_what_it_should() -> None:
    assert list(_expect_mutants('A.qp0.wr[7].x == "5" and now == 1.5us')) == [
        'A.qp0.wr[8].x == "5" and now == 1.5us',
        'A.qp0.wr[7].x == "5" and now == 2.5us',
    ]
    assert list(_wire_mutants("A->B SEND_ONLY psn=0 va=B.mr0[4] rkey=0x1f")) == [
        "A->B SEND_ONLY psn=1 va=B.mr0[4] rkey=0x1f",
        "A->B SEND_ONLY psn=0 va=B.mr0[5] rkey=0x1f",
        "A->B SEND_ONLY psn=0 va=B.mr0[4] rkey=0x20",
    ]
    steps = [step for file in FILES for step in loaded(file).steps]
    assert sum(1 for step in steps for _ in _step_mutants(step)) > 400


def test_the_mutation_test_sees_an_assertion_that_is_not_needed() -> None:
    steps = "  - use rc_pair\n  - do: show\n    expect: [now < 5, A.cq0.capacity == 16]\n"
    scenario = loads(f"rdmalab: 1\ntitle: t\nsteps:\n{steps}", "x.yaml", VOCABULARY)
    assert list(survivors(Runner(scenario, open_session))) == ["line 5: now < 6"]

"""The documents that `run` prints."""

import json

import jsonschema

from rdmalab.cli.schemas import schema_of
from rdmalab.lab import open_session
from rdmalab.scenario.report import RunModel, narration, of_error, of_runner
from rdmalab.scenario.result import StepOutcome
from rdmalab.scenario.runner import Runner
from rdmalab.scenario.source import FileError
from tests.scenario.playing import PAIR, WRITE, runner, scenario

GOOD = PAIR + WRITE + "  - run:\n    id: r\n    wire: [skip]\n    expect: [A.cq0.count == 1]\n"
BAD = GOOD.replace("== 1", "== 2")


def report() -> RunModel:
    made = RunModel()
    for steps in (GOOD, BAD, "  - alloc_pd C.pd0\n"):
        walk = runner(steps)
        walk.run()
        made.add(of_runner(walk))
    made.add(of_error(FileError("y.yaml", "cannot be read")))
    return made


def test_the_document_counts_and_is_valid() -> None:
    made = report()
    assert (made.passed, made.failed, made.errors) == (1, 1, 2)
    assert made.summary == "1 of 4 scenarios passed, 1 failed, 2 cannot run"
    document = json.loads(made.model_dump_json())
    jsonschema.validate(document, schema_of("run"))
    assert [s["outcome"] for s in document["scenarios"]] == ["passed", "failed", "error", "error"]


def test_a_failed_step_says_what_was_expected() -> None:
    step = report().scenarios[1].steps[-1]
    assert (step.id, step.what, step.line) == ("r", "expect line 1", 6)
    assert (step.expected, step.actual) == ("A.cq0.count == 2", ["A.cq0.count = 1"])
    assert step.ladder[-1].endswith("B->A ACK psn=0")


def test_an_error_says_where() -> None:
    scenario = report().scenarios[2]
    assert scenario.error is not None
    assert scenario.error.place is not None
    assert (scenario.error.place.line, scenario.error.place.column) == (4, 14)


def test_the_narration_has_notes_packets_and_met_expectations() -> None:
    steps = (
        "  - note: |\n      Two\n      lines.\n"
        + GOOD
        + (
            "  - do: alloc_pd A.pd0; alloc_pd A.pd7\n    name: Objects\n".replace(
                "A.pd0; ", "A.pd6; "
            )
        )
    )
    walk = Runner(scenario(steps), open_session)
    finished = [line for result in walk.run() for line in narration(walk, result)]
    assert finished[:4] == ["", "  Two", "  lines.", ""]
    assert "== Objects" in finished
    assert any(line.endswith("A->B RDMA_WRITE_ONLY psn=0 64 B ack_req") for line in finished)
    assert " " * 16 + "ok  A.cq0.count == 1" in finished


WENT = (
    GOOD + "  - run: goto 0.1us\n  - post_recv B.qp0 sg=B.mr0[0:4]\n  - run: step packet\n"
    "  - run: back\n  - do: switch main\n    wire: []\n    expect: [event == 18]\n"
)


def test_the_narration_of_a_walk_that_goes_back() -> None:
    """At the branch it says so; what was sent before the moment gone to is not told again."""
    walk = Runner(scenario(WENT), open_session)
    lines = []
    while (result := walk.next_step()) is not None:
        lines.append([line.strip() for line in narration(walk, result)])
    _pair, _post, _run, gone, forked, step, back, switched = lines
    assert gone == ["0.100 us  goto 0.1us"]
    assert forked == ["0.100 us  post_recv B.qp0 sg=B.mr0[0:4]", "on branch-1"]
    assert [line.split()[:2] for line in step[1:]] == [["1.212", "us"]]
    assert len(back) == 1
    assert switched[1:] == ["on main", "ok  event == 18"]


def test_the_document_of_a_walk_that_goes_back() -> None:
    walk = runner(WENT.replace("== 18", "== 19"))
    walk.run()
    made = of_runner(walk)
    assert [step.branch for step in made.steps][3:] == ["main", *3 * ["branch-1"], "main"]
    assert made.steps[3].now_ns == 100 < made.steps[2].now_ns
    assert made.events == made.steps[-1].event + 1
    assert (made.steps[-1].what, made.steps[-1].actual) == ("expect line 1", ["event = 18"])
    jsonschema.validate(json.loads(RunModel(scenarios=[made]).model_dump_json()), schema_of("run"))


def test_outcomes_are_words() -> None:
    assert [str(outcome) for outcome in StepOutcome] == ["passed", "failed", "error"]

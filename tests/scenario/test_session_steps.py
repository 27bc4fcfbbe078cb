"""The steps of a session file have the checks of a scenario, and errors name their line."""

import json
from pathlib import Path
from random import Random

import pytest

from rdmalab import Lab
from rdmalab.doctor.consultation import consult
from rdmalab.lab import open_session
from rdmalab.scenario.keeping import kept
from rdmalab.scenario.loader import FileError, load
from rdmalab.scenario.runner import Runner, StepOutcome
from rdmalab.scenario.session_file import Row, packed, rows_of, unpacked
from rdmalab.vocabulary import VOCABULARY
from tests.digest import digest
from tests.each import chance_of, drawn_numbers

NODES = {"A": {"profile": "strict"}, "B": {"profile": "strict"}}
HEAD: Row = {"title": "x", "seed": "0", "nodes": NODES}


def written(folder: Path, *rows: Row, head: Row = HEAD) -> str:
    path = folder / "x.rdmalab"
    path.write_bytes(packed(head, rows))
    return str(path)


def played(path: str) -> Runner:
    runner = Runner(load(path, VOCABULARY), open_session)
    runner.run()
    return runner


def mistake(path: str) -> str:
    with pytest.raises(FileError) as wrong:
        load(path, VOCABULARY)
    return str(wrong.value).removeprefix(path)


def test_calls_happen_at_their_times_with_what_is_due_before(tmp_path: Path) -> None:
    runner = played(written(
        tmp_path,
        {"do": "alloc_pd A.pd0", "at": 100},
        {"do": "alloc_pd A.pd1"},
        {"do": "dealloc_pd A.pd7", "errno": "EINVAL", "at": 5_000},
    ))  # fmt: skip
    assert runner.results[-1].error is not None  # nothing is called A.pd7
    assert runner.session.world.now_ns == 5_000
    assert [entry.at_ns for entry in runner.session.journal] == [100, 100]


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"do": "alloc_pd"}, "alloc_pd"),
        ({"do": "nonsense A.pd0"}, 'no verb "nonsense"'),
        ({"do": "show qp"}, "one command that changes the world"),
        ({"do": "save x.yaml"}, "works at the prompt only"),
        ({"do": "alloc_pd A.pd0; alloc_pd A.pd1"}, "one command that changes the world"),
        ({"do": "run 5us"}, "one command that changes the world"),
        ({"do": "use rc_pair"}, "one command that changes the world"),
        ({"do": ""}, "no command"),
        ({"run": "alloc_pd A.pd0"}, "alloc_pd"),
        ({"run": "until A.nonsense == 3"}, "nonsense"),
        ({"run": "step 1", "at": 3}, "a step has do, or run alone"),
        ({"do": "a", "run": "b"}, "a step has do, or run alone"),
        ({"at": 3}, "a step has do, or run alone"),
        ({"do": 3}, "are texts"),
        ({"do": None}, "are texts"),
        ({"do": "alloc_pd A.pd0", "at": -1}, "at is a number of ns"),
        ({"do": "alloc_pd A.pd0", "at": True}, "at is a number of ns"),
        ({"do": "alloc_pd A.pd0", "at": 1 << 63}, "at is a number of ns"),
        ({"do": "alloc_pd A.pd0", "errno": "EWHAT"}, "errno is the name"),
        ({"do": "alloc_pd A.pd0", "errno": ["EINVAL"]}, "are texts"),
        ({"do": "alloc_pd A.pd0", "bytes": "x"}, "bytes go with a write or a poke"),
        ({"do": 'poke A addr=1 text=""', "bytes": "€"}, "bytes go with a write or a poke"),
        ({"do": "alloc_pd A.pd0", "expect": []}, "unknown key expect"),
        ({"do": "alloc_pd A.pd0", "by": 7}, "by is a text of at most 1,000 characters"),
        ({"do": "alloc_pd A.pd0", "by": "x" * 1_001}, "by is a text of at most 1,000 characters"),
        ({"do": "alloc_pd A.pd3", "errno": None}, "do, run, bytes and errno are texts"),
        ({"do": "x" * ((1 << 20) + 1)}, "at most 1,048,576 characters"),
    ],
    ids=str,
)  # fmt: skip
def test_a_wrong_step_is_one_error_with_its_line(tmp_path: Path, row: Row, text: str) -> None:
    wrong = mistake(written(tmp_path, {"do": "alloc_pd A.pd3", "at": 1}, row))
    assert text in wrong
    assert wrong.startswith(":3:")


@pytest.mark.parametrize(
    "head",
    [{}, {"title": 3}, {"nodes": []}, {"nodes": {"A": {}}}, {"nodes": {**NODES, "a": {}}},
     {"seed": "x"}, {"nodes": {**NODES, "C": {"max_qp_wr": "many"}}}],
    ids=str,
)  # fmt: skip
def test_a_wrong_head_is_one_error(tmp_path: Path, head: Row) -> None:
    given = {**HEAD, **head} if head else {}
    assert mistake(written(tmp_path, head=given)).startswith(":1:1: ")


def test_other_words_and_times_than_recorded_fail_with_their_line(tmp_path: Path) -> None:
    cases: list[tuple[list[Row], str]] = [
        ([{"do": "alloc_pd A.pd0", "errno": "ENOMEM"}], "line 2: errno"),
        ([{"do": "alloc_pd A.pd0", "at": 9}, {"do": "alloc_pd A.pd1", "at": 8}], "line 3: at"),
    ]
    for rows, text in cases:
        failure = played(written(tmp_path, *rows)).results[-1].failure
        assert failure is not None
        assert failure.what == text


def test_a_name_that_does_not_exist_is_an_error_with_its_line(tmp_path: Path) -> None:
    (result,) = played(written(tmp_path, {"do": "dealloc_pd A.pd4"})).results
    assert result.outcome is StepOutcome.ERROR
    assert str(result.error).startswith(f"{tmp_path}/x.rdmalab:2:1: nothing is called A.pd4")


def lab_with_bytes() -> Lab:
    lab = Lab(seed=3)
    for line in ("use rc_pair", "post_recv B.qp0 sg=B.mr0[0:4096]"):
        lab.do(line)
    octets = "".join(f"\\x{octet:02x}" for octet in range(256)) * 4
    lab.do(f'write A.mr0[0:1024] "{octets}"')
    lab.do("post_send A.qp0 opcode=SEND sg=A.mr0[0:1024] flags=SIGNALED")
    lab.run()
    return lab


def test_bytes_stand_beside_the_line_and_come_back(tmp_path: Path) -> None:
    lab = lab_with_bytes()
    made = kept(lab.session, "x.rdmalab")
    (row,) = [row for row in rows_of(unpacked(made.octets)) if "bytes" in row]
    assert row["do"] == 'write A.mr0[0:1024] ""'
    assert str(row["bytes"]).encode("latin-1") == bytes(range(256)) * 4
    (tmp_path / "x.rdmalab").write_bytes(made.octets)
    runner = played(str(tmp_path / "x.rdmalab"))
    assert runner.ok
    assert digest(runner.session.world.trace) == digest(lab.session.world.trace)


def hostile(chance: Random, texts: list[str]) -> str:
    """A line of a file in which something is other than it was."""
    row = json.loads(chance.choice(texts))
    values: tuple[object, ...] = (
        0, -1, 1e9, None, [], {}, True, "", "A", "x" * 300, 2**70, "run", {**row},
    )  # fmt: skip
    key = chance.choice(("do", "run", "at", "errno", "bytes", *row, "more"))
    if chance.random() < 0.5:
        row[key] = chance.choice(values)
    else:
        text = str(row.get(key, "post_send A.qp0"))
        at = chance.randrange(len(text) + 1)
        row[key] = (
            text[:at]
            + chance.choice(("", "\0", "[", "9" * 40, "}", "A.", "\u2028"))
            + text[at + 1 :]
        )
    return json.dumps(row)


def test_hostile_steps_are_a_run_or_one_error(tmp_path: Path) -> None:
    _, *texts = unpacked(kept(lab_with_bytes().session, "x.rdmalab").octets).split("\n")
    texts = [text for text in texts if text]
    for number in drawn_numbers("hostile session steps", 60, 3_000):
        chance = chance_of("hostile session steps", number)
        lines = [hostile(chance, texts) if chance.random() < 0.1 else text for text in texts]
        path = written(tmp_path, *map(json.loads, lines))
        wrong = ""
        try:
            runner = played(path)
        except FileError as error:
            wrong = str(error)
        assert wrong.startswith(path) or runner.ok or runner.results[-1].text(path)


def test_verdicts_and_waits_of_programs_are_known_after_the_last_step(tmp_path: Path) -> None:
    verdict = "FAILED  B asked for 10.0.0.1:7001: rejected, no program listens there"
    head: Row = {**HEAD, "outside": [verdict], "awaited": ["A.cq0"]}
    runner = played(written(tmp_path, {"do": "alloc_pd A.pd0"}, head=head))
    session = runner.session
    assert (session.outside, [str(each) for each in session.unanswered]) == ([verdict], ["A.cq0"])
    report = consult(session)
    assert (report.is_trouble, report.outcome.sentence) == (True, verdict.removeprefix("FAILED  "))
    for name in ("again.rdmalab", "again.rdmalab.yaml"):
        file = tmp_path / name
        file.write_bytes(kept(session, str(file)).octets)
        assert played(str(file)).session.outside == [verdict]


def test_a_wait_that_is_no_question_is_a_mistake_of_the_head(tmp_path: Path) -> None:
    wrong = mistake(written(tmp_path, head={**HEAD, "awaited": ["A.cq0 =="]}))
    assert wrong.startswith(":1")
    assert "awaited" in wrong

"""All mistakes of a file at once, each at its place, and nothing that only follows from another."""

from pathlib import Path

import pytest

from rdmalab.lab import open_session
from rdmalab.scenario.include import opener_below
from rdmalab.scenario.mistakes import Checker
from rdmalab.vocabulary import VOCABULARY
from tests.each import a_tenth, each
from tests.scenario.campaign import tally_of
from tests.scenario.mangle import SCENARIOS

_CHECKER = Checker(VOCABULARY, open_session)
MANY = """\
rdmalab: 1
titel: x
setup:
  - use rc_pair
steps:
  - post_send A.qp0 opcode=SEDN sg=A.mr0[0:64]
  - do: post_send A.qp0 wr_id=7 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED
    expct: [now == 0]
  - run: until idle
    wire:
      - A->B SEND_ONLY psn=0 va=B.mr9[0]
    expect:
      - A.cq0.next.status == SUCESS
      - A.qp0.stat == RTS
      - B.qp7.state == RTS
      - A.cq0.count ==
      - nwo == 0
  - do: query_qp B.qp8
  - run: until A.qp9.state == ERR
  - expect: [now == 1]
  - do: poll_cq A.cq0
    errno: EINVALL
    do: poll_cq A.cq1
programs:
  A.tx: [post_sned A.qp0]
  A.rx:
    - poll_cq A.cq3
"""
HEAD = "rdmalab: 1\ntitle: t\n"
PAIR = f"{HEAD}setup:\n  - use rc_pair\n"


def found(text: str, path: str = "x.yaml") -> list[str]:
    """`LINE:COLUMN message`, one of each mistake."""
    errors = _CHECKER.mistakes(text, path, opener_below(path))
    places = [(error.place.line, error.place.column) for error in errors if error.place]
    assert places == sorted(places)
    return [f"{e.place.line}:{e.place.column} {e.message}" for e in errors if e.place]


def test_all_kinds_are_reported_together() -> None:
    assert found(MANY) == [
        '2:1 no key "titel" here',
        '6:28 "SEDN" is no opcode of a work request',
        '8:5 no key "expct" here',
        "11:33 nothing is called B.mr9",
        '13:30 "SUCESS" is no completion status',
        '14:9 A.qp0 has no "stat"',
        "15:9 nothing is called B.qp7",
        "16:23 a name or a value is missing here",
        '17:9 nothing is called "nwo"',
        "18:18 nothing is called B.qp8",
        '19:16 nothing is called "A.qp9"',
        "20:5 expect belongs to the step above: this step has no action",
        '22:12 "EINVALL" is not an errno',
        '23:5 "do" is given twice',
        '25:10 no verb "post_sned"',
        "27:15 nothing is called A.cq3",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # what follows from the one mistake is not reported
        (f"{HEAD}steps:\n  - use rc_piar\n  - poll_cq A.cq0\n", ["4:9"]),
        (f"{HEAD}steps:\n  - create_cq A.cq0 cqee=4\n  - poll_cq A.cq0\n", ["4:21"]),
        (f"{HEAD}steps:\n  - doo: alloc_pd A.pd0\n  - dealloc_pd A.pd0\n", ["4:5"]),
        (f"{HEAD}setpu:\n  - use rc_pair\nsteps:\n  - poll_cq A.cq0\n", ["3:1"]),
        (f"{HEAD}nodse: {{A: {{}}, C: {{}}}}\nsteps:\n  - alloc_pd C.pd0\n", ["3:1"]),
        (f"{HEAD}parms: {{n: {{default: 4}}}}\nsteps:\n  - create_cq A.cq0 cqe=${{n}}\n", ["3:1"]),
        (f"{HEAD}steps:\n  - include: gone.yaml\n  - poll_cq A.cq0\n", ["4:14"]),
        (f"{PAIR}steps:\n  - why:\n    cuase: no-rr\n    plain: no-rr\n", ["7:5"]),
        # a failed expectation is no mistake, also not for what comes after it
        (f"{PAIR}steps:\n  - do: poll_cq A.cq0\n    expect: [A.cq0.count == 1]\n", []),
        (f"{PAIR}steps:\n  - do: destroy_qp A.qp0\n    errno: EBUSY\n  - query_qp A.qp0\n", []),
        # what only the world shows
        (f"{PAIR}steps:\n  - run: goto @nowhere\n", ["6:15"]),
        (f"{PAIR}steps:\n  - do: query_qp A.qp0\n    expect: [A.mr0[9999999] == 0]\n", ["7:19"]),
        (f"{PAIR}steps:\n  - alloc_pd A.pd0\n", ["6:14"]),
        # two keys of one name, in several places
        (f"{HEAD}seed: 1\nseed: 2\nsteps:\n  - alloc_pd A.pd0\ntitle: u\n", ["4:1", "7:1"]),
        # a question, or its answer, that is mistaken still has the other
        (
            f"{PAIR}steps:\n  - predict: Why?\n  - run: 5 parsecs\n    reveal: So.\n  - note: E\n",
            ["8:5"],
        ),
        (
            f"{PAIR}steps:\n  - predict: Why?\n    run: 5 parsecs\n  - reveal: So.\n  - note: E\n",
            ["7:5"],
        ),
        (f"{PAIR}steps:\n  - predict: [Why]\n  - run\n  - reveal: So.\n", ["6:14"]),
        # an object that a program makes is known to the others
        (
            f"{PAIR}programs:\n  A.one: [create_cq A.cq5 cqe=4]\n  A.two: [poll A.cq5]\n"
            "steps:\n  - run: 1us\n",
            [],
        ),
    ],
)
def test_one_mistake_is_one_error(text: str, expected: list[str]) -> None:
    assert [each.partition(" ")[0] for each in found(text)] == expected


def test_a_mistake_in_an_included_file_has_its_path(tmp_path: Path) -> None:
    (tmp_path / "pair.yaml").write_text("rdmalab: 1\nsetup:\n  - use rc_piar\n", "utf-8")
    path = tmp_path / "x.yaml"
    text = f"{HEAD}setup:\n  - include: pair.yaml\nsteps:\n  - poll_cq A.cq0\n  - aloc_pd A.pd1\n"
    errors = _CHECKER.mistakes(text, str(path), opener_below(str(path)))
    assert sorted((Path(e.path).name, e.place.line if e.place else 0) for e in errors) == [
        ("pair.yaml", 3),
        ("x.yaml", 7),
    ]


def test_a_file_is_checked_for_a_profile_and_values() -> None:
    text = f"{HEAD}params: {{n: {{default: 4}}}}\nsteps:\n  - create_cq A.cq0 cqe=${{n}}\n"
    values = Checker(VOCABULARY, open_session, values={"n": "many"})
    assert not found(text)
    assert [error.place.line for error in values.mistakes(text, "x") if error.place] == [5]


def test_the_number_of_errors_is_bounded() -> None:
    text = f"{HEAD}steps:\n" + "  - query_qp A.qp0\n" * 300
    assert len(found(text)) == 100


def test_mutated_files() -> None:
    """The claims of tests/scenario/mutations.py, on small files: 100, RDMALAB_ALL=1: 1,000."""
    small = sorted(SCENARIOS, key=lambda path: path.stat().st_size)[: len(SCENARIOS) // 2]
    result = tally_of("mutated scenarios", 4, 40, 25, small)
    assert not result.wrong
    assert result.refused > result.families.total() / 2
    assert result.complete >= 0.98 * result.several - 2


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("rdmalab: 1", "rdmalabq: 1", "1:1 the first key is not rdmalab"),
        ("rdmalab: 1\n", "version: 1\n", "1:1 the first key is not rdmalab"),
        ("title:", "titel:", '2:1 no key "titel" here'),
        ("setup:", "setpu:", '3:1 no key "setpu" here'),
        ("programs:", "program:", '5:1 no key "program" here'),
        ("steps:", "stepps:", '8:1 no key "stepps" here'),
        ("expect:", "expct:", '11:5 no key "expct" here'),
    ],
)
def test_what_is_below_a_misspelled_key_is_checked(old: str, new: str, wrong: str) -> None:
    text = (
        f"{PAIR}programs:\n  A.tx:\n    - poll_cq A.cq0\n"
        "steps:\n  - note: x\n  - do: post_send A.qp0 wr_id=7 opcode=SEDN sg=A.mr0[0:64]\n"
        "    expect: [A.qp0.stat == RTS]\n"
    )
    assert old in text
    errors = found(text.replace(old, new, 1))
    assert wrong in errors
    assert '10:40 "SEDN" is no opcode of a work request' in errors
    assert any(each.endswith('A.qp0 has no "stat"') for each in errors)
    assert len(errors) == 3 + (new == "version: 1\n")  # that key is unknown, too


def test_each_line_of_a_program_is_checked() -> None:
    text = (
        f"{PAIR}programs:\n  A.tx:\n    - post_sned A.qp0\n    - loop 3\n"
        "    - post_send A.qp0 opcode=SEDN sg=A.mr0[0:8]\n    - sleep 1su\n    - end\n"
        "    - poll_cq A.cq9\nsteps:\n  - run: 1us\n"
    )
    assert found(text) == [
        '7:7 no verb "post_sned"', '9:30 "SEDN" is no opcode of a work request',
        '10:13 "1su" is not a time', "12:15 nothing is called A.cq9",
    ]  # fmt: skip


def test_names_are_checked_after_a_line_that_is_wrong() -> None:
    """connect makes no object, so a wrong one puts no name in doubt; goals are read, too."""
    text = (
        f"{PAIR}steps:\n  - connect A.qp0 B.qp9\n  - poll_cq A.cq8\n"
        "  - post_sendq A.qp0 opcode=SEND sg=A.mr0[0:4]\n  - run: 1ms\n"
        "  - why: A.qp0\n    cause: rnr-wait\n    goal: [A.cq7.count == 1]\n"
    )
    assert [each.partition(" ")[0] for each in found(text)] == ["6:19", "7:13", "8:5", "12:12"]


@each("path", a_tenth(SCENARIOS))
def test_a_shipped_scenario_has_no_mistakes(path: Path) -> None:
    assert not found(path.read_text("utf-8"), str(path))

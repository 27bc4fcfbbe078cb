"""The layout: words and comments stay, only space changes; every scenario has it."""

import random
from pathlib import Path

import pytest
import yaml

from rdmalab.scenario import yaml_tree
from rdmalab.scenario.layout import formatted, with_schema
from rdmalab.scenario.source import FileError, Source
from tests.each import a_tenth, chance_of, drawn_numbers, each
from tests.scenario.mangle import ROOT, mangled

LABS = ROOT / "scenarios" / "labs"  # written by `lab publish` from those of the instructor
FILES = sorted(
    path
    for folder in ("scenarios", "instructor")
    for path in (ROOT / folder).rglob("*.yaml")
    if path.parent != LABS
)
UNTIDY = """\


rdmalab:   1
title:    'two  spaces'
about: |
     kept as it is
       deeper

     after an empty line
nodes: {A:{profile: rxe},B: {  } }
# of the setup
setup:
- use rc_pair   # at the end
-   do: >-
      alloc_pd
      A.pd1
    expect: [ now==0,idle ]


programs:
     A.tx:
     - loop 3
     # of the loop
     - if A.cq0.count > 0
     - poll_cq A.cq0
     - else
     - sleep 1us
     - end
     - end
     -     sleep 2us
steps:
- note: "a long
     note in two lines"
- run:
  expect:
  - now == 0
  # the last
"""
TIDY = """\
rdmalab: 1
title: 'two  spaces'
about: |
  kept as it is
    deeper

  after an empty line
nodes: {A: {profile: rxe}, B: {}}
# of the setup
setup:
  - use rc_pair # at the end
  - do: >-
      alloc_pd
      A.pd1
    expect: [now==0, idle]

programs:
  A.tx:
    - loop 3
    # of the loop
    -   if A.cq0.count > 0
    -     poll_cq A.cq0
    -   else
    -     sleep 1us
    -   end
    - end
    - sleep 2us
steps:
  - note: "a long
      note in two lines"
  - run:
    expect:
      - now == 0
      # the last
"""


def tree(text: str) -> object:
    return yaml_tree.plain(yaml_tree.compose(Source("x.yaml", text)))


def _is_same(one: str, other: str) -> bool:
    try:
        return tree(one) == tree(other)
    except FileError:
        return False


def comments(text: str) -> list[str]:
    """The comments that stand alone in a line."""
    return [line.strip() for line in text.splitlines() if line.lstrip().startswith("#")]


def test_an_untidy_file() -> None:
    assert formatted(UNTIDY, "x.yaml") == TIDY.replace("rc_pair #", "rc_pair  #")


@each("path", FILES)
def test_every_scenario_has_the_layout(path: Path) -> None:
    text = path.read_text("utf-8")
    assert formatted(text, str(path)) == text, "run: rdmalab fmt scenarios"


@each("path", a_tenth(FILES))
def test_space_is_all_that_changes(path: Path) -> None:
    """Untidy in many ways: the same tree and comments, and a second pass changes nothing."""
    text = path.read_text("utf-8")
    untidy = _untidy(text, random.Random(f"{path.name}"))
    if not _is_same(untidy, text):
        untidy = text.replace("\n\n", "\n\n\n")
    if not _is_same(untidy, text):
        untidy = f"\n\n{text}\n\n"  # the empty lines of its texts count
    tidied = formatted(untidy, str(path))
    assert tree(tidied) == tree(text)
    assert comments(tidied) == comments(text)
    assert formatted(tidied, str(path)) == tidied


def _untidy(text: str, chance: random.Random) -> str:
    """Twice the indentation, and more empty lines and space, which changes the tree of some."""
    found = []
    for line in text.split("\n"):
        answer = line.lstrip()
        space = " " * 2 * (len(line) - len(answer))
        found.append(f"{space}-   {answer[2:]}" if answer.startswith("- ") else f"{space}{answer}")
        if answer.startswith("- ") and chance.random() < 0.2:
            found[-1:] = ["", "", f"{found[-1]}  "]
    return "\n".join(found)


def test_mangled_files_stay_the_same_trees() -> None:
    """What is YAML is formatted or refused; what is refused is rare, and named by its file."""
    count, refused = 0, 0
    for number in drawn_numbers("layout", 60, 2_000):
        chance = chance_of("layout", number)
        text = mangled(chance.choice(FILES).read_text("utf-8"), chance)
        try:
            before = tree(text)
        except FileError:
            continue
        count += 1
        try:
            tidied = formatted(text, "x.yaml")
        except FileError:
            refused += 1
        else:
            assert tree(tidied) == before, f"layout {number}"
    assert refused <= max(1, count * 0.05), (refused, count)


@pytest.mark.parametrize(
    "text",
    ["", "a: [", "a: 1\na: 2\n", "\ta: 1\n", "- &x 1\n- *x\n", "a: 1\n---\nb: 2\n", "a: \x00\n"],
)
def test_what_is_no_plain_yaml_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(FileError) as refused:
        formatted(text, "x.yaml")
    assert refused.value.place is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1", "a: 1\n"),
        ("a:\n    b:\n        - c: 1\n          d: 2\n", "a:\n  b:\n    - c: 1\n      d: 2\n"),
        ("- - 1\n  - 2\n", "- - 1\n  - 2\n"),
        ("a: [1,\n2,\n  3]\n", "a: [1,\n    2,\n    3]\n"),
        ("a: |+\n   x\n\n\nb: 1\n", "a: |+\n  x\n\n\nb: 1\n"),
        ("a: |2\n   x\n  y\n", "a: |2\n   x\n  y\n"),
        ("a: 'x\n\n\n  y'\n", "a: 'x\n\n\n  y'\n"),
        ("---\na: 1\n", "---\na: 1\n"),
        ("# only\na: 1 # x\n\n\n# end\n\n", "# only\na: 1  # x\n\n# end\n"),
        ("a:\n  - x\n# at the margin\nb: 1\n", "a:\n  - x\n# at the margin\nb: 1\n"),
    ],
)
def test_layouts(text: str, expected: str) -> None:
    assert formatted(text, "x.yaml") == expected
    assert yaml.safe_load(expected) == yaml.safe_load(text)


def test_the_line_for_editors_is_written_once() -> None:
    line = "# yaml-language-server: $schema=../scenario-1.json\n"
    once = with_schema("rdmalab: 1\n", "../scenario-1.json")
    assert once == f"{line}rdmalab: 1\n"
    assert with_schema(once, "x.json").startswith("# yaml-language-server: $schema=x.json\nrdmalab")

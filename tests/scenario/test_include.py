"""Blocks that repeat, and steps of other files: what runs, in which order, and where errors are."""

from pathlib import Path

import pytest

from rdmalab.lab import open_session
from rdmalab.scenario.loader import FileError, Scenario, load, loads
from rdmalab.scenario.runner import Runner
from rdmalab.sweep.point import Experiment, Point, opened
from rdmalab.vocabulary import VOCABULARY

TOP = "rdmalab: 1\ntitle: t\n"
PAIR = """\
rdmalab: 1
params:
  depth: {default: 16}
  more: {default: 1}
setup:
  - use rc_pair max_recv_wr=${depth}
  - do: post_recv B.qp0 sg=B.mr0[0:64]
    repeat: ${more}
steps:
  - include: deep/send.yaml
  - run
"""
SEND = "rdmalab: 1\nsteps:\n  - post_send A.qp0 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED\n"
MAIN = f"""\
{TOP}params:
  depth: {{default: 8}}
setup:
  - include: parts/pair.yaml
  - checkpoint: ready
steps:
  - include: parts/pair.yaml
  - do: poll_cq A.cq0 num_entries=1
    expect: [A.cq0.count == 0]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parts" / "deep").mkdir(parents=True)
    (tmp_path / "parts" / "pair.yaml").write_text(PAIR)
    (tmp_path / "parts" / "deep" / "send.yaml").write_text(SEND)
    (tmp_path / "x.yaml").write_text(MAIN)
    return tmp_path


def lines(scenario: Scenario) -> list[str]:
    return [step.line.partition(" sg=")[0] for step in scenario.steps]


def test_a_block_is_done_several_times() -> None:
    text = f"{TOP}steps:\n  - repeat: 2\n    steps:\n      - alloc_pd A.pd0\n"
    text += "      - repeat: 3\n        steps: [run]\n      - dealloc_pd A.pd0\n"
    scenario = loads(text, "x.yaml", VOCABULARY)
    assert lines(scenario) == ["alloc_pd A.pd0", "run", "run", "run", "dealloc_pd A.pd0"] * 2
    runner = Runner(scenario, open_session)
    runner.run()
    assert runner.ok
    assert len(runner.results) == 10


def test_steps_of_other_files(folder: Path) -> None:
    scenario = load(str(folder / "x.yaml"), VOCABULARY)
    assert lines(scenario) == [
        "use rc_pair max_recv_wr=8", "post_recv B.qp0", "checkpoint ready",
        "post_send A.qp0 opcode=SEND", "run", "poll_cq A.cq0 num_entries=1",
    ]  # fmt: skip
    assert [step.is_setup for step in scenario.steps] == [True] * 3 + [False] * 3
    runner = Runner(scenario, open_session)
    runner.run()
    assert runner.ok, runner.results[-1].text("x.yaml")
    values = {"depth": "3"}
    assert lines(load(str(folder / "x.yaml"), VOCABULARY, values))[0].endswith("max_recv_wr=3")


def test_the_texts_are_enough_to_open_it_elsewhere(folder: Path) -> None:
    """As a worker on another machine does, which has none of the files."""
    scenario = load(str(folder / "x.yaml"), VOCABULARY)
    included = tuple(scenario.included.items())
    assert [name for name, _ in included] == ["parts/pair.yaml", "parts/deep/send.yaml"]
    experiment = Experiment("elsewhere/x.yaml", MAIN, ("now",), included=included)
    again = opened(experiment, {}, Point((), 0).seed)
    assert lines(again) == lines(scenario)


PART, DEEP = "parts/pair.yaml", "parts/deep/send.yaml"


@pytest.mark.parametrize(
    ("file", "old", "new", "place"),
    [
        (PART, "use rc_pair", "use rc_piar", f"{PART}:6:9: "),
        (PART, "${more}", "${mroe}", f'{PART}:8:13: no parameter "mroe"'),
        (PART, "setup:", "nodes: {}\nsetup:", f'{PART}:5:1: no key "nodes"'),
        (PART, "rdmalab: 1\n", "", f"{PART}:1:1: the first key"),
        (PART, "deep/send", "deep/none", f"{PART}:10:14: deep/none.yaml cannot be read"),
        (PART, "deep/send.yaml", "../x.yaml", f"{PART}:10:14: "),
        (DEEP, "SEND", "SND", f"{DEEP}:3:28: "),
        (DEEP, "steps:", "setup:", f"{PART}:10:14: deep/send.yaml has no steps"),
        ("x.yaml", "depth", "dpth", ""),
        ("x.yaml", PART, "parts/none.yaml", "x.yaml:6:14: parts/none.yaml cannot be read"),
    ],
)
def test_a_mistake_is_placed_in_its_own_file(
    folder: Path, file: str, old: str, new: str, place: str
) -> None:
    path = folder / file
    path.write_text(path.read_text().replace(old, new))
    if not place:
        load(str(folder / "x.yaml"), VOCABULARY)
        return
    with pytest.raises(FileError) as caught:
        load(str(folder / "x.yaml"), VOCABULARY)
    assert str(caught.value.all[0]).startswith(f"{folder}/{place}")


def test_a_failure_names_the_included_file(folder: Path) -> None:
    path = folder / "parts" / "deep" / "send.yaml"
    path.write_text("rdmalab: 1\nsteps:\n  - do: run\n    expect: [now == 5]\n")
    runner = Runner(load(str(folder / "x.yaml"), VOCABULARY), open_session)
    runner.run()
    assert f"FAIL {path}:4" in runner.results[-1].text(str(folder / "x.yaml"))


def test_a_circle_is_refused(folder: Path) -> None:
    (folder / "parts" / "deep" / "send.yaml").write_text(
        "rdmalab: 1\nsteps:\n  - include: back.yaml\n"
    )
    (folder / "parts" / "deep" / "back.yaml").write_text(
        "rdmalab: 1\nsteps:\n  - include: send.yaml\n"
    )
    with pytest.raises(FileError) as caught:
        load(str(folder / "x.yaml"), VOCABULARY)
    circle = "parts/deep/send.yaml → parts/deep/back.yaml → parts/deep/send.yaml"
    assert circle in str(caught.value)


def test_a_link_out_of_the_folder_is_refused(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "secret.yaml"
    elsewhere.write_text(SEND)
    link = folder / "parts" / "deep" / "send.yaml"
    link.unlink()
    link.symlink_to(elsewhere)
    with pytest.raises(FileError, match="is a link to a file elsewhere"):
        load(str(folder / "x.yaml"), VOCABULARY)


def test_files_that_include_each_other_twice_end_soon(folder: Path) -> None:
    """Two to the power of forty steps, if there was no limit."""
    for n in range(40):
        (folder / f"f{n}.yaml").write_text(
            f"rdmalab: 1\nsteps:\n  - include: f{n + 1}.yaml\n  - include: f{n + 1}.yaml\n"
        )
    (folder / "f40.yaml").write_text(SEND)
    (folder / "x.yaml").write_text(f"{TOP}steps:\n  - include: f0.yaml\n")
    with pytest.raises(FileError, match="more than 100 files are included"):
        load(str(folder / "x.yaml"), VOCABULARY)


NAMES = ("/etc/x.yaml", "a/../x.yaml", "a//x.yaml", "x.yml", "~/x.yaml", "a\\x.yaml")


@pytest.mark.parametrize("name", NAMES)
def test_only_names_below_the_folder(name: str) -> None:
    with pytest.raises(FileError, match="is not a file in this folder"):
        loads(f"{TOP}steps:\n  - include: '{name}'\n", "x.yaml", VOCABULARY)

"""Every mistake in a file is told with line, column and one suggestion."""

import dataclasses
import functools
import time
from pathlib import Path
from typing import Any

import pytest

from rdmalab.cli import main
from rdmalab.lab import open_session
from rdmalab.scenario.loader import FileError, loads
from rdmalab.scenario.runner import Runner
from rdmalab.vocabulary import VOCABULARY
from rdmalab.workbench import time as workbench_time
from rdmalab.world.world import World

TOP = "rdmalab: 1\ntitle: t\n"
H = f"{TOP}steps:\n"
ONE = "steps:\n  - alloc_pd A.pd0\n"
GOLDEN = Path(__file__).parents[1] / "data" / "scenario_errors.txt"


def golden() -> dict[str, tuple[str, str]]:
    """name → (file, what is said)"""
    cases = {}
    for part in GOLDEN.read_text("utf-8").replace("␛", "\x1b").split("=== ")[1:]:
        name, _, rest = part.partition("\n")
        text, _, answer = rest.partition("--- says\n")
        cases[name] = (text, answer.rstrip("\n").replace("\x1b", "␛"))
    return cases


CASES = golden()


def wrong(text: str) -> FileError:
    with pytest.raises(FileError) as caught:
        loads(text, "x.yaml", VOCABULARY)
    return caught.value


@pytest.mark.parametrize("name", CASES)
def test_message_and_place_of_each_mistake(name: str) -> None:
    text, answer = CASES[name]
    assert str(wrong(text)) == answer


def test_there_are_many_of_them_and_nearly_all_have_a_suggestion() -> None:
    assert len(CASES) > 80
    assert sum(not wrong(text).hint for text, _ in CASES.values()) <= 3


def test_the_message_shows_the_line_and_a_caret_inside_the_command() -> None:
    text = f"{H}  - do: post_send A.qp0 opcode=SEND wr_id=7 flag=SIGNALED\n"
    assert str(wrong(text)).splitlines() == [
        'x.yaml:4:45: no key "flag"',
        "  4 |   - do: post_send A.qp0 opcode=SEND wr_id=7 flag=SIGNALED",
        "                                                  ^^^^  did you mean flags?",
    ]


@pytest.mark.parametrize(
    "steps",
    ["  - alloc_pd A.pd0\n" * 20_001, "  [" + "step, " * 20_001 + "]\n",
     "  - note: |\n      a\n  # b\n" + "  - do: step\n" * 20_000],
)  # fmt: skip
def test_too_many_steps(steps: str) -> None:
    error = wrong(H + steps)
    assert error.message == "more than 20,000 items in one list"
    assert error.hint == "split it into two files"
    assert error.place is not None
    assert error.place.line == (4 if "[" in steps else 3 + steps.count("\n"))


def test_too_many_steps_are_refused_before_reading_them() -> None:
    start = time.process_time()
    wrong(H + "  - do: step\n" * 80_000)
    assert time.process_time() - start < 1  # it took 6 s


@pytest.mark.parametrize("line", ["load other", "export pcapng x.pcapng"])
def test_a_word_that_opens_files_is_refused(line: str) -> None:
    word = line.partition(" ")[0]
    with pytest.raises(FileError, match=f"4:5: {word} works at the prompt only, not in a scenario"):
        loads(f"{H}  - {line}\n", "x.yaml", VOCABULARY)


@pytest.mark.parametrize("text", ["no", "012", "1:30", "on", "1e3", "null", "~", "2001-01-01"])
def test_yaml_types_nothing(text: str) -> None:
    scenario = loads(f"rdmalab: 1\ntitle: {text}\n{ONE}", "x.yaml", VOCABULARY)
    assert scenario.title == text


def test_numbers_are_read_by_the_grammar() -> None:
    head = "rdmalab: 1\ntitle: t\nseed: 0x10\nlink: {latency: 0.5us, rate: 25Gbps, mtu: 1024}\n"
    nodes = "nodes:\n  A: {max_qp: 012}\n  B: {}\n"
    document = loads(head + nodes + ONE, "x.yaml", VOCABULARY).document
    assert document.seed == 16
    assert (document.link.latency, document.link.rate) == (500, 25 * 10**9)
    assert document.nodes["A"].caps() == {"max_qp": 12}


def test_a_device_without_such_ports_has_no_link_layer() -> None:
    text = f"{TOP}nodes:\n  A: {{profile: rxe, link_layer: InfiniBand}}\n  B: {{}}\n{ONE}"
    assert "4:21: profile rxe has no InfiniBand port" in str(wrong(text))
    assert "InfiniBand" in str(wrong(text.replace("InfiniBand", "infiniband")))


def test_the_profile_of_the_command_line_may_have_none_either() -> None:
    text = f"{TOP}nodes:\n  A: {{link_layer: InfiniBand}}\n  B: {{}}\n{ONE}"
    scenario = loads(text, "f", VOCABULARY)
    assert Runner(scenario, open_session).run()[-1].ok
    runner = Runner(scenario, open_session, profile="rxe")
    runner.run()
    assert "profile rxe has no InfiniBand port" in runner.results[-1].text("f")
    assert [result.ok for result in runner.results] == [False]


MANY = """rdmalab: 1
title: t
teaches: [S001, S001]
setup:
  - do: |
      use rc_pair
      aloc_pd A.pd0; post_send A.qp0 opcode=SND
programs:
  A.tx: |
    poll_cq A.cq9
    slep 10us
steps:
  - do: post_recv B.qp0 wr_i=1
    expect:
      - A.qp0.stat == ERR
      - A.qp0.state = ERR
    wire:
      - A->B SNED
  - run: 10
"""


def test_all_mistakes_of_a_file_are_in_its_order() -> None:
    found = [(e.place.line, e.place.column) for e in wrong(MANY).all if e.place]
    assert found == [
        *((3, 17), (7, 7), (7, 45), (11, 5), (13, 25), (15, 9), (16, 21), (18, 14), (19, 10))
    ]
    assert all(error.hint for error in wrong(MANY).all)


DUMP = (
    """
@command{facts}
def dump({first}, file: str) -> None:
    """
    + '"""Write a file."""'
    + """
    Path(file).write_text("x")
"""
)


@pytest.mark.parametrize("first", ["world: World", "session: Session"])
def test_a_command_that_does_not_declare_itself_is_refused_wherever_it_is_defined(
    first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = {**vars(workbench_time), "World": World, "Path": Path}  # its module is `time`
    exec(DUMP.format(facts="", first=first), place)
    vocabulary = {**VOCABULARY, "dump": place["dump"]}
    assert vocabulary["dump"].room == "time"
    for line in ("dump x.txt", "program A.p lines={dump x.txt}"):
        with pytest.raises(
            FileError,
            match=r"dump (works at the prompt only|is a word of the prompt), not (in|of) a ",
        ):
            loads(f"{H}  - {line}\n", "x.yaml", vocabulary)
    with pytest.raises(
        FileError, match=r"dump (works at the prompt only|is a word of the prompt), not (in|of) a "
    ):
        loads(f"{H}  - dump x.txt\nprograms: {{A.p: [dump x.txt]}}\n", "x.yaml", vocabulary)
    file, written = tmp_path / "x.rdmalab.yaml", tmp_path / "written"
    file.write_text(f'{H}  - dump "{written}"\n')
    monkeypatch.setitem(VOCABULARY, "dump", place["dump"])
    assert main(["run", str(file)]) == 2
    assert not written.exists()


def test_moving_a_function_moves_no_border() -> None:
    there = VOCABULARY["save"]

    @functools.wraps(there.function)
    def save(*given: Any, **named: Any) -> Any:
        return there.function(*given, **named)

    save.__module__ = VOCABULARY["run"].function.__module__
    moved = dataclasses.replace(there, function=save)
    with pytest.raises(FileError, match="save works at the prompt only, not in a scenario"):
        loads(f"{H}  - save x.yaml\n", "x.yaml", {**VOCABULARY, "save": moved})


PARAMETERS = f"{TOP}params:\n  n: {{default: 2}}\n  lat: {{default: 1us}}\n"
EVERYWHERE = (
    PARAMETERS + "about: ${n} receives\nlink: {latency: '${lat}'}\nseed: ${n}\n"
    "programs:\n  A.p: |\n    sleep ${lat}\nsteps:\n  - do: use rc_pair max_recv_wr=${n}\n"
    "  - do: post_recv B.qp0 sg=B.mr0[0:64]\n    repeat: ${n}\n    expect: [B.qp0.rq.free >= 0]\n"
    "  - run: ${lat}\n    expect:\n      - B.qp0.rq.used == ${n}\n"
)


@pytest.mark.parametrize(("n", "lat"), [(None, None), (5, None), (3, "7us")])
def test_parameters_stand_for_their_values_everywhere(n: int | None, lat: str | None) -> None:
    given = {"n": n, "lat": lat}
    values = {name: str(value) for name, value in given.items() if value is not None}
    scenario = loads(EVERYWHERE, "x.yaml", VOCABULARY, values)
    document = scenario.document
    assert (document.seed, document.about) == (n or 2, f"{n or 2} receives")
    assert document.link.latency == (7000 if lat else 1000)
    runner = Runner(scenario, open_session)
    runner.run()
    assert runner.ok, runner.results[-1].text("x.yaml")


def test_a_value_for_a_parameter_that_is_not_declared() -> None:
    with pytest.raises(FileError, match=r'x\.yaml:3:1: no parameter "m"'):
        loads(EVERYWHERE, "x.yaml", VOCABULARY, {"m": "1"})
    with pytest.raises(FileError, match="declare it below params:"):
        loads(TOP + ONE, "x.yaml", VOCABULARY, {"m": "1"})


def test_run_sets_parameters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.rdmalab.yaml"
    file.write_text(EVERYWHERE)
    assert main(["run", "-v", "--set", "n=4", str(file)]) == 0
    assert "use rc_pair max_recv_wr=4" in capsys.readouterr().out
    assert main(["run", "--set", "m=4", str(file)]) == 2
    assert 'no parameter "m"' in capsys.readouterr().out
    assert main(["run", "--set", "m", str(file)]) == 2
    assert "write NAME=VALUE" in capsys.readouterr().err

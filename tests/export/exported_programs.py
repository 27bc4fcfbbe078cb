"""Scenarios as programs: which can be, the text, and what comes of them on a lab."""

import subprocess
from collections import defaultdict
from functools import cache
from pathlib import Path

from rdmalab.cli.exported_programs import PlayedScenario
from rdmalab.compat import process, script
from rdmalab.compat.c.execute import Command, Execution
from rdmalab.export.replay.calls import NotExportable
from rdmalab.lab import Lab
from rdmalab.scenario.loader import load
from rdmalab.spec import records as rec
from rdmalab.spec.records import Kind
from rdmalab.world.world import World

FOLDER = Path(__file__).parents[2] / "scenarios"
_SUFFIX = ".rdmalab.yaml"
NAMES = sorted(
    str(path.relative_to(FOLDER)).removesuffix(_SUFFIX) for path in FOLDER.glob(f"*/*{_SUFFIX}")
)
_NO_VERBS = {"fault", "inject", "link", "port", "gid", "pkey"}
_WARNINGS = ["-Wall", "-Wextra", "-Werror"]
SANITIZED = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-static-libasan"]
_LIMIT_S = 120


@cache
def vocabulary() -> Lab:
    """A lab for its vocabulary."""
    return Lab()


def played(name: str) -> PlayedScenario:
    """The scenario, played for an export; NotExportable for a journey in time."""
    return PlayedScenario(
        load(str(FOLDER / f"{name}{_SUFFIX}"), vocabulary().session.vocabulary), None
    )


def tried(name: str) -> tuple[PlayedScenario | None, str]:
    """The same; None and the reason if the scenario is refused while it is played."""
    try:
        return played(name), ""
    except NotExportable as wrong:
        return None, wrong.reason


def exported(scenario: PlayedScenario, language: str) -> tuple[str, str]:
    """The program and no reason, or no program and the reason."""
    try:
        return scenario.text(language), ""
    except NotExportable as wrong:
        return "", wrong.reason


def has_more_than_verbs(scenario: PlayedScenario) -> bool:
    """Whether it does what no program can: faults, settings of the world, programs, two models."""
    nodes = scenario.runner.session.world.nodes
    words = {entry.invocation.name for entry in scenario.runner.session.journal}
    first, *others = (hca.profile for hca in nodes.values())
    is_named = Lab(profile=first.name).profiles["A"] == first
    return bool(words & _NO_VERBS) or others != [first] or not is_named


@cache
def reasons() -> dict[tuple[str, str], str]:
    """Language and scenario → why no program does it, though all its words are verbs."""
    lines = (Path(__file__).parent / "not_programs.txt").read_text().splitlines()[1:]
    rows = (line.partition(" | ") for line in lines)
    return {(head.split()[0], head.split()[1]): reason for head, _, reason in rows}


Completions = dict[tuple[str, int], list[tuple[object, ...]]]


def completions(world: World) -> Completions:
    """All completions of each queue by node and number, without the time of their coming."""
    found: Completions = defaultdict(list)
    for record in world.trace.records:
        if rec.kind_of(record) is Kind.CQE_ADDED:
            cqe = rec.cqe_of(record)
            fields = (cqe.wr_id, cqe.status, cqe.opcode, cqe.byte_len, cqe.imm_data, cqe.qp_num)
            found[rec.node_of(record), rec.object_of(record)].append(fields)
    return found


def compiled(text: str, folder: Path, *options: str) -> Path:
    """The program of a text; the compiler may not warn."""
    source, made = folder / "program.c", folder / "program"
    source.write_text(text)
    words = ["gcc", *_WARNINGS, *options, "-o", str(made), str(source), "-libverbs"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[:2000]
    return made


def executed(program: Path, profile: str) -> tuple[int, Lab, list[str]]:
    """Its exit code, the lab on which it ran as `rdmalab exec` runs it, and what the lab wrote."""
    lab, lines = Lab(profile=profile), list[str]()
    execution = Execution(lab, [Command((str(program),), "")], lines.append)
    return execution.run(limit_s=_LIMIT_S, end_stuck=True), lab, lines


def run_by_python(text: str, folder: Path, profile: str) -> tuple[int, World]:
    """Its exit code, and the world in which it ran as `rdmalab python` runs it."""
    source = folder / "program.py"
    source.write_text(text)
    code = script.run(str(source), [], profile, call_ns=0)
    return code, process.here().world

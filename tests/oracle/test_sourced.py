"""Probes of the standard, man pages and drivers' sources: `sourced*.yaml`, one test a row."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from rdmalab.grammar.expressions import parse_expression
from rdmalab.spec.profiles import PROFILES
from tests.shell.prompts import Prompt
from tests.tables import read_table


class Probe(NamedTuple):
    """A row on one profile; what it means: see the head of the table."""

    probe: str
    source: str
    states: str
    lines: list[str]
    shows: str = ""
    prints: dict[str, str] | None = None
    profile: str = ""


def _probes() -> Iterator[Probe]:
    tables = sorted(Path(__file__).parent.glob("sourced*.yaml"))
    for row in (row for table in tables for row in read_table(table)):
        for profile in row.pop("profiles", list(PROFILES)):
            yield Probe(**row, profile=profile)


PROBES = list(_probes())


@pytest.mark.parametrize("probe", PROBES, ids=[f"{each.probe} {each.profile}" for each in PROBES])
def test_the_emulator_does_what_the_source_states(probe: Probe) -> None:
    prompt = Prompt(profile=probe.profile, plain=True)
    for line in probe.lines:
        text = " ".join(prompt.ask(line))
        assert "not understood" not in text, text
    if probe.shows:
        shown = prompt.lab.session.ask(parse_expression(probe.shows, "A").node)
        assert shown, f"{probe.source} states: {probe.states}"
    for line, pattern in (probe.prints or {}).items():
        text = " ".join(" ".join(prompt.ask(line)).split())
        assert re.search(pattern, text), f"{probe.source} states: {probe.states}; {line}: {text}"


def test_every_probe_names_its_source() -> None:
    probes = list(_probes())
    assert len({probe.probe for probe in probes}) >= 90
    assert all(probe.source and probe.states and (probe.shows or probe.prints) for probe in probes)

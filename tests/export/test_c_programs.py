"""Scenarios as programs in C: they compile, are clean, and do the same on a lab."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rdmalab.export import program_in
from rdmalab.export.c.calls import CALLS as C
from rdmalab.export.pyverbs.program import CALLS as PYVERBS
from rdmalab.export.replay.calls import NotExportable
from rdmalab.export.replay.program import Language
from rdmalab.lab import Lab
from rdmalab.vocabulary import VERBS
from tests.each import drawn_numbers, each
from tests.export import exported_programs as programs

DRAWN = [programs.NAMES[n] for n in drawn_numbers("c programs", 12, len(programs.NAMES))]
CLEAN = [programs.NAMES[n] for n in drawn_numbers("sanitized", 3, len(programs.NAMES))]


def _is_a_program(name: str, language: str = "c") -> str:
    """The text; empty if the scenario is rightly refused."""
    scenario, reason = programs.tried(name)
    if scenario is None:
        assert "journey in time" in reason
        return ""
    known = programs.reasons().get((language, name))
    text, reason = programs.exported(scenario, language)
    if not text:
        if not programs.has_more_than_verbs(scenario):
            assert known, f"{name} is not exported: {reason}"
            assert known in reason
            assert re.match(r"step \d+, line \d+: ", reason)
        return ""
    assert not known, f"{name} is exported: remove its row"
    assert not programs.has_more_than_verbs(scenario)
    return text


@each("name", ["raw/checksums", "raw/sniffer", "raw/tso-by-function", "wr/data-setters"])
def test_programs_with_flows_and_with_two_setters_do_what_the_scenarios_did(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _does_the_same(name, tmp_path, capfd)


@each("name", DRAWN)
def test_a_program_does_what_the_scenario_did(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _does_the_same(name, tmp_path, capfd)


@each("name", CLEAN)
def test_a_program_is_clean_under_sanitizers(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _does_the_same(name, tmp_path, capfd, *programs.SANITIZED)


def _does_the_same(
    name: str, folder: Path, capfd: pytest.CaptureFixture[str], *options: str
) -> None:
    text = _is_a_program(name)
    if not text:
        return
    scenario = programs.played(name)
    world = scenario.runner.session.world
    program = programs.compiled(text, folder, *options)
    code, lab, _ = programs.executed(program, world.nodes["A"].profile.name)
    printed = capfd.readouterr()
    assert not code, printed.err[-500:]
    assert "as in the lab" in printed.out
    assert programs.completions(lab.session.world) == programs.completions(world)


def test_a_program_that_wants_something_else_fails(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text = programs.played("rc/send").text("c")
    for right, wrong in {
        ".wr_id = 21, .status": ".wr_id = 22, .status", "IBV_QPS_RTS);": "IBV_QPS_ERR);",
        '{ 256, 5, "hello"': '{ 256, 5, "hallo"', ".byte_len = 64": ".byte_len = 65",
        ".opcode = IBV_WC_RECV": ".opcode = IBV_WC_SEND",
    }.items():  # fmt: skip
        assert right in text
        changed = text.replace(right, wrong)
        code, _, _ = programs.executed(programs.compiled(changed, tmp_path), "strict")
        assert code == 1, wrong
        assert re.search(r"line \d+: ", capfd.readouterr().err), wrong


def test_the_text_is_readable() -> None:
    text = programs.played("rc/send").text("c")
    assert text.startswith("/*\n * SEND, the message that needs a receive\n")
    assert "\t/* B posts a buffer first. It gives the address, A does not know it. */" in text
    assert "\twait_ns(2215); /* until idle */\n" in text
    assert max(len(line.expandtabs(8)) for line in text.splitlines()) <= 100


@pytest.mark.parametrize(("language", "lacking"), [
    (C, "open_device close_device wr_flush wr_atomic_write"),
    (PYVERBS, "open_device close_device wr_flush wr_atomic_write open_qp attach_mcast detach_mcast "
              "create_flow destroy_flow alloc_td dealloc_td"),
], ids=["c", "pyverbs"])  # fmt: skip
def test_every_verb_can_be_exported(language: Language[Any, Any], lacking: str) -> None:
    odd = set(VERBS).difference(language.verbs) ^ set(lacking.split())
    assert not odd, f"{odd}: a row of VERBS in rdmalab/export/, or a word here that goes or comes"


def test_a_verb_that_is_not_exported_is_not_called_unknown() -> None:
    lab = Lab()
    lab.do("close_device A")
    for language, sentence in (
        ("c", "is a verb that no exported program calls"),
        ("pyverbs", "not in pyverbs"),
    ):
        with pytest.raises(NotExportable, match=sentence):
            program_in(language).write(lab.session, "T")


def _exported(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rdmalab", "export", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("lines", "sentence"), [
    ("- fault: drop A->B nth=1", "step 2, line 7: fault is no verb of libibverbs"),
    ("- link down", "step 2, line 7: link is no verb of libibverbs"),
    ("- run: back 1", "step 2, line 7: back is a journey in time, which no program makes"),
    ('- inject A->B "ff02 0a"', "step 2, line 7: inject is no verb of libibverbs"),
    ("- post_recv NULL wr_id=1 sg=B.mr0[0:8]",
     "step 2, line 7: ibv_post_recv with NULL: C would crash"),
], ids=["fault", "link", "journey", "inject", "crash"])  # fmt: skip
def test_what_no_program_can_do_is_refused_with_step_and_line(
    tmp_path: Path, lines: str, sentence: str
) -> None:
    file, made = tmp_path / "x.rdmalab.yaml", tmp_path / "x.c"
    head = "rdmalab: 1\ntitle: T\nsetup:\n  - use rc_pair\n\nsteps:\n"
    file.write_text(f"{head}  {lines}\n")
    done = _exported("c", str(file), "-o", str(made))
    assert done.returncode == 2
    assert sentence in done.stderr
    assert not made.exists()


@pytest.mark.parametrize(("form", "text"), [
    ("c", "errno != EOPNOTSUPP"), ("pyverbs", "with refused(errno.EOPNOTSUPP):"),
])  # fmt: skip
def test_a_refusal_has_the_name_of_its_errno_in_the_lab(
    tmp_path: Path, form: str, text: str
) -> None:
    """Linux has two names for 95."""
    scenario, made = programs.FOLDER / "wr" / "one-sided-of-each-type.rdmalab.yaml", tmp_path / "x"
    done = _exported(form, str(scenario), "-o", str(made))
    assert text in made.read_text(), done.stderr


def test_only_an_exported_program_is_replaced(tmp_path: Path) -> None:
    made = tmp_path / "x.c"
    scenario = str(programs.FOLDER / "rc/send.rdmalab.yaml")
    assert not _exported("c", scenario, "-o", str(made)).returncode
    assert not _exported("c", scenario, "-o", str(made)).returncode
    made.write_text("int main(void) { return 0; }\n")
    assert _exported("c", scenario, "-o", str(made)).returncode
    assert made.read_text().startswith("int main")

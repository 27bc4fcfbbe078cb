"""What a room imports at run time: the static graph does not see deferred imports."""

import json
import subprocess
import sys

import pytest

FOREIGN = ("textual", "prompt_toolkit", "asyncio", "pydantic", "yaml", "click", "random", "logging")
ROOMS = ("spec.states", "wire.roce", "command", "grammar.line", "hca.device", "world.world",
         "session.lines", "views.query", "guide.explain", "export.pcapng",
         "vocabulary")  # fmt: skip
REPAIR = "import it inside the function that needs it"
PROBE = (
    "import sys, json, importlib; importlib.import_module({!r}); "
    "print(json.dumps(sorted(sys.modules)))"
)


def loaded_by(module: str) -> set[str]:
    command = [sys.executable, "-c", PROBE.format(module)]
    return set(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))


@pytest.mark.parametrize("room", ROOMS[:-1])
def test_pure_rooms_load_no_screen_no_loop_and_no_chance(room: str) -> None:
    assert not loaded_by(f"rdmalab.{room}") & set(FOREIGN), REPAIR


def test_the_words_load_no_screen() -> None:
    assert not loaded_by("rdmalab.vocabulary") & {"textual", "prompt_toolkit", "asyncio"}


def test_reading_a_table_loads_only_tables() -> None:
    rooms = {name for name in loaded_by("rdmalab.spec.opcodes") if name.startswith("rdmalab.")}
    assert {name.split(".")[1] for name in rooms} == {"spec", "version"}


# What a first screen needs nothing of; the doctor alone takes 50 ms.
LATER = (
    "rdmalab.doctor.diagnosis.diagnose", "rdmalab.doctor.evidence.log", "rdmalab.guide.explain",
    "rdmalab.guide.svg",
    "rdmalab.export.ladder_svg", "rdmalab.scenario", "rdmalab.classroom", "rdmalab.sweep",
    "rdmalab.book", "tomllib", "urllib.request", "http", "ssl", "email", "xml", "pydantic", "yaml",
)  # fmt: skip


@pytest.mark.parametrize("face", ["lab", "shell.conversation"])
def test_what_no_first_screen_needs_is_loaded_later(face: str) -> None:
    assert not sorted(loaded_by(f"rdmalab.{face}") & set(LATER)), REPAIR


@pytest.mark.parametrize("face", ["tui.screens.main", "tui.panes.notes"])
def test_the_main_screen_needs_no_more(face: str) -> None:
    """asyncio has ssl, prompt_toolkit a part of xml."""
    assert not sorted(loaded_by(f"rdmalab.{face}") & {*LATER} - {"ssl", "xml"}), REPAIR


def test_before_the_first_frame_there_is_no_engine_and_no_prompt() -> None:
    loaded = loaded_by("rdmalab.tui.launch")
    assert (
        not {"rdmalab.lab", "rdmalab.world.world", "rdmalab.views.fmt", "prompt_toolkit"} & loaded
    )

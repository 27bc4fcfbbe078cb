"""What a room imports at run time: the static graph does not see deferred imports."""

import json
import subprocess
import sys

import pytest

FOREIGN = ("textual", "prompt_toolkit", "asyncio", "pydantic", "yaml", "click", "random", "logging")
ROOMS = ("spec.states", "wire.roce", "command", "grammar.line", "hca.device", "world.world",
         "session.lines", "views.query", "guide.explain", "export.pcapng",
         "vocabulary")  # fmt: skip
PROBE = (
    "import sys, json, importlib; importlib.import_module({!r}); "
    "print(json.dumps(sorted(sys.modules)))"
)


def loaded_by(module: str) -> set[str]:
    command = [sys.executable, "-c", PROBE.format(module)]
    return set(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))


@pytest.mark.parametrize("room", ROOMS[:-1])
def test_pure_rooms_load_no_screen_no_loop_and_no_chance(room: str) -> None:
    assert not loaded_by(f"rdmalab.{room}") & set(FOREIGN)


def test_the_words_load_no_screen() -> None:
    assert not loaded_by("rdmalab.vocabulary") & {"textual", "prompt_toolkit", "asyncio"}


def test_reading_a_table_loads_only_tables() -> None:
    rooms = {name for name in loaded_by("rdmalab.spec.opcodes") if name.startswith("rdmalab.")}
    assert {name.split(".")[1] for name in rooms} == {"spec", "version"}

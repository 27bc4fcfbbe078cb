"""The C library is compiled with the system's compiler when it is first needed."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from rdmalab.compat.c import building
from rdmalab.compat.c.building import CannotBuild
from rdmalab.compat.c.execute import Command, Execution
from rdmalab.lab import Lab
from tests.tools import needs


@needs("gcc")
def test_the_library_is_compiled_once_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    first = building.library()
    began = first.stat().st_mtime_ns
    assert building.library() == first
    assert first.stat().st_mtime_ns == began
    monkeypatch.setenv("CC", "gcc -O1")
    assert building.library() != first


@needs("gcc")
def test_an_execution_asks_the_compiler_once_for_all_its_programs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    building.library()  # it is compiled from now on
    calls, run = list[list[str]](), building._run

    def counted(words: list[str], *more: Any, **named: Any) -> Any:
        calls.append(words)
        return run(words, *more, **named)

    monkeypatch.setattr(building, "_run", counted)
    execution = Execution(Lab(), [Command(("true",), "A"), Command(("true",), "B")], lambda _: None)
    assert execution.run(limit_s=60) == 0
    assert len(calls) <= len(("verbs.h", "rdma_cma.h", "--version"))


@needs("gcc")
def test_its_functions_have_the_versions_that_programs_ask_for() -> None:
    done = subprocess.run(
        ["nm", "-D", "--defined-only", building.library()],
        capture_output=True,
        text=True,
        check=True,
    )
    for name in ("ibv_open_device@@IBVERBS_1.1", "ibv_create_comp_channel@@IBVERBS_1.0",
                 "ibv_reg_mr_iova2@@IBVERBS_1.8", "rdma_connect@@RDMACM_1.0"):  # fmt: skip
        assert name in done.stdout
    assert "lab_say" not in done.stdout


@needs("gcc")
def test_its_sources_give_no_warning(tmp_path: Path) -> None:
    for name, octets in building.sources().items():
        (tmp_path / name).write_bytes(octets)
    files = sorted(str(each) for each in tmp_path.glob("*.c"))
    words = ["gcc", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *files]
    subprocess.run(words, check=True)


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -x")
    with pytest.raises(CannotBuild, match="no-such-compiler -x is not found; install gcc"):
        building.library()


@needs("gcc")
def test_a_missing_header_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "gcc -nostdinc")
    with pytest.raises(CannotBuild, match=r"finds no infiniband/verbs\.h; install it"):
        building.library()

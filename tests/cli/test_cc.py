"""Command cc: its own options are taken from the words; all others reach the compiler unchanged."""

import json
import sys
from pathlib import Path

import pytest

from rdmalab import cli
from tests.tools import needs

_ECHO = """
import json, sys
print("/* a header */" if "-E" in sys.argv else json.dumps(sys.argv[1:]))
"""


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that prints its words."""
    (tmp_path / "echo.py").write_text(_ECHO)
    (tmp_path / "w.c").write_text("int main(void) { return 0; }\n")
    monkeypatch.setenv("CC", f"{sys.executable} {tmp_path / 'echo.py'}")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "option",
    ["-DMODE=foo", "-Wno-unused-variable", "-I/home/someone/include", "-Wl,-rpath,/opt/lib",
     "-std=c11", "-fno-omit-frame-pointer", "-D", "--sysroot=/opt", "-DFILE=other.c"],
)  # fmt: skip
@pytest.mark.usefixtures("compiler")
def test_an_option_with_an_o_in_it_reaches_the_compiler(
    option: str, capfd: pytest.CaptureFixture[str]
) -> None:
    for words in ([option, "w.c"], ["w.c", option]):
        cli.main(["cc", *words])
        called = json.loads(capfd.readouterr().out.splitlines()[-1])
        assert called[called.index("-o") + 1] == "w"
        assert [word for word in called if word in words] == words


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("words", [["-o", "x"], ["-ox"], ["--output", "x"], ["--output=x"]])
def test_the_name_of_the_program(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    cli.main(["cc", "-O2", *words, "w.c"])
    called = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert called[called.index("-o") + 1] == "x"
    assert "-O2" in called


@needs("gcc")
def test_a_definition_is_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("w.c").write_text("int foo(void) { return 0; }\nint main(void) { return MODE(); }\n")
    assert cli.main(["cc", "-DMODE=foo", "w.c"]) == 0
    assert Path("w").exists()
    assert "rdmalab exec --tui -- ./w" in capsys.readouterr().err

"""The command line: exit codes, what goes where, documents and schemas, what is loaded."""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from rdmalab import cli
from rdmalab.export import pcapng
from rdmalab.scenario import loader
from rdmalab.version import VERSION

ROOT = Path(__file__).parents[1]
GOOD = "rdmalab: 1\ntitle: good\nsteps:\n  - do: alloc_pd A.pd0\n    expect: [now == 0]\n"
FAILING = GOOD.replace("now == 0", "now == 1").replace("good", "failing")
BROKEN = GOOD.replace("alloc_pd", "aloc_pd")
PAIR_SENDS = ("use rc_pair", "post_send A.qp0 opcode=SEND sg=A.mr0[0:8]")
DENIED = """\
rdmalab: 1
title: denied
steps:
  - use rc_pair
  - do: post_send A.qp0 opcode=RDMA_WRITE sg=A.mr0[0:5] remote_addr=0x64 rkey=1 flags=SIGNALED
    expect: [now == 5]
  - run: until idle
"""
LATE = GOOD.replace("alloc_pd A.pd0", "alloc_pd C.pd0")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with one file of each kind."""
    files = {"good": GOOD, "failing": FAILING, "broken": BROKEN, "late": LATE}
    for name, text in files.items():
        (tmp_path / f"{name}.rdmalab.yaml").write_text(text)
    (tmp_path / "denied.yaml").write_text(DENIED)
    (tmp_path / "empty").mkdir()
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "x.rdmalab.yaml").write_text(GOOD)
    (tmp_path / "deep" / "other.yaml").write_text("no scenario")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def program(*arguments: str, **more: Any) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "rdmalab", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=60, **more
    )


# --------------------------------------------------------------------------- exit codes
EXITS = [
    (["--version"], 0),
    (["--help"], 0),
    (["run", "--help"], 0),
    (["run", "good.rdmalab.yaml"], 0),
    (["run", "deep"], 0),
    (["run", "good.rdmalab.yaml", "failing.rdmalab.yaml"], 1),
    (["run", "failing.rdmalab.yaml", "broken.rdmalab.yaml"], 2),
    (["run", "late.rdmalab.yaml"], 2),
    (["why", "good.rdmalab.yaml"], 0),
    (["why", "failing.rdmalab.yaml"], 0),
    (["why", "denied.yaml"], 1),
    (["why", "denied.yaml", "A.qp0.wr[0]"], 1),
    (["why", "denied.yaml", "A.qp0.wr[0]", "--at", "1"], 2),
    (["why", "denied.yaml", "A.qp0.wr[0]", "--at", "15"], 0),
    (["why", "denied.yaml", "A.qp9"], 2),
    (["why", "broken.rdmalab.yaml"], 2),
    (["why", "late.rdmalab.yaml"], 2),
    (["why", "none.rdmalab.yaml"], 2),
    (["why"], 2),
    (["run", "none.rdmalab.yaml"], 2),
    (["run", "a\0b"], 2),
    (["run"], 2),
    (["run", "--nonsense"], 2),
    (["run", "--profile", "mlx9", "good.rdmalab.yaml"], 2),
    (["run", "--junit", "none/x.xml", "good.rdmalab.yaml"], 2),
    (["run", "empty"], 5),
    (["check", "good.rdmalab.yaml", "failing.rdmalab.yaml"], 0),
    (["check", "good.rdmalab.yaml", "late.rdmalab.yaml"], 2),
    (["fmt", "--check", "good.rdmalab.yaml"], 0),
    (["fmt", "--diff", "deep"], 0),
    (["fmt", "gone.yaml"], 2),
    (["fmt", "empty"], 5),
    (["fmt"], 2),
    (["run", "--watch", "--json", "good.rdmalab.yaml"], 2),
    (["check", "good.rdmalab.yaml", "broken.rdmalab.yaml"], 2),
    (["check", "empty"], 5),
    (["check"], 2),
    (["book"], 2),
    (["book", "out", "none.rdmalab.yaml"], 2),
    (["book", "out", "empty"], 5),
    (["book", "deep", "good.rdmalab.yaml"], 2),
    (["book", "good.rdmalab.yaml", "good.rdmalab.yaml"], 2),
    (["book", "out", "good.rdmalab.yaml", "--student", "s1"], 2),
    (["book", "a\0b", "good.rdmalab.yaml"], 2),
    (["nonsense"], 2),
    (["help"], 0),
    (["help", "post_send"], 0),
    (["help", "time"], 0),
    (["help", "xyzzy"], 2),
    (["explain", "IBV_WC_SUCCESS"], 0),
    (["explain", "rnr", "nak"], 0),
    (["explain", "xyzzy"], 2),
    (["explain", "status=12", "vendor_err=129"], 0),
    (["explain", "psn", "--json"], 0),
    (["explain", "--all"], 0),
    (["explain"], 2),
    (["explain", "--all", "psn"], 2),
    (["explain", "--all", "--json"], 2),
    (["explain", "modify_qp", "--svg", "--json"], 2),
    (["explain", "modify_qp", "--svg"], 0),
    (["explain", "--svg", "IBV_modify_qp", "xrc_recv"], 0),
    (["explain", "modify_qp IBV_QPT_UD", "--svg"], 0),
    (["explain", "modify_qp", "RX", "--svg"], 2),
    (["explain", "modify_qp", "RC", "UD", "--svg"], 2),
    (["explain", "post_send", "--svg"], 2),
    (["explain", "", "--svg"], 2),
    (["explain", "modify_qp", "--svg", "-o", "no/such/folder/rc.svg"], 2),
    (["export", "pcapng", "good.rdmalab.yaml", "-o", "x.pcapng"], 0),
    (["export", "svg", "good.rdmalab.yaml", "-o", "x.svg"], 0),
    (["export", "text", "failing.rdmalab.yaml", "-o", "-"], 1),
    (["export", "pcapng", "failing.rdmalab.yaml", "-o", "x.pcapng"], 1),
    (["export", "pcapng", "broken.rdmalab.yaml", "-o", "x.pcapng"], 2),
    (["export", "pcapng", "late.rdmalab.yaml", "-o", "x.pcapng"], 2),
    (["export", "pcapng", "none.rdmalab.yaml", "-o", "x.pcapng"], 2),
    (["export", "pcapng", "deep", "-o", "x.pcapng"], 2),
    (["export", "pcapng", "good.rdmalab.yaml", "-o", "deep"], 2),
    (["export", "pcapng", "good.rdmalab.yaml", "-o", "none/x.pcapng"], 2),
    (["export", "pcapng", "good.rdmalab.yaml"], 2),
    (["export", "pcap", "good.rdmalab.yaml", "-o", "x.pcap"], 2),
    (["open", "hello"], 2),
    (["open", "rdmalab:1:AAAAAAAA"], 2),
    (["schema"], 0),
    (["schema", "--of", "nonsense"], 2),
    (["repl", "-c", "use rc_pair", "-c", "run"], 0),
    (["repl", "-c", "post_sned A.qp0"], 2),
    (["repl", "-f", "none.txt"], 2),
]


@pytest.mark.parametrize(("arguments", "code"), EXITS, ids=lambda value: str(value)[:60])
def test_exit_codes(folder: Path, arguments: list[str], code: int) -> None:
    assert folder.is_dir()
    assert cli.main(arguments) == code


def test_a_drawing_goes_where_it_is_wanted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["explain", "modify_qp", "UD", "--svg"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("<svg ")
    assert "UD queue pair" in printed
    assert cli.main(["explain", "modify_qp", "ud", "--svg", "-o", str(folder / "ud.svg")]) == 0
    assert capsys.readouterr().out == ""
    assert (folder / "ud.svg").read_text("utf-8") == printed
    assert cli.main(["explain", "RTS", "-o", str(folder / "rts.txt")]) == 0
    assert "fully operational" in (folder / "rts.txt").read_text("utf-8")


def test_an_article_is_a_document_too(capsys: pytest.CaptureFixture[str]) -> None:
    schema = _schema("explain", capsys)
    assert cli.main(["explain", "NCCL", "WARN", "status=12", "vendor", "err", "129", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    jsonschema.validate(answer, schema)
    assert answer["name"] == "IBV_WC_RETRY_EXC_ERR"
    assert answer["sections"][0]["heading"] == "read"


def test_a_log_is_read_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = ["00000000 00000000 00000000 00000000"] * 3 + ["00000000 00008813 10012abe 0dd0c1d3"]
    log = "\n".join(["mlx5: host: got completion with error:", *dump])
    monkeypatch.setattr(sys, "stdin", io.StringIO(log))
    assert cli.main(["explain", "-"]) == 0
    assert capsys.readouterr().out.startswith("IBV_WC_REM_ACCESS_ERR")


def test_the_whole_guide_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "--all"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert max(map(len, printed)) <= 100
    assert "IBV_WC_RNR_RETRY_EXC_ERR  (completion status 13)" in printed


def _raiser(error: type[BaseException]) -> Callable[..., Any]:
    def load(*_arguments: object) -> Any:
        raise error("the sky fell")

    return load


def test_a_bug_is_called_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(loader, "load", _raiser(RuntimeError))
    assert cli.main(["run", str(folder)]) == 3
    answer = capsys.readouterr().err
    assert answer.startswith(f"a bug in rdmalab {VERSION}: RuntimeError: the sky fell\n")
    assert cli.ISSUES in answer
    assert "Traceback" not in answer
    monkeypatch.setenv("RDMALAB_DEBUG", "1")
    assert cli.main(["run", str(folder)]) == 3
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_is_130(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "load", _raiser(KeyboardInterrupt))
    assert cli.main(["run", str(folder)]) == 130


def test_a_closed_pipe_is_quiet() -> None:
    command = [sys.executable, "-m", "rdmalab", "run", "-v", str(ROOT / "scenarios")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        answer = process.stderr.read()
        process.wait(60)
    assert b"Traceback" not in answer
    assert b"bug" not in answer
    assert process.returncode == 141


# --------------------------------------------------------------------------- what is said
def test_silence_is_health(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", str(folder / "good.rdmalab.yaml")]) == 0
    answer = capsys.readouterr()
    assert answer.out == ""
    assert answer.err == "1 of 1 scenario passed\n"


def test_a_failure_and_an_error_are_results(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert folder.is_dir()
    names = ["failing.rdmalab.yaml", "broken.rdmalab.yaml", "late.rdmalab.yaml"]
    assert cli.main(["run", *names]) == 2
    answer = capsys.readouterr()
    assert answer.out.splitlines() == [
        "FAIL failing.rdmalab.yaml:5  expect line 1",
        "  expected  now == 1",
        "  actual    now = 0",
        'ERROR broken.rdmalab.yaml:4:9: no verb "aloc_pd"',
        "  4 |   - do: aloc_pd A.pd0",
        "              ^^^^^^^  did you mean alloc_pd?",
        "ERROR late.rdmalab.yaml:4:18: there is no node C",
        "  4 |   - do: alloc_pd C.pd0",
        "                       ^^^^^  nodes: A B",
    ]
    assert answer.err == "0 of 3 scenarios passed, 1 failed, 2 cannot run\n"


def test_run_verbose_prints_packets(capsys: pytest.CaptureFixture[str]) -> None:
    path = ROOT / "scenarios" / "rc" / "send.rdmalab.yaml"
    assert cli.main(["run", "-v", str(path)]) == 0
    answer = capsys.readouterr().out
    assert answer.startswith(f"# {path}: SEND, the message that needs a receive\n")
    assert "A->B SEND_ONLY psn=0 64 B ack_req\n" in answer


def test_check_prints_only_errors(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", str(folder)]) == 2
    answer = capsys.readouterr()
    assert answer.out.count(".rdmalab.yaml:") == 2
    assert answer.err == "3 of 5 files can run; rdmalab run tests what they expect\n"


def test_check_prints_every_mistake_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "two.rdmalab.yaml"
    path.write_text("rdmalab: 1\ntitle: t\nsteps:\n  - aloc_pd A.pd0\n  - run: 10\n")
    assert cli.main(["check", str(path)]) == 2
    answer = capsys.readouterr().out
    assert f'{path}:4:5: no verb "aloc_pd"' in answer
    assert f'{path}:5:10: "10" has no unit' in answer


def test_a_directory_stands_for_the_scenarios_below_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["run", str(folder), "--json"])
    document = json.loads(capsys.readouterr().out)
    names = [Path(scenario["file"]).name for scenario in document["scenarios"]]
    assert names == sorted(names[:1]) + names[1:]
    assert len(names) == 5


def test_the_profile_is_that_of_nodes_that_name_none(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "rdmalab: 1\ntitle: t\nsteps:\n  - use rc_pair\n  - do: query_qp A.qp0\n"
    file = folder / "p.rdmalab.yaml"
    file.write_text(f"{text}    expect: [A.qp0.sq.capacity == 15]\n")
    assert cli.main(["run", str(file)]) == 1
    assert cli.main(["run", "--profile", "rxe", str(file)]) == 0
    assert "15" in capsys.readouterr().out


# --------------------------------------------------------------------------- captures
SENDING = str(ROOT / "scenarios" / "err" / "rnr-retry-exceeded.rdmalab.yaml")


def test_a_capture_goes_where_it_is_wanted(folder: Path) -> None:
    file = folder / "x.pcapng"
    file.write_bytes(pcapng.MAGIC)
    written = program("export", "pcapng", SENDING, "-o", str(file))
    assert (written.returncode, written.stdout) == (0, "")
    assert written.stderr == f"{file}: 4 frames, replaced the previous capture\n"
    command = [sys.executable, "-m", "rdmalab", "export", "pcapng", SENDING, "-o", "-"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    printed = subprocess.run(command, capture_output=True, check=True, env=environment)
    assert printed.stdout == file.read_bytes()
    assert printed.stdout.startswith(b"\x0a\x0d\x0d\x0a")
    assert printed.stderr == b"standard output: 4 frames\n"


def test_a_terminal_is_shown_no_capture(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert folder.is_dir()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert cli.main(["export", "pcapng", "good.rdmalab.yaml", "-o", "-"]) == 2
    answer = capsys.readouterr()
    assert answer.out == ""
    assert "a terminal cannot show a capture: -o FILE, or -o - into a pipe" in answer.err


def test_of_a_scenario_that_fails_the_capture_is_written_too(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = "".join(f"  - {line}\n" for line in (*PAIR_SENDS, "run: until now == 7 within 5us"))
    (folder / "fails.rdmalab.yaml").write_text(f"rdmalab: 1\ntitle: t\nsteps:\n{steps}")
    assert cli.main(["export", "pcapng", "fails.rdmalab.yaml", "-o", "x.pcapng"]) == 1
    answer = capsys.readouterr()
    assert answer.out == ""
    assert answer.err.startswith("FAIL fails.rdmalab.yaml:6  run\n  expected  until now == 7")
    assert answer.err.endswith("\nx.pcapng: 2 frames\n")
    assert (folder / "x.pcapng").stat().st_size > 200


# --------------------------------------------------------------------------- documents
def _schema(of: str, capsys: pytest.CaptureFixture[str]) -> Any:
    assert cli.main(["schema", "--of", of]) == 0
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def test_run_json_is_valid(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = _schema("run", capsys)
    assert cli.main(["run", "--json", "-v", str(folder)]) == 2
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, schema)
    assert (document["passed"], document["failed"], document["errors"]) == (2, 1, 2)
    assert document["engine"] == VERSION


def test_repl_json_is_valid(capsys: pytest.CaptureFixture[str]) -> None:
    schema = _schema("repl", capsys)
    lines = ["use rc_pair", "show A.qp0", "run 1us", "modify_qp A.qp0 state=INIT", "nonsense"]
    arguments = [part for line in lines for part in ("-c", line)]
    cli.main(["repl", "--json", *arguments])
    jsonschema.validate(json.loads(capsys.readouterr().out), schema)


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_repl_keeps_going_after_a_refusal(
    form: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["repl", *form, "-c", "create_cq A.cq1 cqe=0", "-c", "why EINVAL"]
    assert cli.main(arguments) == 1
    assert "why EINVAL" not in capsys.readouterr().out
    assert cli.main([*arguments, "--keep-going"]) == 1
    answer = capsys.readouterr().out
    assert "cqe-range" in answer
    assert "create_cq returned EINVAL" in answer


def test_why_json_is_valid_and_plays_past_what_fails(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["why", "denied.yaml", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, _schema("why", capsys))
    assert (document["cause"], document["is"]) == ("rem-access", "failed")
    assert document["event"] > 14


def test_why_says_it_in_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["why", "denied.yaml", "A.qp0.wr[0]"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("FAILED  A.qp0.wr[0] ended with REM_ACCESS_ERR")
    assert any(line.startswith(" 1. rem-access: ") for line in lines)
    assert cli.main(["why", "denied.yaml", "A.pd0"]) == 0
    assert capsys.readouterr().out.startswith("WELL  A.pd0 is used by A.qp0, A.mr0")
    assert cli.main(["why", "denied.yaml", "A.pd0.x"]) == 2
    assert "why does not explain A.pd0.x" in capsys.readouterr().err


def test_scenario_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert _schema("scenario", capsys)["title"] == "rdmalab scenario"


def test_two_runs_print_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(ROOT / "scenarios" / "loss")
    cli.main(["run", "--json", path])
    first = capsys.readouterr().out
    cli.main(["run", "--json", path])
    assert capsys.readouterr().out == first


def test_junit_is_well_formed(folder: Path) -> None:
    cli.main(["run", "--junit", "out.xml", str(folder)])
    root = ET.parse(folder / "out.xml").getroot()
    assert root.attrib == {"tests": "5", "failures": "1", "errors": "2"}


# --------------------------------------------------------------------------- what is loaded
SCREENS = ("textual", "prompt_toolkit")
PROBE = """
import json, sys
from rdmalab.cli import main
code = main(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules)]))
"""


def loaded_by(*arguments: str) -> tuple[int, set[str]]:
    command = [sys.executable, "-c", PROBE, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    code, modules = json.loads(done.stdout.splitlines()[-1])
    return code, set(modules)


def test_the_app_starts_without_the_parser_of_options() -> None:
    """click and the modules of all commands take 30 ms."""
    code = (
        "import sys, types; from rdmalab import cli; launched = types.ModuleType('launch')\n"
        "launched.main = lambda: 7; sys.modules['rdmalab.tui.launch'] = launched\n"
        "cli.at_terminal, cli.is_dumb, sys.argv = (lambda: True), (lambda: False), ['rdmalab']\n"
        "print(cli.main(), 'click' in sys.modules, 'rdmalab.cli.program' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout == "7 False False\n"


def test_version_loads_nearly_nothing() -> None:
    code, modules = loaded_by("--version")
    assert code == 0
    assert not modules & {*SCREENS, "pydantic", "yaml", "asyncio"}
    rooms = {name.split(".")[1] for name in modules if name.startswith("rdmalab.")}
    assert rooms == {"cli", "disk", "shell", "spec", "version"}
    assert {m for m in modules if m.startswith("rdmalab.shell.")} == {"rdmalab.shell.streams"}


def test_a_command_loads_the_modules_of_no_other() -> None:
    _, modules = loaded_by("explain", "RTS")
    rooms = {name.rpartition(".")[2] for name in modules if name.startswith("rdmalab.cli.")}
    assert rooms == {"commands", "exits", "program", "reference_commands"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", str(ROOT / "scenarios/err")],
        ["check", str(ROOT / "scenarios/err")],
        ["explain", "RTS"],
        ["why", str(ROOT / "scenarios/rc/send.rdmalab.yaml")],
        ["schema", "--of", "run"],
        ["schema", "--of", "why"],
        ["export", "pcapng", SENDING, "-o", os.devnull],
    ],
    ids=lambda arguments: arguments[0],
)
def test_headless_commands_load_no_screen(arguments: list[str]) -> None:
    code, modules = loaded_by(*arguments)
    assert code == 0
    assert not modules & set(SCREENS)


def test_piped_lines_are_carried_out() -> None:
    done = program(input="use rc_pair\nshow A.qp0\n")
    assert done.returncode == 0
    assert "RTS" in done.stdout
    assert "\x1b" not in done.stdout


def test_it_is_a_module_and_a_program() -> None:
    assert program("--version").stdout == f"rdmalab {VERSION}\n"


# --------------------------------------------------------------------------- whatever is in a file
def test_spoiled_files_never_look_like_a_bug(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.scenario.mangle import samples

    for name, text in samples(60, 77):
        file = tmp_path / f"{name}.rdmalab.yaml"
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        assert cli.main(["run", str(file)]) in (0, 1, 2)
        answer = capsys.readouterr()
        assert "Traceback" not in answer.out + answer.err
        assert "a bug in" not in answer.err


# --------------------------------------------------------------------------- lessons
SHOWN = "rdmalab: 1\ntitle: Up\nsteps:\n  - use rc_pair\n  - do: show\n"
SHOWS = SHOWN + "    teaches: [S224]\n    expect: [A.qp0.state == {}]\n"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "up.rdmalab.yaml").write_text(SHOWS.format("RTS"), "utf-8")
    return tmp_path


def test_lessons_are_listed(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lessons"]) == 0
    assert capsys.readouterr().out.splitlines()[2].split() == ["up", "-", "1", "Up"]
    assert cli.main(["lessons", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [row["teaches"] for row in listed["lessons"]] == [["S224"]]
    (shelf / "scenarios" / "bad.rdmalab.yaml").write_text("rdmalab: 2\n", "utf-8")
    assert cli.main(["lessons"]) == 0  # check and run find what is wrong with a file
    assert cli.main(["lessons", "scenarios"]) == cli.main(["lessons", "--json"]) == 2
    assert cli.main(["lessons", str(shelf / "none")]) == 2


def test_coverage_is_what_passes_now(shelf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lessons", "--coverage", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in answer["statements"] if row["passed"]] == ["S224"]
    assert len(answer["statements"]) == 260
    (shelf / "scenarios" / "up.rdmalab.yaml").write_text(SHOWS.format("ERR"), "utf-8")
    assert cli.main(["lessons", "--coverage"]) == 1
    said_now = capsys.readouterr()
    assert "  S224  FAILED  " in said_now.out
    assert "1 of 260 statements are bound, 1 of them fail" in said_now.err
    (shelf / "scenarios" / "up.rdmalab.yaml").write_text(SHOWN, "utf-8")
    assert cli.main(["lessons", "--coverage"]) == 5


@pytest.mark.parametrize(("what", "more"), [("lessons", []), ("coverage", ["--coverage"])])
def test_the_documents_are_what_their_schema_says(
    shelf: Path, capsys: pytest.CaptureFixture[str], what: str, more: list[str]
) -> None:
    assert cli.main(["schema", "--of", what]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert cli.main(["lessons", "--json", *more]) == 0
    jsonschema.Draft202012Validator(schema).validate(json.loads(capsys.readouterr().out))


def test_tests_of_a_folder_run_only_with_the_option(
    shelf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A scenario from elsewhere is safe to play; a test from elsewhere is not."""
    (shelf / "tests").mkdir()
    test = "import pytest\n@pytest.mark.covers\ndef test_it(record_property):\n"
    test += "    record_property('covers', 'S090')\n# @covers(\n"
    (shelf / "tests" / "test_it.py").write_text(test, "utf-8")
    (shelf / "pytest.ini").write_text("[pytest]\nmarkers = covers: x\n", "utf-8")
    for arguments, asked in (
        (["scenarios"], "not run"),
        ([], "1 asked below tests"),
        (["scenarios", "--tests", "tests"], "1 asked below tests"),
    ):
        assert cli.main(["lessons", "--coverage", *arguments]) == 0
        assert f"tests: {asked}" in capsys.readouterr().err


def test_what_was_shared_is_printed_where_no_app_can_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rdmalab.scenario.share_text import shared

    scenario = "rdmalab: 1\ntitle: x\nsteps:\n  - alloc_pd A.pd0\n"
    assert cli.main(["open", shared(scenario)]) == 0
    assert capsys.readouterr().out == scenario
    word = shared(scenario)
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{word[:20]}\n  {word[20:]}\n"))
    assert cli.main(["open", "-"]) == 0
    assert capsys.readouterr().out == scenario


# --------------------------------------------------------------------------- files and streams
OVERWRITING = [
    ["export", "pcapng", "good.rdmalab.yaml", "-o"],
    ["run", "good.rdmalab.yaml", "--junit"],
    ["explain", "modify_qp", "--svg", "-o"],
    ["explain", "psn", "--json", "-o"],
    ["explain", "--all", "-o"],
    ["explain", "psn", "-o"],
]


@pytest.mark.parametrize("arguments", OVERWRITING, ids=" ".join)
@pytest.mark.parametrize("there", ["good.rdmalab.yaml", "notes", "fifo", "/dev/full"])
def test_a_file_of_another_kind_is_never_replaced(
    folder: Path, arguments: list[str], there: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "notes").write_text("rdmalab: notes of mine")
    os.mkfifo(folder / "fifo")
    assert cli.main([*arguments, there]) == 2
    assert there in capsys.readouterr().err
    assert (folder / "notes").read_text() == "rdmalab: notes of mine"
    assert (folder / "good.rdmalab.yaml").read_text() == GOOD


@pytest.mark.parametrize("arguments", OVERWRITING, ids=" ".join)
def test_a_file_of_the_same_kind_is_replaced(folder: Path, arguments: list[str]) -> None:
    assert cli.main([*arguments, "x"]) == 0
    first = (folder / "x").read_bytes()
    (folder / "x").write_bytes(first + b"more")
    assert cli.main([*arguments, "x"]) == 0
    assert len((folder / "x").read_bytes()) - len(first) in (0, 1)  # a duration in milliseconds


def test_a_program_is_saved_over_no_file_but_one_that_save_wrote(folder: Path) -> None:
    (folder / "p.py").write_text("print('done')")
    (folder / "notes").write_text("rdmalab: notes of mine")
    assert program("python", "--save", "notes", "p.py").returncode == 2
    assert (folder / "notes").read_text() == "rdmalab: notes of mine"
    assert program("python", "--save", "good.rdmalab.yaml", "p.py").returncode == 2
    assert (folder / "good.rdmalab.yaml").read_text() == GOOD
    for _ in range(2):
        assert program("python", "--save", "new.rdmalab.yaml", "p.py").returncode == 0
    assert "p.py" in (folder / "new.rdmalab.yaml").read_text()


ENDLESS = {"fifo": "a FIFO, not a regular file", "/dev/zero": "a device, not a regular file"}


@pytest.mark.parametrize("file", ENDLESS)
@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "{}"], ["check", "{}"], ["lessons", "{}"], ["why", "{}"],
        ["export", "pcapng", "{}", "-o", "x"], ["repl", "-f", "{}"], ["python", "{}"],
        ["repl", "-c", "load {}"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_never_ends_is_refused(
    folder: Path, arguments: list[str], file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(folder / "fifo")
    lines = [argument.format(f'"{file}"' if " " in argument else file) for argument in arguments]
    assert cli.main(lines) == 2
    answer = capsys.readouterr()
    assert ENDLESS[file] in answer.out + answer.err


@pytest.mark.parametrize("command", ["run", "check", "lessons"])
def test_a_fifo_among_scenarios_is_one_error(
    folder: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(folder / "deep" / "fifo.rdmalab.yaml")
    assert cli.main([command, "deep"]) == 2
    answer = capsys.readouterr()
    assert (answer.out + answer.err).count("a FIFO, not a regular file") == 1


def test_a_large_file_of_lines_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "large").touch()
    os.truncate(folder / "large", 1 << 40)
    for arguments in (["repl", "-f", "large"], ["python", "large"], ["run", "large"]):
        assert cli.main(arguments) == 2
        answer = capsys.readouterr()
        assert "large" in answer.out + answer.err


@pytest.mark.parametrize("arguments", [["repl"], ["explain", "-"]])
def test_standard_input_that_never_ends(arguments: list[str]) -> None:
    with Path("/dev/zero").open("rb") as zeros:
        done = program(*arguments, stdin=zeros)
    assert done.returncode == 2
    assert "larger than 16,777,216" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["run"], ["check"], ["lessons"], ["why"], ["lessons", "--coverage", "good.rdmalab.yaml",
     "--tests"], ["python"], ["repl", "-f"], ["export", "pcapng", "good.rdmalab.yaml", "-o"]],
    ids=" ".join,
)  # fmt: skip
def test_a_path_that_is_too_long(
    folder: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert folder.is_dir()
    assert cli.main([*arguments, "x" * 3000]) == 2
    answer = capsys.readouterr()
    assert "a bug" not in answer.err
    assert "x" * 3000 in answer.out + answer.err


SPEAKING = [
    ["explain", "--all"], ["capabilities"], ["schema", "--of", "scenario"], ["lessons", "deep"],
    ["run", "-v", "good.rdmalab.yaml"], ["repl", "-c", "use rc_pair"], ["--help"],
    ["explain", "modify_qp", "--svg"], ["repl", "--json", "-c", "use rc_pair"],
    ["why", "denied.yaml"], ["explain", "retry_cnt"], ["check", "arrow→.rdmalab.yaml"],
    ["explain", "psn", "--json"], ["lessons", "--json", "deep"],
]  # fmt: skip


def printed(arguments: list[str], encoding: str, stdin: str = "") -> tuple[int, bytes, bytes]:
    """The exit code, and what streams of this encoding were given."""
    before = sys.stdin, sys.stdout, sys.stderr
    out, err = io.BytesIO(), io.BytesIO()
    sys.stdin = io.StringIO(stdin)
    sys.stdout, sys.stderr = io.TextIOWrapper(out, encoding), io.TextIOWrapper(err, encoding)
    try:
        code = cli.main(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
        return code, out.getvalue(), err.getvalue()
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


@pytest.mark.parametrize("arguments", SPEAKING, ids=" ".join)
def test_no_encoding_fails(folder: Path, arguments: list[str]) -> None:
    assert folder.is_dir()
    code, octets, _ = printed(arguments, "utf-8")
    expected = octets.decode()
    for encoding in ("cp1252", "latin-1", "cp437", "ascii"):
        again, octets, prompt = printed(arguments, encoding)
        assert (again, b"a bug" in prompt) == (code, False), encoding
        text = octets.decode(encoding)
        if "--json" in arguments or arguments[0] == "schema":
            assert json.loads(octets) == json.loads(expected)
            assert octets.isascii()
        elif "--svg" in arguments:
            assert ET.tostring(ET.fromstring(text)) == ET.tostring(ET.fromstring(expected))
            assert octets.isascii()
        else:
            assert text.count("?") <= expected.count("?"), encoding


def test_no_encoding_fails_in_a_process_of_its_own(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "cp1252"}
    command = [sys.executable, "-m", "rdmalab", "explain", "--all"]
    done = subprocess.run(command, capture_output=True, check=False, env=environment, cwd=folder)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b" -> " in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [["explain", "--all"], ["capabilities"], ["run", "good.rdmalab.yaml", "failing.rdmalab.yaml",
     "-v"], ["repl", "-c", "use rc_pair"], ["export", "pcapng", "denied.yaml", "-o", "-"]],
    ids=" ".join,
)  # fmt: skip
@pytest.mark.parametrize(
    ("where", "why"), [(">/dev/full", "No space left on device"), (">&-", "it is closed")]
)
def test_no_room_for_the_output_is_no_bug(
    folder: Path, arguments: list[str], where: str, why: str
) -> None:
    assert folder.is_dir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    shell = ["sh", "-c", f'"$0" "$@" {where}', sys.executable, "-m", "rdmalab", *arguments]
    done = subprocess.run(shell, capture_output=True, check=False, env=environment, text=True)
    assert done.returncode == 2
    assert f"standard output cannot be written: {why}\n" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize("closed", ["<&- 2>&-", "2>/dev/full"])
@pytest.mark.parametrize("arguments", [[], ["explain", "-"], ["run", "good.rdmalab.yaml"], ["x"]])
def test_other_closed_streams_are_no_bug(folder: Path, closed: str, arguments: list[str]) -> None:
    assert folder.is_dir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    shell = ["sh", "-c", f'"$0" "$@" {closed}', sys.executable, "-m", "rdmalab", *arguments]
    done = subprocess.run(
        shell, capture_output=True, check=False, env=environment, text=True,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == {"run": 0, "": 0}.get("".join(arguments[:1]), 2)
    assert "a bug" not in done.stderr + done.stdout


HOSTILE = "\x1b[31m\x1b]0;x\x07\u202e\u2066\x9b2J\r\x7fmine"


@pytest.mark.parametrize(
    "arguments",
    [
        ["explain", HOSTILE], ["explain", "-"], ["repl", "-f", HOSTILE], ["run", HOSTILE],
        ["repl", "--profile", HOSTILE], ["repl", "--seed", HOSTILE], ["schema", "--of", HOSTILE],
        [HOSTILE], ["run", f"--{HOSTILE}"], ["python", HOSTILE], ["open", HOSTILE],
        ["export", "pcapng", "good.rdmalab.yaml", "-o", f"none/{HOSTILE}"], ["check", HOSTILE],
        ["why", "denied.yaml", HOSTILE], ["repl", "-c", HOSTILE], ["lessons", HOSTILE],
        ["repl", "-c", f'load "{HOSTILE}"'], ["explain", "modify_qp", HOSTILE, "--svg"],
        ["repl", "--json", "-c", HOSTILE], ["explain", "status=12", HOSTILE, "--json"],
        ["run", "--json", HOSTILE], ["explain", f"status=12 IBV_{HOSTILE}"],
    ],
    ids=lambda arguments: ascii(" ".join(arguments))[:50],
)  # fmt: skip
def test_nothing_that_is_echoed_is_obeyed(folder: Path, arguments: list[str]) -> None:
    assert folder.is_dir()
    code, out, err = printed(arguments, "utf-8", stdin=f"{HOSTILE}\n")
    text = (out + err).decode()
    assert code in (0, 2)
    assert all(c == "\n" or c.isprintable() for c in text), ascii(text)
    if "--json" in arguments:
        assert json.loads(out)


# --------------------------------------------------------------------------- profiles and files
PINNED = """\
rdmalab: 1
title: pinned
nodes:
  A: {profile: rxe}
  B: {profile: rxe}
steps:
  - use rc_pair
"""


@pytest.mark.parametrize(
    "command",
    [("run",), ("why",), ("export", "pcapng", "-o", "x.pcapng"), ("lessons", "--coverage")],
    ids=lambda command: command[0],
)
def test_option_profile_replaces_and_reports_profiles_of_the_file(
    command: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.rdmalab.yaml").write_text(PINNED, encoding="utf-8")
    text = "profile mlx5 replaces the profiles in p.rdmalab.yaml (A: rxe, B: rxe)"
    cli.main([*command, "p.rdmalab.yaml", "--profile", "mlx5"])
    assert text in capsys.readouterr().err
    cli.main([*command, "p.rdmalab.yaml"])
    assert "replaces" not in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["x.yaml"], ["--profile", "rxe", "x.yaml"], ["no/such"]])
def test_a_file_without_a_terminal_says_what_plays_it(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    answer = capsys.readouterr().err
    assert f"rdmalab {arguments[-1]} opens the app, which needs a terminal" in answer
    assert f"without one: rdmalab run {arguments[-1]}" in answer


def test_hint_for_an_option_before_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--profile", "rxe", "run", "x.yaml"]) == 2
    assert "write --profile after the command: rdmalab run --profile" in capsys.readouterr().err
    assert cli.main(["frobnicate"]) == 2
    assert "No such command" in capsys.readouterr().err


def test_help_has_the_environment_variables(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    answer = capsys.readouterr().out
    assert "RDMALAB_ASCII=1" in answer
    assert "RDMALAB_STATE" in answer
    assert "FILE" in answer


def test_a_shared_word_in_a_pipe_takes_no_profile(capsys: pytest.CaptureFixture[str]) -> None:
    from rdmalab.scenario.share_text import shared

    assert cli.main(["open", shared(PINNED), "--profile", "rxe"]) == 2
    assert "--profile is for the app" in capsys.readouterr().err


def test_fmt_writes_what_it_shows(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Carriage returns and the byte order mark go too; a file that is well is not touched."""
    path = folder / "x.rdmalab.yaml"
    untidy = GOOD.replace("[now == 0]", "[ now == 0 ]  # same time").replace("\n", "\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + untidy.encode())
    assert cli.main(["fmt", "--check", str(folder)]) == 1
    assert capfd.readouterr().out.splitlines() == [str(path)]
    assert cli.main(["fmt", "--diff", str(path)]) == 1
    assert "+    expect: [now == 0]    # same time" in capfd.readouterr().out
    before = (folder / "good.rdmalab.yaml").stat().st_ino
    assert cli.main(["fmt", str(folder)]) == 0
    assert path.read_bytes() == GOOD.replace("0]", "0]    # same time").encode()
    assert (folder / "good.rdmalab.yaml").stat().st_ino == before
    assert cli.main(["fmt", "--check", str(folder)]) == 0


def test_fmt_names_the_schema_to_editors(folder: Path) -> None:
    line = "# yaml-language-server: $schema="
    assert cli.main(["fmt", "--schema", "scenario-1.json", "deep"]) == 0
    text = (folder / "deep" / "er" / "x.rdmalab.yaml").read_text("utf-8")
    assert text == f"{line}../../scenario-1.json\n{GOOD}"
    assert cli.main(["fmt", "--schema", "https://example.org/s.json", "deep"]) == 0
    text = (folder / "deep" / "er" / "x.rdmalab.yaml").read_text("utf-8")
    assert text == f"{line}https://example.org/s.json\n{GOOD}"


def test_fmt_goes_on_after_a_file_that_is_not_yaml(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.rdmalab.yaml").write_text("rdmalab: [1\n", "utf-8")
    (folder / "x.rdmalab.yaml").write_text(GOOD.replace("title: ", "title:  "), "utf-8")
    assert cli.main(["fmt", str(folder)]) == 2
    assert "bad.rdmalab.yaml:" in capfd.readouterr().out
    assert (folder / "x.rdmalab.yaml").read_text("utf-8") == GOOD


def test_check_takes_a_profile_and_values(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = "rdmalab: 1\ntitle: t\nparams: {n: {default: 4}}\nsteps:\n"
    (folder / "p.yaml").write_text(f"{text}  - create_cq A.cq0 cqe=${{n}}\n", "utf-8")
    assert cli.main(["check", "p.yaml", "--profile", "rxe"]) == 0
    assert cli.main(["check", "p.yaml", "--set", "n=many"]) == 2
    assert "p.yaml:5:25: " in capfd.readouterr().out


def test_watch_plays_again_what_changed(folder: Path) -> None:
    """Files that are included count, also while they are wrong; ^C ends with exit code 130."""
    (folder / "pair.yaml").write_text("rdmalab: 1\nsetup:\n  - use rc_pair\n", "utf-8")
    including = GOOD.replace("steps:", "setup:\n  - include: pair.yaml\nsteps:")
    (folder / "w.yaml").write_text(including.replace("A.pd0", "A.pd9"), "utf-8")
    command = [sys.executable, "-m", "rdmalab", "run", "--watch", "w.yaml", "good.rdmalab.yaml"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as watching:
        assert watching.stdout is not None

        def until_waiting() -> list[str]:
            lines = takewhile(lambda line: not line.startswith("watching"), watching.stdout or ())
            return [line.rstrip() for line in lines]

        assert until_waiting() == ["2 of 2 scenarios passed"]
        (folder / "pair.yaml").write_text("rdmalab: 1\nsetup:\n  - use rc_piar\n", "utf-8")
        answer = until_waiting()
        assert answer[0].startswith("ERROR pair.yaml:3:9: ")
        assert answer[-1] == "0 of 1 scenario passed, 1 cannot run"
        (folder / "pair.yaml").write_text("rdmalab: 1\nsetup:\n  - use rc_pair\n", "utf-8")
        assert until_waiting() == ["1 of 1 scenario passed"]
        watching.send_signal(signal.SIGINT)
        assert "Traceback" not in watching.stdout.read()
    assert watching.returncode == 130


# --------------------------------------------------------------------------- the book
def test_a_book_is_written_and_written_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = ROOT / "scenarios/labs/sq-full.lab.yaml"
    (folder / "class.csv").write_text("id\ns1\ns2\n")
    command = ["book", "out", "good.rdmalab.yaml", str(lab), "--roster", "class.csv", "--jobs", "1"]
    assert cli.main(command) == 0
    assert "lessons and labs: 2, " in capsys.readouterr().err
    first = {path: path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file()}
    names = {path.relative_to(folder / "out").as_posix() for path in first}
    assert {"index.html", "search.js", "sheets/s1.html", "sheets/s2.html"} <= names
    assert cli.main(command) == 0
    assert all(path.read_bytes() == octets for path, octets in first.items())
    assert cli.main(["book", "out", "failing.rdmalab.yaml", "--jobs", "1"]) == 1
    assert "FAIL failing.rdmalab.yaml:5" in capsys.readouterr().err
    assert not (folder / "out/sheets/s1.html").exists()
    assert "now == 1" in (folder / "out/lessons/others/failing.html").read_text()

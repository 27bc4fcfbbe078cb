"""The face of the prompt from outside: pipes, files, -c, exit codes, JSON, a real terminal."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import jsonschema
import pytest

from rdmalab.cli.schemas import schema_of
from rdmalab.session.session import MAX_EVENTS
from tests.shell.prompts import Prompt
from tests.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

REPL = [sys.executable, "-c", "import sys; from rdmalab.shell.repl import main; {}"]
PATIENCE_S = 5  # on a loaded machine; the next test measures what ^C really takes
ENDLESS = (
    "use rc_pair rnr_retry=7 min_rnr_timer=1",
    "post_send A.qp0 opcode=SEND sg=A.mr0[0:64] flags=SIGNALED",
)


def command(call: str) -> list[str]:
    return [*REPL[:2], REPL[2].format(f"sys.exit(main({call}))")]


def run(call: str = "", stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(call),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **env},
    )


def test_a_pipe_is_answered_without_escapes() -> None:
    done = run(stdin="use rc_pair\nshow qp\n")
    assert done.returncode == 0
    assert "[RTS]" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stderr == ""


def test_the_first_line_that_is_not_understood_ends_it() -> None:
    done = run(stdin="alloc_pd A.pd0\n\n# a remark\nfrobnicate\nalloc_pd A.pd1\n")
    assert done.returncode == 2
    assert done.stderr.startswith("stdin:4: not understood (nothing happened): no verb")
    assert "A.pd1" not in done.stdout


def test_a_verb_that_is_refused_ends_it_too() -> None:
    done = run('["use rc_pair", "modify_qp A.qp0 state=INIT", "step"]')
    assert done.returncode == 1
    assert done.stderr.startswith("-c 2: error: modify_qp returned EINVAL (22)")


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "lines.rdmalab"
    file.write_text("use rc_pair\npost_send A.qp0 wr={opcode=SEND\n  wr_id=3}\nshow sq A.qp0\n")
    done = run(f"file={str(file)!r}")
    assert done.returncode == 0
    assert "wr3  SEND" in done.stdout
    file.write_text("use rc_pair\nstep\nbad\n")
    assert run(f"file={str(file)!r}").stderr.startswith(f"{file}:3: not understood")
    assert run("file='/nowhere/at/all'").returncode == 2


def test_quit_ends_it_well() -> None:
    done = run(stdin="quit\nfrobnicate\n")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_that_knows_only_ascii() -> None:
    done = run(stdin="use rc_pair\nshow\nshow A.qp0\n", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.isascii()


def test_ascii_holds_for_lines_of_a_pipe_too() -> None:
    """It was set: by --ascii, RDMALAB_ASCII or the settings; the stream could show all of it."""
    lines = "use rc_pair\npost_send A.qp0 opcode=SEND sg=A.mr0[0:64]\nstep\nshow wire\n"
    assert run(stdin=lines, RDMALAB_ASCII="1").stdout.isascii()
    assert not run(stdin=lines, RDMALAB_ASCII="0").stdout.isascii()


def test_the_json_document_fits_its_schema() -> None:
    lines = ["use rc_pair", "step", "query_qp A.qp0", "show", "read A.mr0[0:4]", "poll_cq A.cq0"]
    lines += ["show log last=2", "modify_qp A.qp0 state=INIT"]
    done = run(f"{lines!r}, json=True")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    jsonschema.validate(document, schema_of("repl"))
    replies = document["replies"]
    assert [r["event"] for r in replies if r["depth"] == 1] == list(range(14))
    assert replies[-1]["errno"] == "EINVAL"
    assert replies[-1]["error"]["column"] == len("modify_qp A.qp0 state=") + 1
    assert replies[-1]["line_number"] == 8
    assert next(r for r in replies if r["line"].startswith("read"))["value"] == "00000000"


def test_json_of_a_line_that_is_not_understood() -> None:
    done = run('["frobnicate"], json=True')
    assert done.returncode == 2
    (reply,) = json.loads(done.stdout)["replies"]
    assert reply["error"]["kind"] == "not understood"
    assert reply["error"]["hint"] == "help all lists the verbs"


def test_the_profile_is_that_of_the_devices() -> None:
    done = run('["use rc_pair", "show mr A.mr0[0:1]"], profile="rxe"')
    lkey, rkey = done.stdout.partition("lkey ")[2].split()[0:3:2]
    assert lkey == rkey


def test_scripts_need_no_screen() -> None:
    check = "assert not {'prompt_toolkit', 'textual', 'yaml', 'pydantic'} & set(sys.modules)"
    call = [*REPL[:2], REPL[2].format(f"main(['use rc_pair', 'show']); {check}")]
    subprocess.run(call, capture_output=True, timeout=120, check=True)


# --------------------------------------------------------------------------- a real terminal
def terminal(tmp_path: Path, call: str = "", **env: str) -> Terminal:
    # pyte's screen does not answer where its cursor is, for which prompt_toolkit would wait
    found = {"RDMALAB_STATE": str(tmp_path), "PROMPT_TOOLKIT_NO_CPR": "1", **env}
    return Terminal(command(call), columns=80, rows=24, env=found)


def test_a_conversation_at_a_terminal(tmp_path: Path) -> None:
    with terminal(tmp_path) as screen:
        screen.wait_for("A> ")
        screen.send(b"use rc_pair\r")
        screen.wait_for("A.qp0 is in RTS")
        screen.send(b"modify_qp A.qp0 state=")
        screen.wait_for("from RTS")  # the menu
        screen.send(b"\x03node B\r")
        screen.wait_for("B> ")
        screen.send(b"quit\r")
        assert screen.wait_exit() == 0
    assert "use rc_pair" in (tmp_path / "history").read_text()


def test_a_removed_state_directory_is_reported_once(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with terminal(state) as screen:
        screen.wait_for("A> ")
        screen.send(b"alloc_pd A.p1\r")
        screen.wait_for("A.p1 created")
        shutil.rmtree(state)
        screen.send(b"alloc_pd A.p2\r")
        screen.wait_for("A.p2 created")
        screen.send(b"alloc_pd A.p3\r")
        text = "\n".join(screen.wait_for("A.p3 created"))
        screen.send(b"quit\r")
        assert screen.wait_exit() == 0
    assert text.count("nothing is kept of this session: No such file or directory") == 1
    assert text.count("is not kept") == 0
    assert not state.exists()


@pytest.mark.parametrize("plain", ["", "plain=True"])
def test_a_full_disk_is_reported_once(tmp_path: Path, plain: str) -> None:
    """No file may have a byte: what a full disk is, without one."""
    limited = ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *command(plain)]
    found = {"RDMALAB_STATE": str(tmp_path), "PROMPT_TOOLKIT_NO_CPR": "1"}
    with Terminal(limited, columns=80, rows=24, env=found) as screen:
        screen.wait_for("A> ")
        for name in ("p1", "p2"):
            screen.send(f"alloc_pd A.{name}\r".encode())
            text = "\n".join(screen.wait_for(f"A.{name} created"))
        screen.send(b"quit\r")
        assert screen.wait_exit() == 0
    assert text.count("nothing is kept of this session: File too large") == 1
    assert text.count("is not kept") == 0


def test_a_prompt_writes_no_mark_of_direction(tmp_path: Path) -> None:
    """Typed as escapes in quotes, which are ASCII; said in the complaint about the file."""
    with terminal(tmp_path) as screen:
        screen.wait_for("A> ")
        screen.send(b'load "none\\u202e\\x9b31m"\r')
        screen.wait_for("cannot be read")
        screen.send(b"quit\r")
        assert screen.wait_exit() == 0
    assert "\u202e".encode() not in screen.raw
    assert "\x9b".encode() not in screen.raw


def interrupted(screen: Terminal) -> None:
    screen.send(ENDLESS[0].encode() + b"\r")
    screen.wait_for("B.qp0 is in RTS")
    screen.send(ENDLESS[1].encode() + b"\r")
    screen.wait_for("SQ 1/8")
    screen.send(b"run 10000s\r")
    time.sleep(0.5)
    asked = time.monotonic()
    screen.send(b"\x03")
    screen.wait_for("stopped")
    assert time.monotonic() - asked < PATIENCE_S
    screen.send(b"show sq A.qp0\r")
    screen.wait_for("1 in progress")
    screen.send(b"post_recv B.qp0 sg=B.mr0[0:64]\r")
    screen.wait_for("RQ 1/8")
    screen.send(b"run\r")
    screen.wait_for("idle: no packet")
    screen.send(b"quit\r")
    assert screen.wait_exit() == 0


def test_ctrl_c_stops_a_run_that_never_ends(tmp_path: Path) -> None:
    with terminal(tmp_path) as screen:
        screen.wait_for("A> ")
        interrupted(screen)


def test_ctrl_c_stops_it_in_plain_too(tmp_path: Path) -> None:
    with terminal(tmp_path, "plain=True") as screen:
        screen.wait_for("A> ")
        interrupted(screen)


def test_plain_cuts_no_word_at_the_edge_of_the_terminal(tmp_path: Path) -> None:
    with terminal(tmp_path, "plain=True") as screen:
        screen.wait_for("A> ")
        screen.send(b"use rc_pair\r")
        screen.wait_for("B.qp0 is in RTS")
        rows = [row.strip() for row in screen.screen()]
        assert "max_rd_atomic=1" in rows, rows


def test_ctrl_c_in_a_script(tmp_path: Path) -> None:
    with terminal(tmp_path, f"{[*ENDLESS, 'run 10000s', 'show']!r}") as screen:
        screen.wait_for("ok [ev")
        time.sleep(1)
        screen.send(b"\x03")
        assert screen.wait_exit() == 130


def test_no_color_means_none(tmp_path: Path) -> None:
    with terminal(tmp_path, NO_COLOR="1") as screen:
        screen.wait_for("A> ")
        screen.send(b"modify_qp A.qp0 state=RTS\r")
        screen.wait_for("nothing is called")
        assert b"\x1b[31" not in screen.raw
        assert b"\x1b[91" not in screen.raw


@pytest.mark.parametrize("plain", ["plain=True", ""])
def test_a_prompt_follows_the_settings_and_names_the_wrong_ones(tmp_path: Path, plain: str) -> None:
    (tmp_path / "settings.toml").write_text("ascii = on\nwidth = 40\nmouse = perhaps\n")
    with terminal(tmp_path, plain, RDMALAB_STATE=str(tmp_path)) as screen:
        wanted = '.toml:3:mouse:"perhaps"isnotlegal'  # a long path folds the row anywhere
        screen.wait_until(lambda rows: wanted in "".join("".join(rows).split()))
        screen.wait_for("A> ")
        screen.send(b"use rc_pair; show wire\r")
        rows = [row.rstrip() for row in screen.wait_for("no packet yet")]
        assert "".join(rows).isascii()
        assert max(map(len, rows)) <= 43, rows  # the first rows are scrolled away


@pytest.mark.slow
def test_an_endless_run_stops_at_max_events() -> None:
    assert MAX_EVENTS == 1_000_000
    prompt = Prompt(*ENDLESS)
    prompt.lab.session.max_events = 5_000
    lines = " ".join(" ".join(prompt.ask("run 10000s")).split())
    assert "stopped at the limit of 5,000 events; packets may repeat without limit" in lines

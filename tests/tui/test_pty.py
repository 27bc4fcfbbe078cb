"""The application in a real terminal: what a pilot cannot exercise."""

import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdmalab.render.meanings import THEMES
from tests.terminal import Terminal

ROOT = Path(__file__).parents[2]
ARGV = [sys.executable, "-c", "import sys; from rdmalab.tui.launch import main; sys.exit(main())"]
AGAIN = b"post_send A.qp0 wr_id=2 opcode=SEND sg=A.mr0[0:64]\r"
_COLOUR = re.compile(rb"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")


def started(home: Path, argv: list[str] = ARGV, **env: str) -> Terminal:
    size = {"COLUMNS": "", "LINES": ""}  # pytest-xdist sets them, and they would win
    kept = {"RDMALAB_STATE": str(home), "PYTHONPATH": str(ROOT), **size, **env}
    return Terminal(argv, columns=80, rows=24, cwd=ROOT, env=kept)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with started(tmp_path) as it:
        it.wait_for("A>")
        yield it


def calm(terminal: Terminal, seconds: float = 0.5) -> None:
    """History is read by a task of its own after each prompt; a person is never that fast."""
    terminal.rest(seconds)


def test_a_session_from_start_to_end(terminal: Terminal) -> None:
    terminal.send(b"poll_c")
    terminal.wait_for("Take up to")  # the menu
    terminal.send(b"\tA.cq0\r")
    terminal.wait_for("wr1 SEND SUCCESS")
    calm(terminal)
    terminal.send(b"\x1b[A")
    terminal.wait_until(lambda rows: sum("A> poll_cq A.cq0" in row for row in rows) == 2)
    terminal.send(b"\x03")
    terminal.wait_until(lambda rows: any(row.strip() == "^C" for row in rows))
    calm(terminal)
    terminal.send(b"\x12oll")
    terminal.wait_for("(reverse-i-search)`oll': poll_cq")
    terminal.send(b"\x07")
    terminal.wait_until(lambda rows: not any("reverse" in row for row in rows))
    terminal.send(b"\x1b[200~post_recv B.qp0 wr_id=5 sg=B.mr0[0:64]\rstep\x1b[201~\r")
    terminal.wait_for("idle: no packet")
    terminal.send(b"quit\r")
    assert terminal.wait_exit() == 0
    assert b"Traceback" not in terminal.raw
    assert b"\x1b[?1049l" in terminal.raw
    assert terminal.raw.endswith(
        b"The session is kept: rdmalab, and then continue, restores it.\r\n"
    )


_WITH_A_BUG = """
import sys
import rdmalab.tui.finding
from rdmalab.tui.launch import main
del rdmalab.tui.finding.packet_filter
sys.exit(main())
"""


def test_a_bug_ends_the_app_with_a_report_in_place_of_a_traceback(tmp_path: Path) -> None:
    with started(tmp_path, [sys.executable, "-c", _WITH_A_BUG]) as it:
        it.wait_for("A>")
        it.send(b"alloc_pd A.pd7\r")
        it.wait_for("A.pd7 created")
        it.send(b"pane wire\r")
        it.wait_for("f Filter")
        it.send(b"/")
        it.wait_for("find:")
        it.send(b"x")
        assert it.wait_exit() == 3
        assert b"Traceback" not in it.raw
        assert b"a bug in rdmalab" in it.raw
        assert b"rdmalab, and then continue, restores the session." in it.raw
    (report,) = (tmp_path / "bugs").iterdir()
    assert "Traceback" in report.read_text()


def test_a_session_without_a_call_is_left_without_a_word(terminal: Terminal) -> None:
    terminal.send(b"history\r")
    terminal.wait_for("A> history")
    calm(terminal)
    terminal.send(b"\x04")
    assert terminal.wait_exit() == 0
    assert b"is kept" not in terminal.raw


def test_a_removed_state_directory_is_reported_once(tmp_path: Path) -> None:
    state = tmp_path / "state"
    with started(state) as terminal:
        terminal.wait_for("A>")
        terminal.send(b"alloc_pd A.p1\r")
        terminal.wait_for("A.p1 created")
        shutil.rmtree(state)
        terminal.send(b"alloc_pd A.p2\r")
        terminal.wait_for("A.p2 created")
        terminal.send(b"alloc_pd A.p3\r")
        terminal.wait_for("A.p3 created")
        terminal.send(b"quit\r")
        assert terminal.wait_exit() == 0
        assert b"nothing is kept" in terminal.raw
        assert b"Traceback" not in terminal.raw


def test_resize_and_interrupt_during_an_endless_run(terminal: Terminal) -> None:
    terminal.resize(120, 40)
    terminal.wait_until(
        lambda rows: any(
            row.rstrip().endswith("Palette") and len(row.rstrip()) > 110 for row in rows
        )
    )
    terminal.send(AGAIN)
    terminal.wait_for("SQ 2/8.")
    terminal.send(b"run 10000s\r")
    terminal.wait_for("RUNNING")
    terminal.resize(100, 30)
    terminal.wait_until(lambda rows: len(rows[-1].rstrip()) > 90 and "RUNNING" in rows[0])
    terminal.send(b"\x03")
    terminal.wait_for("stopped")
    terminal.send(b"\x04")
    assert terminal.wait_exit() == 0


STOP = {"^C": b"\x03", "F9": b"\x1b[20~"}


@pytest.mark.parametrize(("search", "key"), [(b"rewind\r", "^C"), (b"trace A.qp0.sq_psn\r", "F9")])
def test_a_search_through_the_past_is_stopped_at_once(
    terminal: Terminal, search: bytes, key: str
) -> None:
    terminal.send(AGAIN)
    terminal.wait_for("SQ 2/8.")
    terminal.send(b"run 10000s\r")
    terminal.wait_for("RUNNING")
    calm(terminal, 1.5)
    terminal.send(b"\x03")
    terminal.wait_for("stopped")
    terminal.send(b"watch B.mr0[100:105]\r")
    terminal.wait_for("1: watch")
    calm(terminal)
    header = terminal.screen()[0]  # a long clock leaves no room for `1 breakpoint`
    took = []
    for _ in range(3):
        calm(terminal)
        terminal.send(search)
        terminal.wait_for("SEARCHING")
        calm(terminal, 0.1)
        started = time.monotonic()
        terminal.send(STOP[key])
        terminal.wait_until(lambda rows: "SEARCHING" not in rows[0])
        took.append(time.monotonic() - started)
    assert min(took) < 0.5, took  # the search would last for seconds; the machine may be busy
    terminal.wait_until(lambda rows: rows[0] == header)
    terminal.send(b"\x1b")  # of a page
    calm(terminal)
    terminal.send(b"\x04")
    assert terminal.wait_exit() == 0
    assert b"Traceback" not in terminal.raw


def test_what_takes_long_is_stopped_although_the_loop_is_busy(terminal: Terminal) -> None:
    terminal.send(AGAIN + b"step 100000\r")
    terminal.wait_for("ev 100021")
    calm(terminal)
    terminal.send(b"share\r")
    time.sleep(0.3)
    terminal.send(b"\x03")
    terminal.wait_for("stopped: the command changed")
    assert not any("rdmalab:2:" in row for row in terminal.screen())
    terminal.send(b"poll_cq A.cq0\r")
    terminal.wait_for("wr1 SEND SUCCESS")


def test_a_long_export_shows_how_far_it_is_and_leaves_no_file(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.send(AGAIN + b"step 100000\r")
    terminal.wait_for("ev 100021")
    calm(terminal)
    header = terminal.screen()[0]
    file = tmp_path / "long.pcapng"
    terminal.send(f"export pcapng {file}\r".encode())
    seen = set()
    for _ in range(3):
        terminal.wait_until(lambda rows: "WORKING" in rows[0] and rows[0] not in seen)
        seen.add(terminal.screen()[0])
    assert any(re.search(r"WORKING [\d,]+ of [\d,]+, \d+ s: F9 stops", row) for row in seen), seen
    terminal.send(b"\x1b[17~j\x1b[17~poll_cq A.cq0\r")  # keys of a pane wait, a line is kept
    terminal.resize(100, 30)
    terminal.wait_until(lambda rows: len(rows[-1].rstrip()) > 90 and "WORKING" in rows[0])
    terminal.send(b"\x03")
    terminal.wait_for("stopped: the command changed and wrote nothing")
    assert not [*tmp_path.glob("*long*")]
    terminal.resize(80, 24)
    terminal.wait_until(lambda rows: rows[0] == header)
    terminal.send(b"\x04")
    assert terminal.wait_exit() == 0
    assert b"Traceback" not in terminal.raw


def test_the_key_that_stops_a_computation_clears_no_line(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.send(AGAIN + b"step 50000\r")
    terminal.wait_for("ev 50021")
    calm(terminal)
    terminal.send(f"export pcapng {tmp_path / 'long.pcapng'}\r".encode())
    terminal.wait_until(lambda rows: "WORKING" in rows[0])
    terminal.send(b"\x03")
    terminal.wait_for("stopped: the command changed and wrote nothing")
    calm(terminal)
    assert not any("^C clears" in row for row in terminal.screen())
    terminal.send(b"\x03")  # now it is the prompt's
    terminal.wait_for("^C clears the line")


def test_panes_are_reached_and_left(terminal: Terminal) -> None:
    terminal.send(b"\x1b[17~")  # F6
    terminal.wait_for("━A  qp0")
    terminal.send(b"3")
    terminal.wait_until(lambda rows: not any("━A  qp0" in row or "━Prompt" in row for row in rows))
    terminal.send(b":")
    terminal.wait_for("━Prompt")
    terminal.send(b"\x1b[19~")  # F8
    terminal.wait_for("A> step")
    terminal.send(b"\x04")
    assert terminal.wait_exit() == 0


def test_what_is_typed_after_the_colon_goes_to_the_prompt(terminal: Terminal) -> None:
    terminal.send(b"\x1b[17~")  # F6
    terminal.wait_until(lambda rows: not any("━Prompt" in row for row in rows))
    terminal.send(b":history\r")
    terminal.wait_for("A> history")


def test_no_colour_codes_leave_for_a_terminal_that_wants_none(tmp_path: Path) -> None:
    with started(tmp_path, NO_COLOR="1") as it:
        it.wait_for("A>")
        it.send(AGAIN + b"step 2\r\x1b[17~")
        it.wait_for("━A  qp0")
        it.send(b":\x04")
        assert it.wait_exit() == 0
        assert _COLOUR.findall(it.raw) == []


def test_a_console_that_cannot_draw_gets_letters(tmp_path: Path) -> None:
    with started(tmp_path, TERM="linux") as it:
        it.wait_for("A>")
        assert all(ord(c) < 0x80 for row in it.screen() for c in row)
        it.send(b"\x04")
        assert it.wait_exit() == 0


def test_what_was_typed_outlives_its_process(tmp_path: Path) -> None:
    with started(tmp_path) as first:
        first.wait_for("A>")
        first.send(b"alloc_pd A.pd7\r")
        first.wait_for("ok [ev")
        first.child.kill()
        first.wait_exit()
    with started(tmp_path) as second:
        second.wait_for("A session of 1 line was interrupted: continue restores it.")
        second.send(b"continue\r")
        second.wait_for("Continued: 1 line;")
        second.send(b"alloc_pd A.pd7\r")
        second.wait_for("A.pd7 exists already")
        second.send(b"quit\r")
        assert second.wait_exit() == 0
    with started(tmp_path) as third:
        third.wait_for("A>")
        assert b"cut off" not in third.raw


@pytest.mark.parametrize(("ground", "theme"), [("ffff", "light"), ("1010", "dark")])
def test_the_first_theme_is_that_of_the_ground(tmp_path: Path, ground: str, theme: str) -> None:
    with started(tmp_path, COLORTERM="truecolor") as it:
        while b"\x1b]11;?" not in it.raw:
            it.rest(0.01)
        it.send(f"\x1b]11;rgb:{ground}/{ground}/{ground}\x1b\\\x1b[?62;cshow pd\r".encode())
        it.wait_for("A.pd0")  # and no key is lost
        shade = THEMES[theme].grounds[0]
        wanted = ";".join(str(int(shade[at : at + 2], 16)) for at in (1, 3, 5))
        assert f"48;2;{wanted}".encode() in it.raw
        assert not any("rgb:" in row for row in it.screen())


def test_a_storm_of_sizes_does_no_damage(terminal: Terminal) -> None:
    sizes = [(40, 10), (200, 60), (80, 24), (61, 17), (120, 40), (20, 6), (100, 30)] * 3
    for columns, rows in [*sizes, (80, 24)]:
        terminal.resize(columns, rows)
        terminal.rest(0.02)
    terminal.send(b"alloc_pd A.p9\r")
    terminal.wait_for("A.p9 created")
    terminal.wait_until(lambda rows: rows[0].startswith(" rdmalab") and "Palette" in rows[-1])
    assert b"Traceback" not in terminal.raw


def test_three_pasted_lines_are_seen(terminal: Terminal) -> None:
    terminal.send(b"\x1b[200~post_recv B.qp0 wr_id=5 sg=B.mr0[0:64]\rstep\rshow pd\x1b[201~")
    terminal.wait_until(
        lambda rows: all(
            any(text in row for row in rows)
            for text in ("A> post_recv B.qp0 wr_id=5 sg=B.mr0[0:64]", "... step", "... show pd")
        )
    )


def test_it_is_suspended_and_comes_back(terminal: Terminal) -> None:
    terminal.send(b"\x1a")
    terminal.rest(0.5)
    assert b"\x1b[?1049l" in terminal.raw
    terminal.child.send_signal(signal.SIGCONT)
    terminal.rest(0.5)
    terminal.send(b"alloc_pd A.p8\r")
    terminal.wait_for("A.p8 created")


def test_a_terminal_of_latin_1_gets_what_it_can_show(tmp_path: Path) -> None:
    with started(tmp_path, LC_ALL="C", PYTHONIOENCODING="latin-1", TERM="xterm") as it:
        it.wait_for("A>")
        it.send(AGAIN + b"step\rquit\r")
        assert it.wait_exit() == 0
        assert b"Traceback" not in it.raw

"""The line of the source behind an address of a running program."""

import re
from pathlib import Path

import pytest

from rdmalab.compat.c.source_lines import Site, line_of
from tests.compat.c.running import PROGRAMS, compiled, execute, pair
from tests.tools import needs


@needs("gcc")
@needs("addr2line")
@pytest.mark.parametrize(("program", "call"), [
    ("unsignaled", "post(&s, 7"), ("arm_race", "ibv_req_notify_cq("), ("wrong_rkey", "post(&s, 7"),
])  # fmt: skip
def test_the_source_line_of_the_wrong_call_is_named(
    program: str, call: str, tmp_path: Path
) -> None:
    ended = execute(*pair(program, tmp_path))
    lines = (PROGRAMS / f"{program}.c").read_text("utf-8").splitlines()
    number = next(n for n, line in enumerate(lines, 1) if call in line)
    header = (PROGRAMS / "pair.h").read_text("utf-8").splitlines()
    inner = next(n for n, line in enumerate(header, 1) if "return ibv_post_send(" in line)
    is_reported = re.findall(
        r"^ +(?:ev \d+:|posted at) (\S+:\d+) in (\w+)$", ended.err, re.MULTILINE
    )
    expected = {(f"{program}.c:{number}", "main"), (f"pair.h:{inner}", "post")}
    assert expected & set(is_reported), ended.err


@needs("gcc")
@needs("addr2line")
def test_a_function_of_cxx_has_the_name_of_its_source() -> None:
    ended = execute("--", compiled("mangled"))
    assert "its last call was alloc_pd at mangled.c:14 in client::ask\n" in ended.err


@needs("gcc")
def test_without_addr2line_no_line_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert line_of(Site(compiled("right"), 0x1234)) == ""


def test_an_address_of_no_file_has_no_line() -> None:
    assert line_of() == ""
    assert line_of(Site("/no/such/file", 0x1234)) == ""

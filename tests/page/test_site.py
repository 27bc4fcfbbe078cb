"""The folder of the page: what it has, how large it is, and that the same files make it again."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from rdmalab import cli
from rdmalab.page.site import MARK, WEB
from tests.bench import page
from tests.each import ALL
from tests.page.conftest import SITE, downloads, needs_a_browser

ROOT = Path(__file__).parents[2]
MOST_MB = 10
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:; "
    "connect-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; img-src 'self' data:"
)
# An address in our own files: of this machine, in a message about it, and a name of XML.
ADDRESS = re.compile(r"https?://(?!127\.0\.0\.1:8000/|www\.w3\.org/2000/svg)[\w.]+")


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*") if path.is_file()
    }  # fmt: skip


@needs_a_browser
def test_it_lists_its_files_and_is_small(site_folder: Path) -> None:
    files = files_of(site_folder)
    listed = json.loads(files["site.json"])
    sums = {name: hashlib.sha256(octets).hexdigest() for name, octets in files.items()}
    assert listed["files"] == {
        name: sums[name] for name in sums if name not in ("site.json", "sw.js", MARK)
    }
    assert listed["version"] in files["sw.js"].decode()
    size = sum(min(len(octets), len(gzip.compress(octets, 9))) for octets in files.values())
    assert size < MOST_MB * 1e6
    assert (
        "MPL-2.0. Source: git+https://github.com/pyodide/pyodide" in files["licenses.txt"].decode()
    )
    assert "The xterm.js authors" in files["licenses.txt"].decode()


@needs_a_browser
@pytest.mark.slow
def test_the_same_files_make_the_same_bytes(site_folder: Path, tmp_path: Path) -> None:
    """.ci/run has made one folder already; elsewhere a usual run does not make two."""
    if SITE not in os.environ and ALL not in os.environ:
        pytest.skip(f"a second folder is made where {SITE} names the first, or with {ALL}=1")
    assert cli.main(["site", str(tmp_path / "again"), "--downloads", downloads()]) == 0
    assert files_of(tmp_path / "again") == files_of(site_folder)


def test_the_page_has_the_policy_and_no_address_elsewhere() -> None:
    index = (WEB / "index.html").read_text("utf-8")
    assert f'content="{POLICY}"' in index
    assert not re.search(r"<script(?![^>]* src=)|\son\w+=|style=", index)
    for path in WEB.iterdir():
        if path.name != "package-lock.json":
            assert not ADDRESS.findall(path.read_text("utf-8")), path.name


def test_the_fonts_keep_each_letter_that_the_lab_prints() -> None:
    text = (WEB / "fonts.mjs").read_text("utf-8")
    kept = re.findall(r"\[0x([0-9a-f]+), 0x([0-9a-f]+)\]", text)
    within = [range(int(first, 16), int(last, 16) + 1) for first, last in kept]
    files = [*(ROOT / "rdmalab").rglob("*.py"), *(ROOT / "rdmalab").rglob("*.toml"),
             *(ROOT / "scenarios").rglob("*.yaml")]  # fmt: skip
    letters = set("".join(path.read_text("utf-8") for path in files)) - {"\n", "\ufeff"}
    assert len(letters) > 150
    assert [each for each in sorted(letters) if not any(ord(each) in some for some in within)] == []


def test_pins_have_hashes_and_name_no_registry() -> None:
    lock = json.loads((WEB / "package-lock.json").read_text("utf-8"))
    packages = [each for name, each in lock["packages"].items() if name]
    assert all(each["integrity"].startswith("sha512-") for each in packages)
    assert not any("resolved" in each for each in packages)
    assert "omit-lockfile-registry-resolved=true" in (WEB / ".npmrc").read_text("utf-8")
    lines = (WEB / "requirements.txt").read_text("utf-8").splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[\w-]+==[\d.]+ --hash=sha256:[0-9a-f]{64}", line) for line in wanted)


def test_what_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cli.main(["site", str(tmp_path / "out")]) == 2
    assert "node is not installed; the page needs node 20" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    node = tmp_path / "node"
    node.write_text("#!/bin/sh\n")
    node.chmod(0o755)
    assert cli.main(["site", str(tmp_path / "out")]) == 2
    assert "npm is not installed" in capsys.readouterr().err
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\necho no network; exit 7\n")
    npm.chmod(0o755)
    assert cli.main(["site", str(tmp_path / "out")]) == 2
    assert "npm has failed with 7:\nno network" in capsys.readouterr().err


def test_the_wheel_gets_the_files_of_the_page() -> None:
    """hatchling packs all files of the package that git does not ignore; .ci/wheel looks there."""
    names = {path.name for path in WEB.iterdir()}
    assert {"index.html", ".npmrc", "package-lock.json", "requirements.txt", "sw.js"} <= names
    assert "node_modules" not in names
    command = ["git", "check-ignore", *(str(WEB / name) for name in sorted(names))]
    ignored = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ignored.stdout == ""


def test_the_bench_names_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "missing", lambda: "chromium")
    assert page.information() == dict.fromkeys(page.KEYS, "left out: chromium is not installed")

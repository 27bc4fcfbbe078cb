"""Names and texts of scenario files: short names, folders, limits of size and encoding."""

from pathlib import Path

import pytest

from rdmalab.scenario.files import found, short_name
from rdmalab.scenario.loader import FileError, load
from rdmalab.vocabulary import VOCABULARY

MINIMAL = "rdmalab: 1\ntitle: t\nsteps:\n  - alloc_pd A.pd0\n"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be read: No such file"):
        load(str(tmp_path / "none.yaml"), VOCABULARY)
    with pytest.raises(FileError, match="cannot be read"):
        load(str(tmp_path), VOCABULARY)
    with pytest.raises(FileError, match="no such path"):
        load("a\0b", VOCABULARY)


def test_a_file_too_large(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(FileError, match=r"too large \(at most 1048576 bytes\)"):
        load(str(file), VOCABULARY)


def test_a_file_that_is_not_utf8(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_bytes(b"rdmalab: 1\ntitle: \xff\n")
    with pytest.raises(FileError, match="line 2 is not UTF-8"):
        load(str(file), VOCABULARY)


def test_dos_lines_and_a_byte_order_mark_are_nothing(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + MINIMAL.replace("\n", "\r\n").encode())
    assert load(str(file), VOCABULARY).title == "t"


def test_a_scenario_has_a_short_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, theirs = tmp_path / "x" / "own.rdmalab.yaml", tmp_path / "scenarios" / "err"
    for folder in (own.parent, theirs):
        folder.mkdir(parents=True)
    own.write_text("", "utf-8")
    (theirs / "rnr.rdmalab.yaml").write_text("", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert found("x/own") == str(Path("x/own.rdmalab.yaml"))
    assert found("err/rnr") == str(Path("scenarios/err/rnr.rdmalab.yaml"))


@pytest.mark.parametrize(
    "path", ["err/rnr", "x.rdmalab.yaml", "/no/where", "x", "a\0b", "x" * 5000]
)
def test_found_returns_an_unknown_path_unchanged(path: str) -> None:
    assert found(path) == path


def test_the_lessons_go_with_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere than in a checkout the package has them; a folder `scenarios` here comes first."""
    monkeypatch.chdir(tmp_path)
    packaged = found("err/rnr-retry-exceeded")
    assert Path(packaged).is_file()
    assert short_name(packaged) == "err/rnr-retry-exceeded"
    (tmp_path / "scenarios" / "err").mkdir(parents=True)
    own = tmp_path / "scenarios" / "err" / "rnr-retry-exceeded.rdmalab.yaml"
    own.write_text("rdmalab: 1\n")
    assert found("err/rnr-retry-exceeded") == str(own.relative_to(tmp_path))
    assert short_name("scenarios/err/rnr-retry-exceeded.rdmalab.yaml") == "err/rnr-retry-exceeded"
    assert short_name("elsewhere/x.rdmalab.yaml") == "elsewhere/x.rdmalab.yaml"
    assert short_name(found("labs/by-hand")) == "labs/by-hand"


def test_the_paths_of_the_manual_are_found_outside_of_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for path in ("scenarios/err/rnr-retry-exceeded.rdmalab.yaml", "scenarios/labs/by-hand"):
        assert Path(found(path)).is_file()
    assert Path(found("scenarios/time")).is_dir()
    assert Path(found("scenarios")).is_dir()
    for path in ("scenarios/err/no-such.rdmalab.yaml", "scenarios/no-such", "other/time"):
        assert found(path) == path
    (tmp_path / "scenarios").mkdir()
    assert found("scenarios/time") == "scenarios/time"


def test_a_folder_of_lessons_is_found_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert (Path(found("err")) / "rnr-retry-exceeded.rdmalab.yaml").is_file()
    assert found("no-such-folder") == "no-such-folder"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("rnr", r"lessons rnr: \d+ have this word"),
        ("err/rnr", r"did you mean err/rnr-retry-exceeded\?"),
        ("FILE", "lessons lists them"),
    ],
)
def test_a_name_of_no_lesson_has_a_way_on(name: str, hint: str) -> None:
    with pytest.raises(FileError, match=hint):
        load(name, VOCABULARY)


def test_a_capture_is_no_scenario(tmp_path: Path) -> None:
    file = tmp_path / "k.pcapng"
    for head in ("0a0d0d0a", "d4c3b2a1"):
        file.write_bytes(bytes.fromhex(head) + bytes(40))
        with pytest.raises(FileError, match="is a capture of packets, not a scenario"):
            load(str(file), VOCABULARY)

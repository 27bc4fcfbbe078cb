"""Reading never waits and has a limit; writing leaves the old file or the new one, whole."""

import errno
import os
import resource
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdmalab import disk


def always(_octets: bytes) -> bool:
    return True


def never(_octets: bytes) -> bool:
    return False


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "fifo")
    return tmp_path / "fifo"


# --------------------------------------------------------------------------- reading
def test_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("a")
    assert disk.read(tmp_path / "a") == disk.read(tmp_path / "link", 3) == b"abc"
    assert disk.beginning(tmp_path / "a", 2) == b"ab"


@pytest.mark.parametrize("most", [0, 2])
def test_a_file_beyond_the_limit_is_refused(tmp_path: Path, most: int) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    with pytest.raises(OSError, match=f"larger than {most} bytes") as wrong:
        disk.read(tmp_path / "a", most)
    assert wrong.value.errno == errno.EFBIG


def test_a_sparse_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    os.truncate(tmp_path / "a", 1 << 40)
    with pytest.raises(OSError, match="larger than"):
        disk.read(tmp_path / "a")


def test_a_file_opened_for_update_is_read_and_written(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    with disk.opened(tmp_path / "a", updates=True) as stream:
        assert stream.read() == b"abc"
        stream.write(b"d")
    assert (tmp_path / "a").read_bytes() == b"abcd"


@pytest.mark.parametrize("writes", [False, True])
def test_a_fifo_is_not_waited_for(fifo: Path, writes: bool) -> None:
    with pytest.raises(OSError, match="a FIFO, not a regular file"):
        disk.write(fifo, b"x", always) if writes else disk.read(fifo)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full", "/dev/null"])
def test_a_device_is_refused(device: str) -> None:
    with pytest.raises(OSError, match="a device, not a regular file"):
        disk.read(device)
    if device == os.devnull:
        assert disk.write(device, b"x", never) is False
        return
    with pytest.raises(OSError, match="a device, not a regular file"):
        disk.write(device, b"x", always)


def test_a_socket_and_a_directory_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind("s")
        for use in (lambda: disk.read("s"), lambda: disk.write("s", b"x", always)):
            with pytest.raises(OSError, match="a socket, not a regular file"):
                use()
    for use in (lambda: disk.read("."), lambda: disk.write(".", b"x", always)):
        with pytest.raises(IsADirectoryError):
            use()


@pytest.mark.parametrize("path", ["", "none/x", "x" * 3000])
def test_a_path_that_cannot_be(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError, match=r"No such file|too long"):
        disk.read(path)
    with pytest.raises(OSError, match=r"No such file|too long"):
        disk.write(path, b"x", always)
    assert list(tmp_path.iterdir()) == []


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for use in (lambda: disk.read(tmp_path / "a"), lambda: disk.write(tmp_path / "a", b"", always)):
        with pytest.raises(OSError, match="links") as wrong:
            use()
        assert wrong.value.errno == errno.ELOOP


def test_a_file_that_becomes_a_fifo_before_it_is_opened(
    tmp_path: Path, fifo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").touch()
    was = (tmp_path / "a").stat()
    monkeypatch.setattr(os, "stat", lambda _path: was)
    with pytest.raises(OSError, match="a FIFO"):
        disk.opened(fifo)


# --------------------------------------------------------------------------- writing
def test_a_new_file_has_the_mode_of_any_new_file(tmp_path: Path) -> None:
    assert disk.write(tmp_path / "a", b"new", never) is False
    (tmp_path / "b").touch()
    assert (tmp_path / "a").read_bytes() == b"new"
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o777])
def test_mode_and_owner_stay(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(mode)
    if os.getuid() == 0:
        os.chown(path, 1234, 4321)
    before = path.stat()
    assert disk.write(path, b"new", always) is True
    after = path.stat()
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(after.st_mode) == mode
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_file_that_may_not_be_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda _path, _how: False)  # root may write everywhere
    with pytest.raises(PermissionError):
        disk.write(path, b"new", always)
    assert path.read_bytes() == b"old"


def test_only_what_may_be_replaced_is(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    seen: list[bytes] = []

    def see(octets: bytes) -> bool:
        seen.append(octets)
        return False

    with pytest.raises(disk.FileExistsAsOther):
        disk.write(tmp_path / "a", b"new", see)
    assert (seen, (tmp_path / "a").read_bytes()) == ([b"old"], b"old")
    (tmp_path / "empty").touch()
    assert disk.write(tmp_path / "empty", b"new", never) is False
    assert (tmp_path / "empty").read_bytes() == b"new"


def test_a_link_stays_and_what_it_names_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "to_come").symlink_to("b")
    assert disk.write(tmp_path / "link", b"new", always) is True
    assert disk.write(tmp_path / "to_come", b"new", always) is False
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == b"new"


def test_a_link_that_waits_for_the_temporary_file_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if its random name were guessed."""
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / "a").write_bytes(b"old")
    monkeypatch.setattr(os, "urandom", bytes)
    (tmp_path / f".rdmalab-{'00' * 8}.new").symlink_to("victim")
    with pytest.raises(FileExistsError):
        disk.write(tmp_path / "a", b"new", always)
    assert (tmp_path / "victim").read_bytes() == b"precious"
    assert (tmp_path / "a").read_bytes() == b"old"


@pytest.fixture
def small_files() -> Iterator[None]:
    """A disk on which no file can have more than 1,000 bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("small_files")
def test_what_has_no_room_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    for name in ("a", "b"):
        with pytest.raises(OSError, match="too large"):
            disk.write(tmp_path / name, bytes(2_000), always)
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


# --------------------------------------------------------------------------- folders
def test_a_tree_is_written_again_and_what_is_no_longer_wanted_goes(tmp_path: Path) -> None:
    base = tmp_path / "deep" / "tree"
    assert disk.write_tree(base, {"a": b"1", "b/c": b"2"}, "list") == 0
    (base / "mine").write_text("kept")
    assert disk.write_tree(base, {"a": b"3"}, "list") == 1
    assert (base / "a").read_bytes() == b"3"
    assert not (base / "b" / "c").exists()
    assert (base / "mine").read_text() == "kept"
    assert (base / "list").read_text() == "a\n"


def test_a_tree_that_was_stopped_is_continued(tmp_path: Path) -> None:
    class Stopped(dict[str, bytes]):
        def items(self):  # type: ignore[no-untyped-def]
            yield "a", b"1"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        disk.write_tree(tmp_path / "t", Stopped(a=b"1", b=b"2"), "list")
    assert disk.write_tree(tmp_path / "t", {"a": b"1"}, "list") == 1


@pytest.mark.parametrize("there", ["folder", "file", "nothing"])
def test_a_tree_replaces_no_folder_that_is_not_one(tmp_path: Path, there: str) -> None:
    target = tmp_path / "x"
    if there == "file":
        target.write_text("mine")
    else:
        target.mkdir()
    if there == "folder":
        (target / "mine").write_text("mine")
    if there == "nothing":
        disk.write_tree(target, {"a": b""}, "list")
    else:
        with pytest.raises(disk.FileExistsAsOther):
            disk.write_tree(target, {"a": b""}, "list")
        assert not (tmp_path / "x" / "a").exists()


def test_a_list_that_was_changed_removes_nothing_outside(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("mine")
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "list").write_text(f"../outside\n{tmp_path}/outside\n\n.\n")
    disk.write_tree(tmp_path / "t", {"a": b""}, "list")
    assert (tmp_path / "outside").read_text() == "mine"


def test_a_link_in_a_tree_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("mine")
    disk.write_tree(tmp_path / "t", {"a": b"1"}, "list")
    (tmp_path / "t" / "a").unlink()
    (tmp_path / "t" / "a").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError, match="symbolic"):
        disk.write_tree(tmp_path / "t", {"a": b"2"}, "list")
    assert (tmp_path / "outside").read_text() == "mine"


def test_a_file_that_cannot_be_written_has_a_message_and_a_hint() -> None:
    taken, refused = disk.FileExistsAsOther(), PermissionError(errno.EACCES, "Permission denied")
    assert disk.complaint("x.c", taken, "capture") == (
        "x.c exists and is not a capture", "choose another name",
    )  # fmt: skip
    assert (
        disk.complaint("x.c", refused, "capture")[0] == "x.c cannot be written: Permission denied"
    )
    assert (
        disk.complaint("a\0b", ValueError(), "capture")[0] == "a\0b cannot be written: no such path"
    )
    assert disk.complaint("", refused, "capture") == ("the file has no name", "")

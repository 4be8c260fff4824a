"""Files that are whole or absent: replaceable files, modes and owners, long names, full disks."""

import errno
import os
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from gpukit import files
from gpukit.errors import InputError
from gpukit.files import check_target, replacing, write_text


def made(kind: str, path: Path) -> None:
    """Put something that is no regular file at a path."""
    if kind == "FIFO":
        os.mkfifo(path)
    elif kind == "socket":
        here = os.getcwd()
        os.chdir(path.parent)  # a socket's path is short
        try:
            socket.socket(socket.AF_UNIX).bind(path.name)
        finally:
            os.chdir(here)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        try:
            os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("making a device needs root")
    else:
        (path.parent / "elsewhere").write_text("theirs")
        path.symlink_to(path.parent / ("elsewhere" if kind == "symbolic link" else "nowhere"))


KINDS = ("FIFO", "socket", "folder", "device", "symbolic link", "symbolic link to nothing")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("late", [False, True], ids=["before", "meanwhile"])
def test_only_regular_files_are_replaced(tmp_path: Path, kind: str, late: bool) -> None:
    target = tmp_path / "x"
    if not late:
        made(kind, target)
    with pytest.raises(InputError, match=f"cannot write .*x: it is a {kind.removesuffix(' to nothing')};") as caught:
        with replacing(target) as temporary:
            Path(temporary).write_text("ours")
            made(kind, target)
    assert "\n" not in str(caught.value)
    assert not target.is_file() or (target.is_symlink() and target.read_text() == "theirs")
    assert {path.name for path in tmp_path.iterdir()} <= {"x", "elsewhere"}


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_a_rewritten_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "x"
    path.write_text("before")
    path.chmod(mode)
    write_text(path, "after")
    assert path.read_text() == "after" and stat.S_IMODE(path.stat().st_mode) == mode


def test_nobody_else_reads_a_private_file_while_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "x").touch(0o600)
    with replacing(tmp_path / "x") as temporary:
        assert stat.S_IMODE(os.stat(temporary).st_mode) == 0o600


@pytest.mark.parametrize(("umask", "mode"), [(0o027, 0o640), (0o022, 0o644), (0o077, 0o600)])
def test_new_files_follow_the_umask(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        write_text(tmp_path / "x", "")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == mode


def test_a_rewritten_file_keeps_owner_and_group(tmp_path: Path) -> None:
    (tmp_path / "x").touch(0o640)
    try:
        os.chown(tmp_path / "x", 12345, 23456)
    except PermissionError:
        pytest.skip("giving files away needs root")
    write_text(tmp_path / "x", "after")
    status = (tmp_path / "x").stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (12345, 23456, 0o640)


def test_a_group_that_cannot_be_kept_gains_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x").touch()
    (tmp_path / "x").chmod(0o664)
    old = os.lstat(tmp_path / "x")
    theirs = os.stat_result((*old[:4], old.st_uid, old.st_gid + 1, *old[6:]))

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("gpukit.files.check_target", lambda path: theirs)
    monkeypatch.setattr(os, "chown", refuse)
    write_text(tmp_path / "x", "after")
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o644


@pytest.mark.parametrize("name", ["x" * 255, "é" * 127 + "x", "日" * 85, "a" * 242 + ".h5"])
def test_names_as_long_as_the_file_system_allows(tmp_path: Path, name: str) -> None:
    for text in ("first", "second"):
        write_text(tmp_path / name, text)
        assert (tmp_path / name).read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["x" * 256, "日" * 86, "a/" * 2100 + "x"])
def test_longer_names_are_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot write .*File name too long; give a shorter one"):
        check_target(tmp_path / name)
    with pytest.raises(InputError, match="too long"):
        write_text(tmp_path / name, "text")
    assert not list(tmp_path.iterdir())


def test_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff\xfe")
    write_text(path, "text")
    assert path.read_text() == "text" and len(list(tmp_path.iterdir())) == 1


def test_a_missing_folder_and_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path, line in ((tmp_path / "no" / "x", "there is no folder"), (tmp_path / "file" / "x", "file is no folder")):
        with pytest.raises(InputError, match=line):
            write_text(path, "text")


def test_an_empty_name_is_a_folder() -> None:
    with pytest.raises(InputError, match="it is a folder; name a file"):
        write_text("", "text")


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EACCES])
def test_a_folder_that_cannot_be_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Some network file systems sync no folder, and one without permission to list it cannot be opened."""
    sync = files._sync

    def refuse(path: Path) -> None:
        if Path(path).is_dir():
            raise OSError(number, os.strerror(number))
        sync(path)

    monkeypatch.setattr(files, "_sync", refuse)
    write_text(tmp_path / "x", "text")
    assert (tmp_path / "x").read_text() == "text"


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)], capture_output=True)
    if mount.returncode:
        pytest.skip("mounting a file system needs root")
    try:
        write_text(tmp_path / "x", "before")
        for name in ("x", "y"):
            with pytest.raises(InputError, match="No space left on device; free some space"):
                write_text(tmp_path / name, "after" * 20_000)
        assert [path.name for path in tmp_path.iterdir()] == ["x"] and (tmp_path / "x").read_text() == "before"
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)

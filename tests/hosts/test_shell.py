"""File transfer over the streams of a shell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from asct.errors import ConnectError, HostError, HostLost
from asct.hosts.base import SessionSpec
from asct.hosts.remote import RemoteHost
from asct.hosts.shell import ProcessChannel, ShellLink
from tests.awaiting import PATIENCE_S, until


@pytest.fixture(params=["bash", "busybox", "dash"])
def link(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShellLink]:
    """Provide a connected link to one of several shells. The shell of busybox is used with the programs of busybox."""
    folder = tmp_path_factory.mktemp("bin")
    if request.param == "busybox":
        subprocess.run(["busybox", "--install", "-s", str(folder)], check=True)
    else:
        (folder / "sh").symlink_to(str(shutil.which(request.param)))
    made = ShellLink("box", lambda command: [str(folder / "sh"), "-c", f"PATH={folder}:$PATH; {command}"])
    made.connect()
    try:
        with made.within(60, "testing"):
            yield made
    finally:
        made.close()


@pytest.mark.parametrize("name", ["ksh93", "mksh"])
def test_a_korn_shell_is_refused_as_such(tmp_path: Path, name: str) -> None:
    shell = shutil.which(name)
    assert shell is not None, "apt-get install ksh93u+m mksh"
    (tmp_path / "sh").symlink_to(shell)
    link = ShellLink("box", lambda command: ["sh", "-c", f"PATH={tmp_path}:$PATH; {command}"])
    with pytest.raises(ConnectError) as error:
        RemoteHost("box", "test", str(tmp_path / "work"), link).open(SessionSpec("r", "a test"))
    (told,) = error.value.diagnostics
    assert told.code == "E322" and "sh is a Korn shell" in told.message and "dash" in told.hint
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("data", [b"", b"x", b"no end\n\0'$(date)\n\xff", bytes(300_000), os.urandom(300_000)])
def test_files_arrive_unchanged_both_ways(link: ShellLink, tmp_path: Path, data: bytes) -> None:
    source, target = tmp_path / "it's $HOME", tmp_path / "new f\u00c1\u0081lder" / "a\nname"
    source.write_bytes(data)
    link.files.store(source, str(target), f"{target}.part", 0o700)
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (data, 0o700)
    link.files.write(str(target), data[::-1])
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (data[::-1], 0o600)
    assert link.files.fetch(str(target), tmp_path / "back", len(data))
    assert (tmp_path / "back").read_bytes() == data[::-1]
    assert link.files.tail(str(target), 3) == data[::-1][3 : 3 + (1 << 16)]
    assert not link.files.make_folder(str(target.parent)) and link.files.exists(str(target))
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "a\nname",
        "back",
        "it's $HOME",
        "new f\u00c1\u0081lder",
    ]


def test_other_files_than_regular_ones_of_the_size_are_refused(link: ShellLink, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("12345")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "fifo")
    assert not link.files.fetch(str(tmp_path / "file"), tmp_path / "got", 4)
    for name, code in (("link", "E324"), ("fifo", "E324"), ("absent", "E326")):
        with pytest.raises(HostError) as error:
            link.files.fetch(str(tmp_path / name), tmp_path / "got", 100)
        assert error.value.diagnostics[0].code == code
    assert link.files.tail(str(tmp_path / "absent"), 0) == b"" and not link.files.exists(str(tmp_path / "absent"))
    assert not (tmp_path / "got").exists()


@pytest.mark.parametrize(
    ("limit", "partial", "size", "reason"),
    [
        ("true", "absent/x", 20_000, "nonexistent|No such"),
        ("true", "absent/x", 0, "nonexistent|No such"),
        ("true", "/sys/x", 20_000, "Permission denied|not permitted|Read-only"),
        ("ulimit -f 8", "x", 20_000, "limit exceeded"),
    ],
)
def test_what_cannot_be_written_is_not_read_as_a_call(
    tmp_path: Path, limit: str, partial: str, size: int, reason: str
) -> None:
    link = ShellLink("box", lambda command: ["sh", "-c", f"{limit}; {command}"])
    (tmp_path / "source").write_text(f"touch {tmp_path}/called\n" * size)
    link.connect()
    with link.within(60, "testing"), pytest.raises(HostError) as error:
        link.files.store(tmp_path / "source", str(tmp_path / "target"), str(tmp_path / partial), 0o600)
    assert re.search(f"target`: writing failed: .*({reason})", error.value.diagnostics[0].message)
    assert link.files.make_folder(str(tmp_path / "next"))
    link.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["next", "source"]


def link_with(folder: Path, program: str, script: str) -> ShellLink:
    """Return a link whose shell finds `script` under the name of a program."""
    folder.mkdir()
    (folder / program).write_text(f"#!/bin/sh\n{script}\n")
    (folder / program).chmod(0o755)
    return ShellLink("box", lambda command: ["sh", "-c", f"PATH={folder}:$PATH; {command}"])


def test_content_that_cannot_be_read_is_not_read_as_calls(tmp_path: Path) -> None:
    """The system may kill a program to free memory."""
    link = link_with(tmp_path / "bin", "head", "echo no head >&2; exit 1")
    (tmp_path / "source").write_text(f"touch {tmp_path}/called\n" * 20_000)
    link.connect()
    with link.within(60, "testing"), pytest.raises(HostLost) as error:
        link.files.write(str(tmp_path / "target"), (tmp_path / "source").read_bytes())
    link.close()
    assert "(no head)" in error.value.diagnostics[0].message
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "source"]


@pytest.mark.parametrize("change", ["truncate -s 5", "rm --"])
def test_a_file_that_changes_while_it_is_copied_is_not_filled_with_zeros(tmp_path: Path, change: str) -> None:
    file, got = tmp_path / "file", tmp_path / "got"
    file.write_text("1234567890")
    link = link_with(tmp_path / "bin", "wc", f'/usr/bin/wc "$@"; {change} {file}')
    link.connect()
    with link.within(60, "testing"):
        with pytest.raises(HostError) as error:
            link.files.fetch(str(file), got, 100)
        assert error.value.diagnostics[0].code == "E326" and not got.exists()
        file.write_text("1234567890")
        assert link.files.tail(str(file), 2) == b""
        assert not link.files.exists(str(got))
    link.close()


def test_a_file_may_grow_while_it_is_copied(tmp_path: Path) -> None:
    file, got = tmp_path / "file", tmp_path / "got"
    file.write_text("12345")
    link = link_with(tmp_path / "bin", "wc", f'/usr/bin/wc "$@"; printf 67890 >>{file}')
    link.connect()
    with link.within(60, "testing"):
        assert link.files.fetch(str(file), got, 100) and got.read_text() == "12345"
        assert link.files.tail(str(file), 2) == b"34567890"
    link.close()


def test_a_program_that_gives_no_shell() -> None:
    for argv, detail in (
        (["no-such-program"], "no `no-such-program` on the PATH"),
        (["sh", "-c", "echo no box >&2"], "no box"),
    ):
        with pytest.raises(ConnectError) as error:
            ShellLink("box", lambda _, argv=argv: argv).connect()  # type: ignore[misc]
        assert detail in error.value.diagnostics[0].message


def test_a_shell_that_ends_is_a_lost_connection(link: ShellLink) -> None:
    link.cut()
    until(lambda: not link.alive(), "the shell is still running")
    with pytest.raises(HostLost):
        link.files.exists("/")


def test_a_flood_on_standard_error_does_not_stop_transfers(tmp_path: Path) -> None:
    flood = "head -c 3000000 /dev/zero >&2"
    link = ShellLink("box", lambda command: ["sh", "-c", f"echo first >&2; {flood}; {command}"])
    link.connect()
    try:
        with link.within(PATIENCE_S, "testing"):
            link.files.write(str(tmp_path / "x"), b"data")
            link.cut()
            with pytest.raises(HostLost, match=r"\(first"):
                link.files.exists("/")
    finally:
        link.close()
    assert (tmp_path / "x").read_bytes() == b"data"


def test_a_flood_on_standard_error_does_not_hide_standard_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("asct.hosts.shell._MOST_ERROR", 1)
    channel = ProcessChannel(["sh", "-c", 'echo serving; echo flood >&2; : >"$0"; read -r end', f"{tmp_path}/both"])
    until((tmp_path / "both").exists, "the program did not write")
    try:
        assert channel.receive(PATIENCE_S) == b"serving\n"
        with pytest.raises(TimeoutError):
            channel.receive(PATIENCE_S)
        assert channel.receive_error() == b"flood\n"
    finally:
        channel.close()

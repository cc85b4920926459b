"""File transfer over the streams of a shell."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from asct.errors import ConnectError, HostError, HostLost
from asct.hosts.shell import ProcessChannel, ShellLink
from tests.awaiting import PATIENCE_S, until


@pytest.fixture
def link() -> Iterator[ShellLink]:
    made = ShellLink("box", lambda command: ["sh", "-c", command])
    made.connect()
    try:
        with made.within(60, "testing"):
            yield made
    finally:
        made.close()


@pytest.mark.parametrize("data", [b"", b"x", b"no end\n\0'$(date)\n\xff", os.urandom(300_000)])
def test_files_arrive_unchanged_both_ways(link: ShellLink, tmp_path: Path, data: bytes) -> None:
    source, target = tmp_path / "it's $HOME", tmp_path / "new folder" / "a\nname"
    source.write_bytes(data)
    link.files.store(source, str(target), f"{target}.part", 0o700)
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (data, 0o700)
    link.files.write(str(target), data[::-1])
    assert (target.read_bytes(), target.stat().st_mode & 0o777) == (data[::-1], 0o600)
    assert link.files.fetch(str(target), tmp_path / "back", len(data))
    assert (tmp_path / "back").read_bytes() == data[::-1]
    assert link.files.tail(str(target), 3) == data[::-1][3 : 3 + (1 << 16)]
    assert not link.files.make_folder(str(target.parent)) and link.files.exists(str(target))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a\nname", "back", "it's $HOME", "new folder"]


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


@pytest.mark.parametrize("limit", ["true", "ulimit -f 8"])
def test_what_cannot_be_written_is_not_read_as_a_call(tmp_path: Path, limit: str) -> None:
    link = ShellLink("box", lambda command: ["sh", "-c", f"{limit}; {command}"])
    (tmp_path / "source").write_text(f"touch {tmp_path}/called\n" * 20_000)
    partial = tmp_path / ("absent/x" if limit == "true" else "x")
    link.connect()
    with link.within(60, "testing"), pytest.raises(HostError) as error:
        link.files.store(tmp_path / "source", str(tmp_path / "target"), str(partial), 0o600)
    assert "the file is incomplete" in error.value.diagnostics[0].message
    assert link.files.make_folder(str(tmp_path / "next"))
    link.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["next", "source"]


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

"""The keys of a host in known_hosts files, compared with ssh-keygen."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from pathlib import Path

import pytest

from asct.hosts.ssh.known_hosts import known_keys

KINDS = ("ssh-ed25519", "ssh-rsa")


def blob(number: int) -> bytes:
    return b"key number %d" % number


def text(number: int, kind: str = KINDS[0]) -> str:
    return f"{kind} {base64.b64encode(blob(number)).decode()}"


def numbers(folder: Path, content: str, name: str) -> list[int]:
    file = folder / "known_hosts"
    file.write_text(content)
    known = {blob(number): number for number in range(10)}
    return [known[key] for _, key in known_keys(file, name).keys]


@pytest.mark.parametrize(
    ("line", "name", "meant"),
    [
        ("n1", "n1", True),
        ("n1", "n10", False),
        ("a,n1,b", "n1", True),
        ("[n1]:2222", "[n1]:2222", True),
        ("[n1]:2222", "n1", False),
        ("n*", "n17", True),
        ("n?", "n17", False),
        ("[10.0.0.*]:22", "[10.0.0.7]:22", True),
        ("[10.0.0.*]:22", "10.0.0.7", False),
        ("n*,!n17", "n17", False),
        ("!n17,n*", "n17", False),
        ("n*,!n17", "n18", True),
        ("!n17", "n18", False),
        ("|2|a|b", "n1", False),
    ],
)
def test_names_and_patterns(tmp_path: Path, line: str, name: str, meant: bool) -> None:
    assert numbers(tmp_path, f"{line} {text(1)}\n", name) == ([1] if meant else [])


def test_lines_are_kept_in_order_with_their_types(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(f"# remark\n\nn1\t{text(1)} comment\n  n1 {text(2, KINDS[1])}\nother {text(3)}\nn1 short\n")
    assert known_keys(file, "n1").keys == ((KINDS[0], blob(1)), (KINDS[1], blob(2)))


def test_lines_with_names_and_with_patterns_are_kept_in_order(tmp_path: Path) -> None:
    lines = f"n1,n1 {text(1)}\nn* {text(2)}\nn2,n1 {text(3)}\n*,!n2 {text(4)}\nn1 {text(5)}\n"
    assert numbers(tmp_path, lines, "n1") == [1, 2, 3, 4, 5]
    assert numbers(tmp_path, lines, "n2") == [2, 3]


def test_the_other_hosts_of_a_fleet_are_not_searched(tmp_path: Path) -> None:
    """Another search of the same file makes fewer calls than the file has lines."""
    file = tmp_path / "known_hosts"
    file.write_text("".join(f"n{number} {text(number)}\n" for number in range(1000)))
    known_keys(file, "n1")
    calls: list[str] = []
    sys.setprofile(lambda _frame, event, _argument: calls.append(event))
    try:
        known_keys(file, "n2")
    finally:
        sys.setprofile(None)
    assert len(calls) < 1000


def test_markers(tmp_path: Path) -> None:
    lines = f"n1 {text(1)}\n@revoked * {text(1)}\nn1 {text(2)}\n@cert-authority n1 {text(3)}\n"
    assert numbers(tmp_path, lines, "n1") == [2]


def test_what_one_file_revokes_no_other_makes_good(tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_text(f"n1 {text(1)}\nn1 {text(2)}\n")
    bad.write_text(f"@revoked * {text(1)}\n")
    for first, second in ((good, bad), (bad, good)):
        both = known_keys(first, "n1").with_more(known_keys(second, "n1"))
        assert [key for _, key in both.keys] == [blob(2)]


def test_a_file_is_read_again_when_it_changed(tmp_path: Path) -> None:
    assert numbers(tmp_path, f"n1 {text(1)}\n", "n1") == [1]
    assert numbers(tmp_path, f"n1 {text(1)}\nn1 {text(2)}\n", "n1") == [1, 2]
    file = tmp_path / "known_hosts"
    file.write_text(f"n1 {text(3)}\nn1 {text(4)}\n")
    os.utime(file, ns=(1, 1))
    assert [key for _, key in known_keys(file, "n1").keys] == [blob(3), blob(4)]


def test_hashed_names_as_ssh_keygen_writes_them(tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(tmp_path / "k")], check=True)
    kind, key = (tmp_path / "k.pub").read_text().split()[:2]
    file = tmp_path / "known_hosts"
    file.write_text(f"[127.0.1.7]:2222,n7 {kind} {key}\nn8 {kind} {key}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(file)], check=True, capture_output=True)
    assert ",n7 " not in file.read_text()
    for name in ("[127.0.1.7]:2222", "n7", "n8"):
        assert known_keys(file, name).keys == ((kind, base64.b64decode(key)),)
    assert known_keys(file, "n9").keys == ()


@pytest.mark.parametrize("line", ["n1 ssh-ed25519 no base 64", "|1|a|b ssh-ed25519 AAAA"])
def test_a_line_that_cannot_be_read(tmp_path: Path, line: str) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(line + "\n")
    with pytest.raises(ValueError, match=r"base64|padding|digit|characters"):
        known_keys(file, "n1")


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        known_keys(tmp_path / "absent", "n1")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="utf-8"):
        known_keys(tmp_path / "binary", "n1")

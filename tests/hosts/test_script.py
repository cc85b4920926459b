"""Lines for the runner, and exit statuses of shells."""

from __future__ import annotations

import json
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.errors import HostError
from asct.hosts import script
from asct.hosts.base import SessionSpec
from asct.hosts.ssh import known_hosts

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


def test_comments_are_not_sent_to_a_host() -> None:
    text = script.open_script("h", "/base", "token", SessionSpec("run", "owner"))
    assert "serve() {" in text and "The cache folder of the account." not in text and "# Test whether" not in text
    assert not [line for line in script.runner().splitlines() if not line.strip() or line.lstrip().startswith("#")]


@given(st.lists(TEXT, max_size=8))
def test_words_survive_a_shell(words: list[str]) -> None:
    line = script.call("h", "show", *words)
    assert "\n" not in line
    text = 'nl=\'\n\'\nshow() { for one in "$@"; do printf \'%s\\0\' "$one"; done; }\nIFS= read -r line\neval "$line"\n'
    done = subprocess.run(["sh", "-c", text], input=line.encode() + b"\n", capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == words


def test_nul_is_refused() -> None:
    with pytest.raises(HostError):
        script.word("h", "a\0b")


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [(0, False, 0), (3, False, 3), (137, True, -9), (137, False, 137), (139, True, -11), (130, False, -2),
     (141, False, -13), (143, False, -15), (128, True, 128), (255, False, 255), (255, True, 255)],
)  # fmt: skip
def test_exit_status(status: int, message: bool, expected: int) -> None:
    assert script.exit_status(status, message) == expected


@pytest.mark.parametrize("text", ["nonsense", "fe x", "FE"])
def test_odd_reports(text: str) -> None:
    with pytest.raises(ValueError):
        script.read_report(text)


def test_lines_of_others_are_passed_over() -> None:
    assert list(script.messages(["Welcome", "asct:done fe 0", " asct:x", ""])) == [("done", "fe 0")]


def test_fingerprint_is_that_of_ssh_keygen(tmp_path: object) -> None:
    blob = json.dumps("x").encode()
    assert known_hosts.fingerprint("ssh-ed25519", blob).startswith("ssh-ed25519 SHA256:")
    assert "=" not in known_hosts.fingerprint("t", blob)
    assert known_hosts.known_as("h", 22) == "h"
    assert known_hosts.known_as("h", 2222) == "[h]:2222"

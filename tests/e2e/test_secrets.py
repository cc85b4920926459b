"""What a run stores and prints: no keys or passphrases, only the listed `inputs` as settings, and nothing that controls
a terminal or a page, whatever a host returns."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.awaiting import until
from tests.e2e.running import apply, asct, latest
from tests.e2e.test_ssh import hosts
from tests.hosts.forced import force, with_programs
from tests.sshd import Sshd

pytestmark = [pytest.mark.e2e, pytest.mark.ssh]

NOOP = "plan: 1\nname: quick\nbenchmarks: [noop]\n"
PASSPHRASE = "correct-horse-battery-staple"
HOSTILE = "\033[2J\033]0;owned\007<script>alert(1)</script>[x](javascript:y)|\u202e"


def texts(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below a folder, keyed by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def holding(folder: Path, secret: str) -> list[str]:
    return sorted(name for name, data in texts(folder).items() if secret.encode() in data)


@pytest.fixture
def agent(own_sshd: Sshd, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Provide an agent that holds the server's key, which now has a passphrase."""
    key = own_sshd.identity
    socket = tmp_path / "agent"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
    try:
        env = {**os.environ, "SSH_AUTH_SOCK": str(socket)}
        until(lambda: subprocess.run(["ssh-add", "-l"], check=False, env=env, capture_output=True).returncode != 2)
        subprocess.run(["ssh-add", "-q", str(key)], check=True, env=env)
        subprocess.run(["ssh-keygen", "-q", "-p", "-N", PASSPHRASE, "-f", str(key)], check=True, capture_output=True)
        yield {"SSH_AUTH_SOCK": str(socket)}
    finally:
        process.terminate()
        process.wait(10)


def test_no_key_and_no_passphrase_in_the_tree_or_the_log(own_sshd: Sshd, agent: dict[str, str], tmp_path: Path) -> None:
    debug = ("--log-level", "debug", "--log-file", "debug.log", "-vv")
    refused = apply(NOOP + hosts(own_sshd), tmp_path, *debug, env={"SSH_AUTH_SOCK": ""})
    assert refused.code == 3
    assert "E311" in refused.err or "E309" in refused.err
    ended = apply(NOOP + hosts(own_sshd), tmp_path, *debug, env={**agent, "ASCT_TEST_SECRET": PASSPHRASE})
    assert ended.code == 0, ended.err
    private = own_sshd.identity.read_text().splitlines()[1:-1]
    for secret in (PASSPHRASE, private[0], private[-1]):
        assert holding(tmp_path / "results", secret) == []
        assert secret not in (tmp_path / "debug.log").read_text() + ended.out + ended.err + refused.err
    assert "asct.log" in texts(latest(tmp_path))


def test_values_of_inputs_are_settings_and_kept_as_such(tmp_path: Path) -> None:
    """The value of `${env.NAME}` becomes part of the measured settings. A variable that is not listed is not in any
    file."""
    plan = "plan: 1\nname: quick\ninputs: [LEVELS]\nbenchmarks:\n  - {uses: noop, config: {index: '${env.LEVELS}'}}\n"
    ended = apply(plan, tmp_path, env={"LEVELS": "7731", "UNLISTED": "never-in-a-file"})
    assert ended.code == 0, ended.err
    assert "plan.resolved.json" in holding(latest(tmp_path), "7731")
    refused = apply(plan.replace("env.LEVELS", "env.UNLISTED"), tmp_path, env={"UNLISTED": "never-in-a-file"})
    assert refused.code == 2 and "inputs" in refused.err
    assert holding(tmp_path, "never-in-a-file") == []


def test_words_of_a_host_steer_neither_a_terminal_nor_a_page(own_sshd: Sshd, tmp_path: Path) -> None:
    said = f"printf '%s\\n' '{HOSTILE}'"
    lies = {"uname": f"case $1 in -m) exec /bin/uname -m ;; *) {said} ;; esac", "systemd-detect-virt": said}
    lies |= {"fio": said, "mpstat": said}
    force(own_sshd, with_programs(own_sshd.folder / "lies", lies))
    ended = apply(NOOP + hosts(own_sshd), tmp_path)
    info = asct("doctor", "plan.yaml", cwd=tmp_path)
    assert ended.code == 0, ended.err
    run = latest(tmp_path)
    assert "owned" in (run / "facts" / "server.json").read_text()  # it was said, and is kept as data
    shown = [ended.out, ended.err, info.out, info.err, (run / "asct.log").read_text()]
    shown += [(run / name).read_text() for name in ("summary.md", "report.html")]
    for text in shown:
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "<script>alert(1)" not in shown[-1] and "<script>alert(1)" not in shown[-2]

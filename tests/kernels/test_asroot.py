"""Kernels that restart themselves through sudo: what they leave behind, and that no process of root outlives the
process that requested it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.awaiting import until
from tests.kernels.building import Builds
from tests.kernels.test_hugepool import ENDLESS, lacking, pool
from tests.sshd import ACCOUNT
from tests.sudo import as_root, grant, of_root, sudoers

pytestmark = [pytest.mark.kernels, as_root]

PROGRAM = "id -u; echo result >told.json; sleep 300"


@pytest.fixture
def place(built: Builds) -> Iterator[Path]:
    """Provide a folder of the account with kernels that it may run as root."""
    folder = Path(tempfile.mkdtemp(prefix="asct-sudo-"))
    try:
        folder.chmod(0o755)
        for name in ("chase", "guard", "noop"):
            shutil.copy(built[name], folder / name)
        with sudoers(f"{ACCOUNT} ALL=(root) NOPASSWD: {folder}/chase, {folder}/guard, {folder}/noop"):
            work = folder / "work"
            work.mkdir()
            (work / "data").write_bytes(b"x" * 4096)
            (work / "targets").write_text(f"read\t0\t0\t-\t{work}/data\n")
            shutil.chown(work, ACCOUNT)
            yield folder
    finally:
        shutil.rmtree(folder)


def start(place: Path, kernel: str, *arguments: str, prefix: Sequence[str] = ()) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*prefix, str(place / kernel), *arguments],
        cwd=place / "work", user=ACCOUNT, group=ACCOUNT, extra_groups=[], umask=0o077, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def guarding(place: Path, *arguments: str, prefix: Sequence[str] = ()) -> subprocess.Popen[str]:
    """Start guard as root with a program that sleeps, and wait until the program has begun."""
    files = ["--sudo", "told.json,program.stdout,never.json"]
    process = start(place, "guard", *files, "--targets", "targets", "--", "/bin/sh", "-c", PROGRAM, prefix=prefix)
    told = place / "work" / "told.json"
    until(lambda: process.poll() is not None or (told.exists() and told.stat().st_size))
    assert of_root(str(place))
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_what_runs_as_root_and_keeps_its_words(place: Path, number: int) -> None:
    process = guarding(place)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.splitlines()[-1] == '{"t":"end","ok":true}'
    assert (place / "work" / "program.stdout").read_text() == "0\n"
    assert of_root(str(place)) == []


def test_the_death_of_the_accounts_process_ends_root(place: Path) -> None:
    process = guarding(place)
    process.kill()
    process.communicate(timeout=60)
    until(lambda: not of_root(str(place)))


def test_the_death_of_who_started_it_ends_root(place: Path) -> None:
    """If the parent is killed, the account's process ends as well, and so does everything that root runs for it."""
    process = guarding(place, prefix=("/bin/sh", "-c", '"$@"; exit "$?"', "sh"))
    process.kill()
    process.communicate(timeout=60)
    until(lambda: not of_root(str(place)))


@pytest.mark.alone
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_pages_of_a_pool_are_given_back(place: Path, number: int) -> None:
    before = pool()
    process = start(place, "chase", "--sudo", "", *ENDLESS, "--pages", "2m", "--sizes", str(lacking()))
    assert process.stdout is not None
    assert '"pages":"2m"' in process.stdout.readline()
    assert pool() > before
    process.send_signal(number)
    process.communicate(timeout=60)
    until(lambda: pool() == before and not of_root(str(place)))


def test_what_root_wrote_is_the_accounts(place: Path) -> None:
    process = guarding(place)
    assert process.poll() is None
    process.terminate()
    process.communicate(timeout=60)
    found = {path.name: path.stat() for path in (place / "work").iterdir() if path.name not in ("data", "targets")}
    assert set(found) == {"told.json", "program.stdout"}  # a file that was never written is not there
    assert {status.st_uid for status in found.values()} != {0}
    assert {status.st_mode & 0o777 for status in found.values()} == {0o600}


def test_what_is_not_granted_is_refused_at_once(place: Path) -> None:
    for lines in ([], [f"{ACCOUNT} ALL=(root) {place}/guard"]):  # nothing at all; only with a password
        grant(*lines)
        process = start(place, "noop", "--sudo", "", "--samples", "1")
        out, err = process.communicate(timeout=60)
        assert process.returncode == 1 and out == ""
        assert err.startswith("sudo: ")


def test_a_digest_grants_one_file_only(place: Path) -> None:
    digest = subprocess.run(["sha256sum", place / "noop"], check=True, capture_output=True, text=True).stdout.split()[0]
    grant(f"{ACCOUNT} ALL=(root) NOPASSWD: sha256:{digest} {place}/noop")
    process = start(place, "noop", "--sudo", "", "--samples", "2")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert len(out.splitlines()) == 5
    shutil.copy(place / "guard", place / "noop")
    process = start(place, "noop", "--sudo", "", "--describe")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and err.startswith("sudo: ")


def test_exit_statuses_are_those_of_the_kernel(place: Path) -> None:
    process = start(place, "noop", "--sudo", "", "--samples", "none")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err.startswith("noop: --samples: `none` is not an integer")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--sudo"], 2, "noop: --sudo needs a value"),
        (["--sudo", "gone/file"], 3, "noop: --sudo: gone/file cannot be created: No such file or directory"),
        (["--lifeline"], 3, "noop: --lifeline: standard input is not a pipe"),
        (["--samples", "1", "--sudo", ""], 2, "noop: unknown option --sudo"),
    ],
)
def test_wrong_use(place: Path, arguments: list[str], status: int, message: str) -> None:
    process = start(place, "noop", *arguments)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (status, "")
    assert err.startswith(message)


def test_a_lifeline_that_has_ended_already(place: Path) -> None:
    reading, writing = os.pipe()
    os.close(writing)
    with os.fdopen(reading) as ended:
        ran = subprocess.run(
            [place / "noop", "--lifeline"], stdin=ended, capture_output=True, text=True, check=False, timeout=20
        )
    assert ran.returncode == 3
    assert ran.stderr == "noop: --lifeline: standard input has ended\n"


def test_no_sudo_on_the_host(place: Path) -> None:
    ran = subprocess.run(
        [place / "noop", "--sudo", ""],
        env={**os.environ, "PATH": str(place)}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert ran.returncode == 3
    assert ran.stderr == "noop: sudo cannot be run: No such file or directory\n"

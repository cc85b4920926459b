"""Results that do not change until a host restarts are read once and stored in the account's cache."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from asct.facts.exchange import COMMANDS, script
from asct.facts.snapshot import Snapshot, from_output
from asct.facts.software import tools
from asct.facts.unknown import UnknownFacts
from tests.facts.shells import SHELLS

FIO = """\
#!/bin/sh
echo "$*" >> "$ASKED"
case $1 in
--version) echo fio-9.9.1 ;;
--enghelp) echo psync; echo io_uring ;;
--name=probe) exit "$TRIED" ;;
esac
"""


class Machine:
    """This machine with a fake fio. `asked` contains the arguments of its calls."""

    def __init__(self, folder: Path, shell: str) -> None:
        self._folder = folder
        self._shell = shell.split()
        self._count = 0
        for name in ("bin", "cache", "work"):
            (folder / name).mkdir()
        self.fio = folder / "bin" / "fio"
        self.install(FIO)

    def install(self, text: str) -> None:
        """Replace the file with this name, as a package manager does."""
        made = self.fio.with_name("new")
        made.write_text(text)
        made.chmod(0o755)
        made.replace(self.fio)

    def look(self, tried: int = 0) -> Snapshot:
        """Read the facts once, with a new token."""
        self._count += 1
        paths = f"{self.fio.parent}:{os.environ['PATH']}"
        environment = {"PATH": paths, "ASKED": str(self._folder / "asked"), "TRIED": str(tried)}
        words = [*self._shell, "-s", f"token{self._count}", f"{self._folder}/work", f"{self._folder}/cache"]
        done = subprocess.run(words, input=script(), capture_output=True, text=True, env=environment, check=True)
        assert done.stderr == ""
        return from_output(done.stdout, f"token{self._count}")

    def asked(self) -> int:
        """Return how often fio was started since the last call."""
        file = self._folder / "asked"
        count = len(file.read_text().splitlines()) if file.exists() else 0
        file.unlink(missing_ok=True)
        return count

    @property
    def kept(self) -> list[Path]:
        return sorted((self._folder / "cache").iterdir())


@pytest.fixture(params=SHELLS)
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    return Machine(tmp_path, request.param)


def lasting(found: Snapshot) -> dict[str, str]:
    return {name: said.text for name, said in found.commands.items() if name not in COMMANDS}


def test_programs_are_asked_once(machine: Machine) -> None:
    first = machine.look()
    assert machine.asked() > 3
    assert tools(first, UnknownFacts())["fio"].version == "9.9.1"
    [kept] = machine.kept
    assert kept.stat().st_mode & 0o777 == 0o600
    again = machine.look()
    assert machine.asked() == 0
    assert lasting(again) == lasting(first)
    assert again.files.keys() == first.files.keys()


def test_another_file_is_asked_anew(machine: Machine) -> None:
    machine.look()
    machine.asked()
    machine.install(FIO.replace("9.9.1", "9.10.0"))
    assert tools(machine.look(), UnknownFacts())["fio"].version == "9.10.0"
    assert machine.asked() > 3


def test_a_trial_that_failed_is_made_again(machine: Machine) -> None:
    assert machine.look(tried=1).commands["io_uring"].status == 1
    machine.asked()
    assert machine.look(tried=1).commands["io_uring"].status == 1
    assert machine.asked() == 1
    assert machine.look(tried=0).commands["io_uring"].status == 0
    assert machine.asked() == 1
    assert machine.look(tried=1).commands["io_uring"].status == 0
    assert machine.asked() == 0


def test_a_torn_or_foreign_file_is_not_believed(machine: Machine) -> None:
    first = machine.look()
    [kept] = machine.kept
    for text in ("", "\n", "another key\ntoken1\ntoken1 command tool-fio\n/bin/x\n", kept.read_text()[:40]):
        kept.write_text(text)
        machine.asked()
        assert lasting(machine.look()) == lasting(first)
        assert machine.asked() > 3


def test_a_file_put_there_meanwhile_is_not_mixed_in(machine: Machine) -> None:
    """Another host with the same home folder may write such a file. It marks its results with its own token."""
    first = machine.look()
    [kept] = machine.kept
    other = machine.fio.with_name("other")
    other.write_text(kept.read_text().replace("token1", "token9"))
    tool = machine.fio.with_name("ip")
    tool.write_text(f"#!/bin/sh\nmv {other} {kept}\n")
    tool.chmod(0o755)
    assert lasting(machine.look()) == lasting(first)
    assert not other.exists()


def test_a_cache_that_cannot_be_written_does_no_harm(machine: Machine) -> None:
    cache = machine._folder / "cache"
    cache.rmdir()
    assert tools(machine.look(), UnknownFacts())["fio"].version == "9.9.1"
    assert not cache.exists()


def test_a_planted_file_runs_nothing(machine: Machine, tmp_path: Path) -> None:
    """The second line of the file becomes part of a sed command; some sed commands run programs and write files."""
    first = machine.look()
    [kept] = machine.kept
    key, _, rest = kept.read_text().split("\n", 2)
    for mark in (f"x/y/;w {tmp_path}/pwned\n#", f"x/y/;1e touch {tmp_path}/pwned", "$(touch pwned)", "a b"):
        kept.write_text(f"{key}\n{mark}\n{rest}")
        assert lasting(machine.look()) == lasting(first)
        assert not (tmp_path / "pwned").exists()


def test_a_pipe_in_the_cache_holds_nothing_up(machine: Machine) -> None:
    first = machine.look()
    [kept] = machine.kept
    kept.unlink()
    os.mkfifo(kept)
    assert lasting(machine.look()) == lasting(first)


@pytest.mark.parametrize(("mode", "used"), [(0o700, True), (0o755, True), (0o775, False), (0o1777, False)])
@pytest.mark.parametrize("shell", ["dash", "busybox sh"])
def test_who_only_looks_uses_no_cache_that_others_may_write_in(
    shell: str, mode: int, used: bool, tmp_path: Path
) -> None:
    cache = tmp_path / "asct"
    cache.mkdir()
    cache.chmod(mode)
    environment = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(tmp_path)}
    words = [*shell.split(), "-s", "token", "/nowhere", ""]
    done = subprocess.run(words, input=script(), capture_output=True, text=True, env=environment, check=True)
    assert done.stderr == "" and "token over" in done.stdout
    assert bool(list(cache.iterdir())) is used

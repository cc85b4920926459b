"""Pools of huge pages: what a kernel adds exists while the kernel runs, and is gone afterward, however the kernel
ended.

The pools belong to the whole machine, so these tests run without other tests that measure, and wait for the expected
counts instead of reading them once.
"""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.awaiting import until
from tests.kernels.building import Builds, Ran, check_program, run

pytestmark = [
    pytest.mark.kernels,
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may change the pools"),
]

MIB = 1 << 20
POOL = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
ASIDE = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
ENDLESS = ("--batches", "1024", "--time-cap-ms", "60000", "--patience-ms", "0")


def pool() -> int:
    return int(POOL.read_text())


def lacking() -> int:
    """Return the size of a range, in bytes, that needs four pages more than are free."""
    free = int(POOL.with_name("free_hugepages").read_text()) - int(POOL.with_name("resv_hugepages").read_text())
    return (free + 4) * 2 * MIB


def quick(chase: Path, *arguments: str) -> Ran:
    return run(chase, "--time-cap-ms", "5", "--patience-ms", "0", *arguments)


@contextmanager
def measuring(chase: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start a kernel that has its memory and continues for a minute."""
    command = [str(chase), *ENDLESS, "--pages", "2m", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert '"pages":"2m"' in process.stdout.readline()
        assert "ready" in process.stdout.readline()
        yield process
        process.kill()


def guardians(program: Path) -> list[int]:
    """Return the processes that run the program."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            found += [int(folder.name)] if (folder / "exe").readlink() == program else []
        except OSError:  # it ended meanwhile, or is none of ours
            continue
    return found


def test_what_the_pool_lacks_is_added_told_and_put_back(chase: Path) -> None:
    before = pool()
    ran = quick(chase, "--pages", "2m", "--sizes", str(lacking()))
    assert ran.status == 0, ran.stderr
    assert ran.meta["pages"] == "2m" and ran.meta["pages_lost"] is None
    assert ran.meta["huge_bytes"] == ran.meta["arena_bytes"]
    assert ran.meta["pool_pages_added"] == 4 and ran.meta["pool_pages_before"] >= before
    assert ran.end["pool_restored"] is True
    until(lambda: pool() == before)


def test_the_guardian_has_ended_with_the_kernel(chase: Path) -> None:
    """The CPU time of the guardian is then part of the kernel's, because no other process waits for the guardian."""
    assert quick(chase, "--pages", "2m", "--sizes", str(lacking())).meta["pool_pages_added"] == 4
    assert guardians(chase) == []


def test_pages_of_stream_are_put_back_before_its_last_line(built: Builds) -> None:
    before = pool()
    ran = run(
        built["stream"], "--pages", "2m", "--sizes", str(lacking()), "--traffic", "all-reads", "--time-cap-ms", "5"
    )
    assert ran.status == 0, ran.stderr
    assert ran.meta["pages"] == "2m" and ran.meta["pool_pages_added"] == 4
    assert ran.end["pool_restored"] is True
    until(lambda: pool() == before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_puts_the_pool_back(number: signal.Signals, chase: Path) -> None:
    before = pool()
    with measuring(chase, "--sizes", str(lacking())) as process:
        assert pool() >= before + 4
        process.send_signal(number)
        assert process.wait(timeout=60) == -number
    until(lambda: pool() == before and not guardians(chase))


def test_the_host_stays_locked_until_the_pages_are_back(chase: Path, tmp_path: Path) -> None:
    """The guardian keeps what the kernel inherited: the locks of the session and of the host."""
    before = pool()
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = [str(chase), *ENDLESS, "--pages", "2m", "--sizes", str(lacking())]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, pass_fds=(lock.fileno(),))
    assert process.stdout is not None
    assert '"pages":"2m"' in process.stdout.readline()
    (guardian,) = set(guardians(chase)) - {process.pid}
    os.kill(guardian, signal.SIGSTOP)
    process.kill()
    process.communicate()
    with (tmp_path / "lock").open() as lock:
        try:
            with pytest.raises(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.kill(guardian, signal.SIGCONT)
        fcntl.flock(lock, fcntl.LOCK_EX)
    assert pool() == before


def test_a_kernel_ends_with_the_shell_that_started_it(chase: Path) -> None:
    before = pool()
    line = f"{chase} {' '.join(ENDLESS)} --pages 2m --sizes {lacking()}; true"
    with subprocess.Popen(["sh", "-c", line], stdout=subprocess.PIPE, text=True) as shell:
        assert shell.stdout is not None and '"pages":"2m"' in shell.stdout.readline()
        shell.kill()
    until(lambda: pool() == before and not guardians(chase))


def test_a_failure_puts_the_pool_back(chase: Path) -> None:
    before = pool()
    with Path("/dev/full").open("w") as full:
        command = [str(chase), "--pages", "2m", "--sizes", str(lacking())]
        assert subprocess.run(command, stdout=full, stderr=subprocess.DEVNULL, check=False).returncode == 3
    until(lambda: pool() == before and not guardians(chase))


def test_pages_that_others_add_meanwhile_stay(chase: Path) -> None:
    before = pool()
    with measuring(chase, "--sizes", str(lacking())) as process:
        POOL.write_text(f"{pool() + 3}\n")
        process.send_signal(signal.SIGTERM)
    try:
        until(lambda: pool() == before + 3)
    finally:
        POOL.write_text(f"{pool() - 3}\n")


def test_two_kernels_add_and_put_back_their_own(chase: Path) -> None:
    before = pool()
    with measuring(chase, "--sizes", str(lacking())) as first, measuring(chase, "--sizes", str(lacking())) as second:
        assert pool() >= before + 8
        first.kill()
        first.wait()
        until(lambda: pool() == before + 4)
        assert second.poll() is None
    until(lambda: pool() == before)


def test_pages_that_were_taken_out_while_in_use_are_not_left_behind(chase: Path) -> None:
    """If a pool grows, these pages become permanent again, so the process that enlarges the pool must also remove
    them."""
    before = pool()
    POOL.write_text(f"{before + 4}\n")
    with measuring(chase, "--sizes", str(lacking() - 8 * MIB)):
        POOL.write_text(f"{before}\n")
        assert pool() >= before + 4  # surplus
        with measuring(chase, "--sizes", str(lacking())):
            pass
    until(lambda: pool() == before)


def test_no_other_maps_pages_between_their_count_and_their_use(chase: Path) -> None:
    before = pool()
    with POOL.open() as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        POOL.write_text(f"{before + 4}\n")
        command = [str(chase), "--time-cap-ms", "5", "--pages", "2m", "--sizes", str(lacking() - 8 * MIB)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        waits = re.compile(rf"-> FLOCK .* {process.pid} ")
        try:
            until(lambda: waits.search(Path("/proc/locks").read_text()))
        finally:
            POOL.write_text(f"{before}\n")
    told, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and '"pages":"2m"' in told
    until(lambda: pool() == before)


def test_threads_that_map_at_once_each_get_their_pages(tmp_path: Path) -> None:
    before = pool()
    check_program([Path(__file__).with_name("arenas.c")], tmp_path, flags=("-static",))
    until(lambda: pool() == before)


def test_a_range_of_less_than_a_page_leaves_the_pools_alone(chase: Path) -> None:
    ran = quick(chase, "--sizes", "65536")
    assert ran.meta["pages"] in ("thp", "4k")
    assert ran.meta["pool_pages_added"] == 0 and ran.meta["pool_pages_before"] is None
    assert ran.meta["pages_lost"] is None or "thp" in ran.meta["pages_lost"]
    assert ran.end["pool_restored"] is True


def test_an_eighth_of_the_free_memory_stays_free(chase: Path) -> None:
    available = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))
    before, most = pool(), int(available.split()[1]) * 1024 // (2 * MIB) * 2 * MIB
    ran = run(chase, "--pages", "2m", "--sizes", str(most))
    assert ran.status == 3 and not ran.lines
    assert " 2m: the pool of 2097152 byte pages has " in ran.stderr
    assert "would leave less than an eighth of the " in ran.stderr and ran.stderr.count("\n") == 1
    until(lambda: pool() == before)


def aside(chase: Path, tmp_path: Path, *arguments: str) -> Ran:
    """Run the kernel under an account without privileges."""
    program = Path("/tmp") / f"asct-{os.getpid()}-{tmp_path.name}"
    program.write_bytes(chase.read_bytes())
    program.chmod(0o755)
    try:
        return run([*ASIDE, str(program)], "--time-cap-ms", "5", "--patience-ms", "0", *arguments)
    finally:
        program.unlink()


def test_without_root_auto_falls_back_and_says_what_is_lost(chase: Path, tmp_path: Path) -> None:
    ran = aside(chase, tmp_path, "--sizes", str(lacking()))
    assert ran.status == 0, ran.stderr
    assert ran.meta["pages"] in ("thp", "4k") and ran.meta["pool_pages_added"] == 0
    assert "2m: the pool of 2097152 byte pages has " in ran.meta["pages_lost"]
    assert "only root can add pages to it: Permission denied" in ran.meta["pages_lost"]


def test_without_root_pages_that_are_missing_are_refused(chase: Path, tmp_path: Path) -> None:
    wanted: dict[str, Any] = {"2m": lacking(), "1g": 64 << 30}
    for kind, size in wanted.items():
        ran = aside(chase, tmp_path, "--pages", kind, "--sizes", str(size))
        assert ran.status == 3 and not ran.lines
        assert f"pages are not available: {kind}: " in ran.stderr
        assert "only root can add pages to it" in ran.stderr and ran.stderr.endswith(
            "--pages auto uses those that are\n"
        )

"""The cost of the harness itself: starting it, checking large plans, and noop points, locally and over ssh."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.measure import Cost, command, least_and_middle, rounds, show
from tests.sshd import serve

POINTS = 1000


def scratch() -> Path:
    """Return a folder that is deleted when the script ends, but not earlier: ext4 without a journal does not reuse
    deleted inodes for a while, and until then has to search past them for every new file."""
    folder = tempfile.mkdtemp(prefix="asct-bench-", dir="/var/tmp")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def asct(*arguments: str) -> list[str]:
    """Return the command line of asct in this checkout."""
    return [sys.executable, "-m", "asct", *arguments]


def start() -> None:
    """Compare `asct version` with a bare interpreter, in interleaved runs."""
    bare, version = rounds(15, lambda: command([sys.executable, "-c", "pass"]), lambda: command(asct("version")))
    extra = [(after.wall_s - before.wall_s) * 1e3 for before, after in zip(bare, version, strict=True)]
    show("asct version over a bare interpreter", *least_and_middle(extra), "ms", 60)


def large_plan() -> str:
    """Return a plan with 10,000 points."""
    return (
        "plan: 1\nname: big\nlimits: {points: 20000}\nbenchmarks:\n  - uses: storage-fio\n    id: matrix\n"
        "    sweep:\n      block_size: [4K, 8K, 16K, 32K, 64K, 128K, 256K, 512K, 1M, 2M]\n"
        "      iodepth: {from: 1, to: 100, step: 1}\n      rwmixread: {from: 0, to: 90, step: 10}\n"
        "    config: {rw: randrw}\n"
    )


def check() -> None:
    """Measure `asct check` on a plan with 10,000 points."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.yaml"
        plan.write_text(large_plan())
        (costs,) = rounds(7, lambda: command(asct("check", str(plan))))
    show("asct check of 10,000 points", *least_and_middle([cost.wall_s for cost in costs]), "s", 0.7)
    show("asct check of 10,000 points, memory", *least_and_middle([cost.memory_mib for cost in costs]), "MiB", 95.4)


def _noop_run(plan: str) -> Callable[[], Cost]:
    return lambda: applied(plan, scratch())


def applied(plan: str, folder: Path) -> Cost:
    """Measure `asct apply` on a plan in a folder, which then contains the results."""
    (folder / "plan.yaml").write_text(plan)
    return command(asct("apply", str(folder / "plan.yaml"), "--results", str(folder / "results"), "-q"))


def files() -> None:
    """Measure the lower limit for a point: creating the two folders and the two small files of a repeat with bare
    system calls."""
    costs = []
    for _ in range(5):
        folder = scratch()
        started = time.perf_counter()
        for point in range(POINTS):
            os.mkdir(f"{folder}/{point}")  # noqa: PTH102 - the bare call is what is timed
            os.mkdir(f"{folder}/{point}/r1")  # noqa: PTH102
            for name in ("status.json", "stdout"):
                descriptor = os.open(f"{folder}/{point}/r1/{name}", os.O_CREAT | os.O_WRONLY)
                os.write(descriptor, b"x" * 300)
                os.close(descriptor)
        costs.append((time.perf_counter() - started) * 1e3 / POINTS)
    show("the folders and files of a point alone, on this disk", *least_and_middle(costs), "ms", None)


def _noop_plan(points: int, host: str = "") -> str:
    head = f"plan: 1\nname: noop\nlimits: {{points: 10000}}\n{host}benchmarks:\n"
    return head + f"  - uses: noop\n    id: noop\n    sweep: {{index: {{from: 1, to: {points}, step: 1}}}}\n"


def _per_point(name: str, host: str, goal_ms: float) -> None:
    """Measure the cost of a point: the time of a run with 1,000 points minus that of a run with one point, which
    excludes starting and reporting."""
    many, one = rounds(3, _noop_run(_noop_plan(POINTS, host)), _noop_run(_noop_plan(1, host)))
    whole = [cost.wall_s * 1e3 / POINTS for cost in many]
    net = [(big.wall_s - small.wall_s) * 1e3 / (POINTS - 1) for big, small in zip(many, one, strict=True)]
    show(f"{name}, all included", *least_and_middle(whole), "ms", goal_ms)
    show(f"{name}, without start and report", *least_and_middle(net), "ms", goal_ms)


def noop_local() -> None:
    """Measure 1,000 noop points on this machine."""
    _per_point("a noop point, local", "", 3)


def noop_ssh() -> None:
    """Measure 1,000 noop points over ssh to loopback."""
    with tempfile.TemporaryDirectory(prefix="asct-bench-sshd-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        server = serve(folder)
        try:
            _per_point("a noop point, ssh to loopback", f"hosts: {json.dumps({'server': server.entry()})}\n", 10)
        finally:
            server.stop()


def large_run() -> None:
    """Measure rendering, showing and verifying a run of 10,000 points, and comparing two of them."""
    folder = scratch()
    applied(_noop_plan(10_000), folder)
    (run,) = (folder / "results").glob("*/2*")
    base = run.with_name("20200101T000000Z-abcdef")
    shutil.copytree(run, base, ignore=shutil.ignore_patterns("jobs"))
    at = ("--results", str(folder / "results"))
    rows = {"report": 4, "results show": 4, "results verify": 5, "diff": 6}
    others = {"diff": (base.name,)}
    series = rounds(
        5, *(lambda name=name: command(asct(*name.split(), *others.get(name, ()), "latest", *at)) for name in rows)
    )
    for (name, goal), costs in zip(rows.items(), series, strict=True):
        show(f"asct {name} of 10,000 points", *least_and_middle([cost.wall_s for cost in costs]), "s", goal)
        show(f"asct {name} of 10,000 points, processor", *least_and_middle([cost.cpu_s for cost in costs]), "s", None)


FIGURES: dict[str, Callable[[], None]] = {
    "version": start,
    "check": check,
    "noop-files": files,
    "noop-local": noop_local,
    "noop-ssh": noop_ssh,
    "large-run": large_run,
}

"""Drive tests with the real fio on loop devices with exact limits."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asct.benchmarks.storage_iops import BENCHMARK as IOPS
from asct.benchmarks.storage_latency import BENCHMARK as LATENCY
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts, ToolFact
from asct.sdk.guard import Consent
from asct.sdk.record import Measurement
from asct.sdk.step import Output
from tests.disks.loop import Loop, kept, loop_device, throttle
from tests.fio.running import facts_here, records_of, run_step

pytestmark = [pytest.mark.disks, pytest.mark.fio, pytest.mark.rates]
MIB = 2**20
ONE_CELL: dict[str, Any] = {"block_sizes": "4K", "mixes": "0", "dependent": "4K:0", "numjobs": 1, "iodepth": 8}
Found = dict[tuple[str, Any, Any], Measurement]


def facts() -> HostFacts:
    known = facts_here()
    path = shutil.which("blkdiscard", path="/usr/sbin:/sbin:/usr/bin")
    return known.model_copy(update={"tools": known.tools | ({"blkdiscard": ToolFact(path=path)} if path else {})})


def run(
    benchmark: Any,
    params: Any,
    work: Path,
    loop: Loop | None,
    before: Callable[[str], None] = lambda name: None,
    *,
    written: bool = False,
) -> tuple[list[Output], list[Measurement]]:
    """Run all steps of a repeat. `before` is called with the name of each step. `written` is true unless the repeat is
    the first one on the device."""
    assert list(benchmark.check(params)) == []
    consents = {str(loop.path): Consent(str(loop.path), str(loop.backing))} if loop else {}
    own = frozenset(consents) if written else frozenset()
    context, done = Context(facts(), str(work), consents=consents, written_paths=own), list[Output]()
    for step in benchmark.prepare([params], context):
        assert run_step(step, work / f"prepare-{step.name}").status == 0
    while steps := benchmark.steps(params, replace(context, done=tuple(done))):
        for step in steps:
            before(step.name)
            done.append(run_step(step, work / step.name))
            assert done[-1].status == 0, done[-1].stdout[-400:]
    return done, list(benchmark.parse(params, done, context.facts))


def by_cell(measurements: list[Measurement]) -> Found:
    return {
        (one.metric, one.coords.get("block_size"), one.coords.get("rwmixread")): one
        for one in measurements
        if not one.detail
    }


def sectors_written(loop: Loop) -> int:
    return int(Path(f"/sys/block/{loop.path.name}/stat").read_text().split()[6])


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_preconditioning_writes_the_range_exactly_twice(jobs: int, folder: Path, memory: Path) -> None:
    """This must not depend on the number of jobs. Two jobs that used the same offsets would write the range four
    times."""
    with loop_device(memory, 24) as loop:
        counts: dict[str, int] = {}

        def count(name: str) -> None:
            counts[name] = sectors_written(loop)

        settings = ONE_CELL | {"numjobs": jobs, "round_time": 0.2, "window": 2, "steady_volume": 0, "excursion": 100}
        params = IOPS.params_model(file_names=str(loop.path), **settings, slope=100)
        _, found = run(IOPS, params, folder, loop, count)
        assert (counts["round01-randwrite-4k"] - counts["precondition-1"]) * 512 == 2 * 24 * MIB
        assert by_cell(found)["active_range", None, None].value == 24 * MIB
        assert "purge-blkdiscard-run" in counts
        assert by_cell(found)["purged", None, None].coords["method"] == "blkdiscard"
        assert "purge-unverified" not in by_cell(found)["iops", 4096, 0].flags
        assert loop.backing.stat().st_size == 24 * MIB


def test_a_fall_during_preconditioning_ends_the_doubt(folder: Path, memory: Path) -> None:
    """The second pass writes a quarter of the bytes per second. After that, the rounds are steady. test_rounds.py tests
    passes without a fall on a simulated drive, because a busy machine can halve the rate of a real one."""
    with loop_device(memory, 48) as loop, throttle(loop, wbps=48 * MIB) as limit:

        def change(name: str) -> None:
            if name == "precondition-2":
                limit.limit(wbps=12 * MIB)
            if name == "round01-randwrite-4k":
                limit.limit(wbps=0, wiops=1000)

        settings = ONE_CELL | {"round_time": 1.0, "window": 2, "steady_volume": 0, "excursion": 100}
        params = IOPS.params_model(file_names=str(loop.path), **settings, slope=100)
        _, found = run(IOPS, params, folder, loop, change)
        assert "burst-possible" not in by_cell(found)["iops", 4096, 0].flags


def test_the_plateau_of_a_burst_is_left_behind(folder: Path, memory: Path) -> None:
    """The rate falls from 8,000 to 1,000 requests per second in the middle of a round."""
    with loop_device(memory, 48) as loop, throttle(loop, wiops=8000) as limit:
        timers = []

        def fall(name: str) -> None:
            if name.startswith("round04"):
                timers.append(threading.Timer(1.0, lambda: limit.limit(wiops=1000)))
                timers[0].start()

        settings = ONE_CELL | {"round_time": 2.0, "window": 3, "precondition": 0, "purge": "none", "steady_volume": 100}
        params = IOPS.params_model(file_names=str(loop.path), **settings)
        _, found = run(IOPS, params, folder, loop, fall)
        values = by_cell(found)
        assert kept(values["iops", 4096, 0].value, 1000)
        assert values["steady", None, None].value == 1.0
        assert values["iops", 4096, 0].flags[0] == "not-purged"
        first = [one.value for one in found if one.metric == "round_iops" and int(one.coords["round"]) < 4]
        assert min(first) > 2000  # a busy machine does not reach the limit


def test_fast_gives_what_pts_gives(folder: Path, memory: Path) -> None:
    settings: dict[str, Any] = {
        "block_sizes": "4K", "mixes": "100,0", "dependent": "4K:0", "numjobs": 1, "iodepth": 8,
        "window": 2, "steady_volume": 0, "round_time": 1.2, "precondition": 1,
    }  # fmt: skip
    with loop_device(memory, 32) as loop, throttle(loop, wiops=1000, riops=2000):
        values = []
        for profile in ("pts", "fast"):
            params = IOPS.params_model(file_names=str(loop.path), profile=profile, **settings)
            work = folder / profile
            work.mkdir()
            _, found = run(IOPS, params, work, loop, written=profile == "fast")
            values.append(by_cell(found))
        pts, fast = values
        for reads, limit in ((100, 2000), (0, 1000)):
            assert kept(pts["iops", 4096, reads].value, limit) and kept(fast["iops", 4096, reads].value, limit)
            assert "fast" in fast["iops", 4096, reads].flags
            assert "fast" not in pts["iops", 4096, reads].flags
        tables = IOPS.tables(records_of(IOPS, [({}, found)]))
        assert tables[0].title == "Average IOPS vs. Block Size and R/W Mix % (fast)"
        assert any("1.2s" in note for note in tables[0].notes)


def test_blocks_of_4_kib_leave_out_smaller_requests(folder: Path, memory: Path) -> None:
    with loop_device(memory, 16, sector=4096) as loop:
        params = LATENCY.params_model(
            file_names=str(loop.path), round_time=0.3, window=2, excursion=100, slope=100, response_time=0.5,
            block_sizes="4K,512", mixes="0",
        )  # fmt: skip
        _, found = run(LATENCY, params, folder, loop)
        values = by_cell(found)
        assert values["left_out", 512, None].value == 512
        assert ("latency", 512, 0) not in values
        assert values["latency", 4096, 0].value > 0
        assert values["response_mean", None, None].value > 0
        [table] = [
            table for table in LATENCY.tables(records_of(LATENCY, [({}, found)])) if "Average Lat" in table.title
        ]
        assert any(note.startswith("Skipped: 512") for note in table.notes)


def test_a_file_is_not_purged_and_that_is_said(disk: Path) -> None:
    params = IOPS.params_model(
        filesize=16 * MIB, **ONE_CELL, round_time=0.3, window=2, excursion=100, slope=100, steady_volume=0
    )
    done, found = run(IOPS, params, disk, None)
    assert not IOPS.continues(params)
    assert [output.step.name for output in done if "purge" in output.step.name] == []
    values = by_cell(found)
    assert "not-purged" in values["iops", 4096, 0].flags
    assert any("NOT purged" in note for note in IOPS.tables(records_of(IOPS, [({}, found)]))[0].notes)


def test_a_write_cache_in_another_state_is_refused(folder: Path, memory: Path) -> None:
    with loop_device(memory, 16) as loop:
        params = IOPS.params_model(file_names=str(loop.path), **ONE_CELL, write_cache="off")
        with pytest.raises(ValueError, match=r"write cache of /dev/loop\d+ is write back, but `write_cache` requires"):
            run(IOPS, params, folder, loop)

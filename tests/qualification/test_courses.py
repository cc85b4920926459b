"""Write saturation, recovery, throughput and zones with the real fio on loop devices whose limits change during the
run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from asct.benchmarks.storage_composite_workload import BENCHMARK as COMPOSITE
from asct.benchmarks.storage_hdd import BENCHMARK as HDD
from asct.benchmarks.storage_recovery import BENCHMARK as RECOVERY
from asct.benchmarks.storage_streams import BENCHMARK as STREAMS
from asct.benchmarks.storage_throughput import BENCHMARK as THROUGHPUT
from asct.benchmarks.storage_write_saturation import BENCHMARK as SATURATION
from asct.instruments.fio.point import read_point
from asct.instruments.fio.process import JOB_FILE
from asct.sdk.record import Measurement, Scalar
from asct.sdk.step import Output
from tests.disks.loop import kept, loop_device, throttle
from tests.qualification.test_disks import facts, run, sectors_written

pytestmark = [pytest.mark.disks, pytest.mark.fio, pytest.mark.rates]
MIB = 2**20
SHORT: dict[str, Any] = {"round_time": 0.5, "window": 2, "numjobs": 1, "iodepth": 4, "purge": "none"}
DEEP = {"iodepth": 32}
"""With this depth, the Linux kernel has requests left to let through while fio waits for a processor."""


def value(measured: Sequence[Measurement], metric: str, **coords: Scalar) -> Measurement:
    """Return the only value of a metric at these coordinates."""
    [found] = [
        one
        for one in measured
        if one.metric == metric and all(one.coords.get(key) == wanted for key, wanted in coords.items())
    ]
    return found


def option(output: Output, name: str) -> int | None:
    """Return a number in the job file of a step."""
    found = re.search(rf"^{name}=([0-9]+)", output.step.files[JOB_FILE], re.MULTILINE)
    return int(found[1]) if found else None


def test_the_cliff_is_found_at_its_volume(folder: Path, memory: Path) -> None:
    with loop_device(memory, 16) as loop, throttle(loop, wiops=800) as group:
        params = SATURATION.params_model(
            file_names=str(loop.path), volume_factor=0.55, histogram_time=0, **SHORT | {"round_time": 1.0} | DEEP
        )

        def fall(name: str) -> None:
            if name == "round03-randwrite-4k":
                group.limit(wiops=100)

        _, measured = run(SATURATION, params, folder / "work", loop, fall)
    written = [one.value for one in measured if one.metric == "round_written"]
    assert value(measured, "cliff_written").value == pytest.approx(written[1], rel=0.1), (
        "at the end of the second round"
    )
    assert kept(value(measured, "burst_iops").value, 800)
    assert 4 < value(measured, "cliff_ratio").value < 12, "800 to 100"
    assert kept(value(measured, "iops").value, 100)
    assert value(measured, "rounds").coords["ended_by"] == "volume"
    assert value(measured, "written").value >= 0.55 * 16 * MIB
    assert "not-purged" in value(measured, "iops").flags


def test_saturation_ends_at_its_time_without_a_cliff(folder: Path, memory: Path) -> None:
    with loop_device(memory, 16) as loop, throttle(loop, wiops=200):
        params = SATURATION.params_model(file_names=str(loop.path), time_cap=2, histogram_time=1, **SHORT)
        outputs, measured = run(SATURATION, params, folder / "work", loop)
    assert value(measured, "rounds").coords["ended_by"] == "time"
    assert 1.5 < value(measured, "load_time").value < 4
    assert value(measured, "cliffs").value == 0.0
    assert [one for one in measured if one.metric == "cliff_written"] == []
    assert outputs[-1].step.name == "histogram"
    shares = [one.value for one in measured if one.metric == "response_share"]
    assert sum(shares) == pytest.approx(100.0)


def test_short_bursts_after_pauses_are_faster_than_a_lasting_load(folder: Path, memory: Path) -> None:
    with loop_device(memory, 16) as loop, throttle(loop, wiops=200) as group:
        params = RECOVERY.params_model(
            file_names=str(loop.path), test="idle", profile="fast", waits="1s", bursts=4, burst_time=0.5,
            baseline_time=3, precondition=0, steady_volume=0, **SHORT,
        )  # fmt: skip
        outputs, measured = run(
            RECOVERY, params, folder / "work", loop, lambda name: group.limit(wiops=800 if "burst" in name else 200)
        )
    baseline, recovered = (value(measured, name, wait=1.0).value for name in ("baseline_iops", "recovered_iops"))
    assert kept(baseline, 200) and kept(recovered, 800)
    assert value(measured, "idle_gain", wait=1.0).value == pytest.approx(recovered / baseline)
    pauses = value(measured, "idle_time", wait=1.0)
    assert pauses.value >= 1.0 - 0.2
    delays = [option(one, "startdelay") for one in outputs if "burst" in one.step.name]
    assert delays[0] == 1000
    assert all((delay or 0) < 1000 for delay in delays[2:]), "less what programs take to start; none where that is more"
    assert all("fast" in one.flags for one in measured if one.metric.startswith(("idle", "burst", "recovered")))


def test_a_stream_recovers_after_random_writes(folder: Path, memory: Path) -> None:
    """On a busy machine, a round may miss the rate of the throttled device, so the measured rates determine which
    rounds are back at the earlier level. On a quiet machine, the second one is."""
    with loop_device(memory, 256) as loop, throttle(loop, wbps=60 * MIB) as group:
        params = RECOVERY.params_model(
            file_names=str(loop.path), test="stimulus", profile="fast", sequential_time=5, random_time=1,
            recovered_within=25, **SHORT | {"round_time": 1.0},
        )  # fmt: skip
        slow = "after-round001"
        outputs, measured = run(
            RECOVERY, params, folder / "work", loop, lambda name: group.limit(wbps=(25 if name == slow else 60) * MIB)
        )
    first = [option(one, "offset") for one in outputs if one.step.name.startswith("before")]
    assert first[0] in (None, 0)
    assert all(place for place in first[1:2]), "the second round goes on where the first one ended"
    ends = {
        spell: [one.value for one in measured if one.metric == "spell_time" and one.coords["spell"] == spell]
        for spell in ("between", "after")
    }
    least = 0.75 * value(measured, "level_bandwidth", spell="before").value
    rates = [one for one in measured if one.metric == "spell_bandwidth" and one.coords["spell"] == "after"]
    back = [one.value >= least for one in rates]
    since = next((index for index in range(len(back)) if all(back[index : index + 3])), None)
    assert since != 0, "the device is slow in the first round"
    assert value(measured, "recovered").value == (since is not None)
    if since is not None:
        seconds = ends["after"][since - 1] - ends["between"][-1]
        assert value(measured, "recovery_time").value == pytest.approx(seconds, abs=0.01)


def test_operating_points_keep_the_bound_of_latency(folder: Path, memory: Path) -> None:
    with loop_device(memory, 16) as loop, throttle(loop, wiops=200, riops=200):
        params = RECOVERY.params_model(
            file_names=str(loop.path), test="demand", profile="fast", threads="1,2", depths="1,8", prewrite_time=0.3,
            settle_time=0.3, histogram_time=1, latency_bound="30ms", precondition=0, steady_volume=0, **SHORT,
        )  # fmt: skip
        outputs, measured = run(RECOVERY, params, folder / "work", loop)
    latencies = {
        (one.coords["numjobs"], one.coords["iodepth"]): one.value for one in measured if one.metric == "demand_latency"
    }
    assert set(latencies) == {(1, 1), (1, 8), (2, 1), (2, 8)}
    most = value(measured, "point_iops", point="max")
    assert latencies[most.coords["numjobs"], most.coords["iodepth"]] < 0.030
    assert latencies[2, 8] > 0.030, "16 requests in flight at 400 a second"
    assert {"histogram-max", "histogram-mid", "histogram-min"} < {one.step.name for one in outputs}


def test_the_composite_workload_has_its_sizes_and_ranges(folder: Path, memory: Path) -> None:
    """The mix issues requests of several sizes, most of them to the first parts of a device that contained only
    zeros."""
    with loop_device(memory, 64) as loop, throttle(loop, wiops=400, riops=800):
        params = COMPOSITE.params_model(
            file_names=str(loop.path), profile="fast", threads="1,2", depths="1,4", prewrite_time=0.3, settle_time=0.3,
            histogram_time=1, latency_bound="1s", precondition=0, steady_volume=0, excursion=100, slope=100, **SHORT,
        )  # fmt: skip
        outputs, measured = run(COMPOSITE, params, folder / "work", loop)
        content = loop.backing.read_bytes()
    blocks = [any(content[start : start + 4096]) for start in range(0, len(content), 4096)]
    first, second = round(0.05 * len(blocks)), round(0.2 * len(blocks))
    shares = [sum(part) / len(part) for part in (blocks[:first], blocks[first:second], blocks[second:])]
    assert shares[0] > 2 * shares[1] > 4 * shares[2] > 0, "10, 2 and 0.25 requests per block of the range"
    [run_of_max] = [one for one in outputs if one.step.name == "histogram-max"]
    sides = read_point(params.on(512).fio(64 * MIB, iodepth=4, numjobs=2), run_of_max, facts()).sides
    assert 5_500 < sides[""].io_bytes / sides[""].ios < 11_000, "7,818 bytes on average"
    assert 0.25 < sides["read"].ios / sides[""].ios < 0.55, "40 % reads"
    assert value(measured, "point_iops", point="max").value > 400
    assert not [one for one in measured if one.metric == "left_out"]


def test_streams_share_the_drive_that_each_has_alone(folder: Path, memory: Path) -> None:
    """The limit is 400 writes per second, whatever their size. A stream that runs alone gets all of them; together,
    both streams wait in the same queue. There are so many requests that the queue is never empty while fio waits for a
    processor."""
    with loop_device(memory, 64) as loop, throttle(loop, wiops=400):
        params = STREAMS.params_model(
            file_names=str(loop.path), streams="SEQ 64K W Q16, RND 4K W Q48", precondition=0, steady_volume=0,
            excursion=100, slope=100, **SHORT | {"round_time": 1.0},
        )  # fmt: skip
        outputs, measured = run(STREAMS, params, folder / "work", loop)
    for name in ("SEQ 64k W", "RND 4k W"):
        assert kept(value(measured, "iops", stream=name, load="alone").value, 400)
    assert kept(value(measured, "iops", stream="all", load="together").value, 400)
    parts = [value(measured, "iops", stream=name, load="together").value for name in ("SEQ 64k W", "RND 4k W")]
    assert sum(parts) == pytest.approx(value(measured, "iops", stream="all", load="together").value, rel=0.05)
    assert parts[1] == pytest.approx(3 * parts[0], rel=0.5)
    assert value(measured, "request_share", stream="SEQ 64k W").value == pytest.approx(25.0, rel=0.4)
    assert 10 < value(measured, "kept_bandwidth", stream="SEQ 64k W").value < 40, "100 of 400 a second"
    offsets = [option(one, "offset") for one in outputs if one.step.name.startswith("together-round")]
    assert offsets[0] == 0 and sorted(set(offsets)) == offsets, "the sequential stream goes on"
    assert [one.step.name for one in outputs if one.step.name.endswith("round01-write-seq-64k-w")]


def test_each_block_size_has_a_steady_state_of_its_own(folder: Path, memory: Path) -> None:
    with loop_device(memory, 16) as loop, throttle(loop, wbps=20 * MIB, rbps=40 * MIB):
        params = THROUGHPUT.params_model(
            file_names=str(loop.path), block_sizes="64K,16K", precondition=1, **SHORT | {"round_time": 1.0} | DEEP
        )
        before = sectors_written(loop)
        outputs, measured = run(THROUGHPUT, params, folder / "work", loop)
        assert sectors_written(loop) - before > 2 * 16 * MIB // 512
    names = [one.step.name for one in outputs]
    assert "64k-precondition-1" in names
    assert "16k-precondition-1" in names
    for size in (65536, 16384):
        writing = value(measured, "bandwidth", block_size=size, rwmixread=0)
        reading = value(measured, "bandwidth", block_size=size, rwmixread=100)
        assert kept(writing.value, 20 * MIB) and kept(reading.value, 40 * MIB)
    passes = next(one for one in outputs if one.step.name == "16k-precondition-1")
    assert option(passes, "bs") == 16384
    assert [one.value for one in measured if one.metric == "steady"] == [1.0, 1.0]


def test_zones_show_where_the_disk_is_slow(folder: Path, memory: Path) -> None:
    with loop_device(memory, 16) as loop, throttle(loop, riops=400) as group:
        params = HDD.params_model(
            file_names=str(loop.path), zones=8, duration=0.4, test="throughput", sequential_block_sizes="64K",
            write=False, iodepth=2,
        )  # fmt: skip

        def inner(name: str) -> None:
            zone = int(name[4:8]) if name.startswith("zone") else 0
            group.limit(riops=400 - 25 * zone)

        before = sectors_written(loop)
        outputs, measured = run(HDD, params, folder / "work", loop, inner)
        assert sectors_written(loop) == before, "nothing is written without write"
    assert len(outputs) == 1 + 8
    assert all("--readonly" in one.step.arguments for one in outputs[1:])
    rates = [one.value for one in measured if one.metric == "zone_bandwidth"]
    limits = [(400 - 25 * zone) * 64 * 1024 for zone in range(8)]  # a busy machine reads less, and a new limit is late
    assert all(0 < rate <= 1.25 * limit for rate, limit in zip(rates, limits, strict=True)), rates
    assert value(measured, "outer_to_inner").value == pytest.approx(rates[0] / rates[-1])
    assert [one.value for one in measured if one.metric == "zone_offset"] == [index * 2 * MIB for index in range(8)]


def test_a_disk_with_blocks_of_four_kib_has_zones_of_the_right_size(folder: Path, memory: Path) -> None:
    with loop_device(memory, 16, sector=4096) as loop, throttle(loop, riops=1000):
        params = HDD.params_model(
            file_names=str(loop.path),
            zones=4,
            duration=0.3,
            test="iops",
            mixes="100",
            block_sizes="4K,512",
            write=False,
        )
        outputs, measured = run(HDD, params, folder / "work", loop)
    assert value(measured, "zone_size").value == 4 * MIB
    assert "blocks-left-out" in value(measured, "zone_size").flags
    assert {option(one, "bs") for one in outputs[1:]} == {4096}

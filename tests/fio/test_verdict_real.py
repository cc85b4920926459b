"""What the real fio under the real guard does on loop devices with exact limits: valid points, and pitfalls."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from asct.benchmarks.storage_fio import BENCHMARK
from asct.engine.failures import failure_of
from asct.instruments.fio.measure import part_values
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.point import FioPoint, read_point
from asct.instruments.fio.process import fio_step
from asct.instruments.fio.sections import stages_of
from asct.sdk.benchmark import Context
from asct.sdk.guard import Consent, StopRule
from asct.sdk.step import Output
from tests.disks.loop import Loop, loop_device, throttle
from tests.fio.running import facts_here, run_points, run_step

pytestmark = [pytest.mark.fio, pytest.mark.disks, pytest.mark.rates]
LIMIT = 2000
DOUBTS = {"host-limited", "foreign-cpu"}
"""Flags caused by other programs on the machine, which may keep its CPUs busy."""


@pytest.fixture
def loop(memory: Path) -> Iterator[Loop]:
    with loop_device(memory, 32) as found, throttle(found, riops=LIMIT, wiops=LIMIT):
        yield found


def ran(params: FioParams, folder: Path, loop: Loop | None = None, **orders: Any) -> Output:
    consents = {}
    if loop is not None:
        consents[str(loop.path)] = Consent(str(loop.path), str(loop.backing), overwrite=False)
    context = Context(facts_here(), str(folder), consents=consents)
    return run_step(fio_step(params, context, dirty=True, **orders), folder / "run")


def measured(params: FioParams, folder: Path, loop: Loop | None = None, **orders: Any) -> FioPoint:
    return read_point(params, ran(params, folder, loop, **orders), facts_here())


def failure(output: Output) -> str:
    found = failure_of(output, "local", "raw", ())
    return found.message if found else ""


def settings(loop: Loop, **changes: Any) -> FioParams:
    common: dict[str, Any] = {"file_names": str(loop.path), "numjobs": 2, "iodepth": 8, "duration": 2.0}
    return FioParams(**(common | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {}, {"ramp_time": 1.0}, {"rw": "randwrite"}, {"rw": "randrw"}, {"rw": "write", "numjobs": 3},
        {"engine": "psync", "iodepth": 1}, {"engine": "libaio"}, {"job_file": "[a]\nrw=randread\n[b]\nrw=randwrite\n"},
        {"bssplit": "4k/50:8k/50"}, {"rw": "randtrim", "engine": "psync", "iodepth": 1, "duration": 1.0},
    ],
    ids=str,
)  # fmt: skip
def test_a_point_that_holds(changes: dict[str, Any], loop: Loop, folder: Path) -> None:
    point = measured(settings(loop, **changes), folder, loop)
    assert set(point.flags) <= DOUBTS
    assert not {"littles-law", "little-unchecked"} & set(point.flags)
    assert point.coverage.ratio == pytest.approx(1.0, abs=0.06 + point.coverage.uncertainty)
    assert sum(one.ios for one in point.seconds) == point.sides[""].ios
    assert point.guard.status == 0
    assert point.guard.before[0].scalar("kind") == "block"


def test_sections_and_targets_have_values_of_their_own(loop: Loop, folder: Path, memory: Path) -> None:
    with loop_device(memory, 16, name="second.img") as second, throttle(second, riops=LIMIT // 4):
        text = "[small]\nrw=randread\n[large]\nrw=randread\nbs=16k\nnumjobs=1\n"
        point = measured(settings(loop, file_names=[str(loop.path), str(second.path)], job_file=text), folder)
    found = {(one.metric, *one.coords.values()): one.value for one in part_values(point)}
    sections = [found["section_iops", name, "read"] for name in ("small", "large")]
    assert sum(sections) == pytest.approx(point.sides[""].iops, rel=0.1)
    targets = [found["target_bandwidth", str(one.path), "read"] for one in (loop, second)]
    assert sum(targets) == pytest.approx(point.sides[""].bandwidth, rel=0.3)
    assert len(point.guard.before) == 2


STAGED = "[read]\nrw=randread\n[fill]\nstonewall\nrw=write\n[again]\nrw=randwrite\n[last]\nstonewall\nrw=randwrite\n"


def test_every_stage_is_guarded_and_counted(loop: Loop, folder: Path) -> None:
    params = settings(loop, job_file=STAGED)
    consent = {str(loop.path): Consent(str(loop.path), str(loop.backing), overwrite=False)}
    [(outputs, values)] = run_points(BENCHMARK, [params], folder, facts_here(), consent)
    names = ["read", "fill+again", "last"]
    points = [
        read_point(one.params, output, facts_here()) for one, output in zip(stages_of(params), outputs, strict=True)
    ]
    for name, point in zip(names, points, strict=True):
        assert set(point.flags) <= DOUBTS
        assert point.coverage.ratio == pytest.approx(1.0, abs=0.06), "the drive counts the bytes of this stage only"
        [rate] = [one.value for one in values if one.metric == "iops" and one.coords == {"stage": name}]
        assert rate == pytest.approx(LIMIT, rel=0.05)
    sizes = [one for one in values if one.metric == "device_size"]
    assert len(sizes) == 1


def test_a_stage_that_writes_without_consent_is_refused(loop: Loop, folder: Path) -> None:
    params = settings(loop, job_file="[read]\nrw=randread\n[fill]\nstonewall\nrw=write\n", duration=0.5)
    first, second = BENCHMARK.steps(params, Context(facts_here(), str(folder)))
    assert read_point(stages_of(params)[0].params, run_step(first, folder / "1"), facts_here()).sides["read"].ios
    assert "refused to use" in failure(run_step(second, folder / "2"))
    assert not any(loop.backing.read_bytes()), "nothing was written"


def test_a_rate_is_told_apart_from_a_depth(loop: Loop, folder: Path) -> None:
    point = measured(settings(loop, rate_iops=200), folder, loop)
    assert set(point.flags) <= {"little-unchecked", *DOUBTS}
    assert "little-unchecked" in point.flags


def test_a_queue_before_the_kernel(loop: Loop, folder: Path) -> None:
    """With the page cache, libaio waits within the system call, one request after another."""
    point = measured(settings(loop, engine="libaio", direct=False, iodepth=32, filesize=2**24), folder, loop)
    assert {"coverage-buffered", "submission-blocks"} <= set(point.flags)


def test_guard_ends_a_run_whose_rate_has_settled(loop: Loop, folder: Path) -> None:
    point = measured(settings(loop, duration=30.0), folder, loop, stop=StopRule(0.05, min_s=1.0))
    assert point.guard.stopped == "interval"
    assert set(point.flags) <= DOUBTS
    assert point.sides[""].seconds < 29
    assert len(point.seconds) >= 1


def test_a_volume_ends_the_point_by_itself(loop: Loop, folder: Path) -> None:
    point = measured(settings(loop, duration=30.0, rw="write", io_size=6 * 2**20, block_size=65536), folder, loop)
    assert point.sides["write"].io_bytes == 6 * 2**20
    assert "short-runtime" not in point.flags


def test_a_sparse_file_and_an_unwritten_one(folder: Path) -> None:
    sparse, unwritten = folder / "sparse", folder / "unwritten"
    with sparse.open("wb") as file:
        file.truncate(2**26)
    subprocess.run(["fallocate", "-l", "64MiB", str(unwritten)], check=True)
    for number, name in enumerate((sparse, unwritten)):
        (folder / str(number)).mkdir()
        params = FioParams(file_names=str(name), duration=0.5, numjobs=1, iodepth=8)
        point = measured(params, folder / str(number))
        assert {"invalid", "not-from-device"} <= set(point.flags)
        assert point.coverage.missing


def test_memory_has_no_drive_to_ask(folder: Path) -> None:
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
        file.write(bytes(range(256)) * 2**14)
        file.flush()
        point = measured(FioParams(file_names=file.name, duration=0.3, numjobs=1, iodepth=1), folder)
    assert "coverage-no-drive" in point.flags
    assert point.coverage.ratio is None


def test_what_guard_does_not_let_through(loop: Loop, folder: Path) -> None:
    subprocess.run(["blockdev", "--setro", str(loop.path)], check=True)
    assert "check `read-only`" in failure(ran(settings(loop, rw="randwrite"), folder, loop))
    (folder / "r").mkdir()
    assert measured(settings(loop, duration=0.3), folder / "r").sides["read"].ios > 0
    subprocess.run(["blockdev", "--setrw", str(loop.path)], check=True)
    (folder / "w").mkdir()
    assert "check `serial`" in failure(ran(settings(loop, rw="randwrite"), folder / "w"))


def test_a_target_that_is_too_small(loop: Loop, folder: Path) -> None:
    with pytest.raises(ValueError, match="`filesize` and `offset` require"):
        measured(settings(loop, filesize=2**30), folder, loop)

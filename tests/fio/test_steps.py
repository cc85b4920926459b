"""What is run: job files, arguments, companions, the layout."""

from __future__ import annotations

from typing import Any

import pytest

from asct.benchmarks.storage_fio import BENCHMARK
from asct.sdk import HostFacts, Step
from asct.sdk.benchmark import Context
from asct.sdk.fio import FioParams
from asct.sdk.fio.engines import chosen_engine
from asct.sdk.step import Output, Tool


def facts(engines: list[str], io_uring: bool | None, mpstat: bool = True) -> HostFacts:
    tools: dict[str, Any] = {"fio": {"path": "/usr/bin/fio", "features": engines}}
    if mpstat:
        tools["mpstat"] = {"path": "/usr/bin/mpstat"}
    return HostFacts(host="h", collected_at="now", tools=tools, io_uring=io_uring)


ALL = facts(["io_uring", "libaio", "psync"], True)


def step_of(**settings: Any) -> Step:
    [step] = BENCHMARK.steps(FioParams(**settings), Context(ALL, "/var/tmp/job"))
    return step


def options(step: Step) -> dict[str, str]:
    return dict(line.split("=", 1) for line in step.files["job.fio"].splitlines() if "=" in line)


@pytest.mark.parametrize(
    ("engines", "io_uring", "engine"),
    [
        (["io_uring", "libaio"], True, "io_uring"),
        (["io_uring", "libaio"], False, "libaio"),
        (["io_uring", "libaio"], None, "libaio"),
        (["libaio"], True, "libaio"),
        (["psync"], True, "psync"),
        ([], True, "io_uring"),
        ([], False, "libaio"),
    ],
)
def test_auto_takes_what_the_host_allows(engines: list[str], io_uring: bool | None, engine: str) -> None:
    assert chosen_engine(FioParams(), facts(engines, io_uring)) == engine
    assert chosen_engine(FioParams(engine="posixaio"), facts(engines, io_uring)) == "posixaio"


def test_one_process_per_point_and_then_none() -> None:
    step = step_of()
    done = [Output(step, 0, {})]
    assert BENCHMARK.steps(FioParams(), Context(ALL, "/var/tmp/job", done)) == ()


def test_arguments_and_files() -> None:
    step = step_of(block_size="4KiB", filesize="1MiB", duration="1500ms", seed=7)
    assert step.program == Tool("fio")
    assert step.arguments == ("--output-format=json+", "--output=fio.json", "--eta=never", "--readonly", "job.fio")
    found = options(step)
    assert (found["bs"], found["size"], found["runtime"], found["randseed"]) == ("4096", "1048576", "1500ms", "7")
    assert found["filename"] == "/var/tmp/job/scratch.dat"
    assert found["allow_file_create"] == "0"
    assert "rwmixread" not in found
    assert "ramp_time" not in found
    assert "fio.json" in step.collect


def test_writing_points_are_not_readonly() -> None:
    step = step_of(rw="randrw", rwmixread=100, iodepth_batch=64, ramp_time="2s", iodepth=8)
    assert "--readonly" not in step.arguments
    found = options(step)
    assert (found["rwmixread"], found["iodepth_batch_submit"], found["ramp_time"]) == ("100", "8", "2000ms")


def test_named_targets_are_taken_whole() -> None:
    found = options(step_of(file_names=["/dev/disk/by-path/pci-0000:01:00.0-nvme-1", "/data/x"]))
    assert found["filename"] == "/dev/disk/by-path/pci-0000\\:01\\:00.0-nvme-1:/data/x"
    assert "size" not in found


def test_mpstat_runs_beside_when_the_host_has_it() -> None:
    [companion] = step_of().companions
    assert companion.program == Tool("mpstat")
    assert companion.env["TZ"] == "UTC0"
    assert companion.arguments[:4] == ("-o", "JSON", "-P", "ALL")
    without = Context(facts(["libaio"], False, mpstat=False), "/work")
    assert BENCHMARK.steps(FioParams(), without)[0].companions == ()


def test_the_layout_is_one_file_for_all_points() -> None:
    points = [FioParams(filesize="10MiB"), FioParams(filesize="5000000"), FioParams(file_names="/data/x")]
    [step] = BENCHMARK.prepare(points, Context(ALL, "/var/tmp/job/"))
    found = options(step)
    assert found["filename"] == "/var/tmp/job/scratch.dat"
    assert found["size"] == str(10 * 2**20)
    assert (found["rw"], found["end_fsync"], found["fallocate"], found["refill_buffers"]) == ("write", "1", "none", "1")
    assert BENCHMARK.prepare(points[2:], Context(ALL, "/work")) == ()


@pytest.mark.parametrize(("duration", "ramp"), [(0.5, 0.0), (2.0, 5.0), (3600.0, 60.0)])
def test_mpstat_outlasts_fio_but_ends_by_itself(duration: float, ramp: float) -> None:
    """A killed asct cannot end it."""
    [companion] = step_of(duration=duration, ramp_time=ramp).companions
    interval, samples = map(int, companion.arguments[4:])
    assert duration + ramp + 30 <= interval * samples <= duration + ramp + 120

"""The processes that are run: job files, arguments, companions and the layout."""

from __future__ import annotations

import json
from typing import Any

import pytest

from asct.benchmarks.storage_fio import BENCHMARK
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.process import fio_step
from asct.instruments.fio.sections import chosen_engine
from asct.sdk.benchmark import Context
from asct.sdk.facts import Cpu, HostFacts, NumaNode
from asct.sdk.guard import Consent, StopRule
from asct.sdk.step import Kernel, Output, Step, Tool


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
    assert step.program == Kernel("guard")
    guard, fio = " ".join(step.arguments).split(" -- ")
    assert guard == "--targets targets"
    assert fio == (
        "/usr/bin/fio --output-format=json+ --output=fio.json --eta=never --status-interval=300ms --readonly job.fio"
    )
    assert step.files["targets"] == "read\t0\t1\t-\t/var/tmp/job/scratch.dat\n"
    found = options(step)
    assert (found["bs"], found["size"], found["runtime"], found["randseed"]) == ("4096", "1048576", "1500ms", "7")
    assert found["filename"] == "/proc/self/fd/100"
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
    step = step_of(file_names=["/dev/disk/by-path/pci-0000:01:00.0-nvme-1", "/data/x"])
    assert options(step)["filename"] == "/proc/self/fd/100:/proc/self/fd/101"
    assert "size" not in options(step)
    assert [line.split("\t")[-1] for line in step.files["targets"].splitlines()] == [
        "/dev/disk/by-path/pci-0000:01:00.0-nvme-1", "/data/x",
    ]  # fmt: skip


def test_a_device_is_written_by_its_consent_alone() -> None:
    params = FioParams(rw="trimwrite", file_names=["/dev/disk/by-id/x", "/dev/sdy"], overwrite=True)
    consents = {"/dev/disk/by-id/x": Consent("/dev/disk/by-id/x", "S1", overwrite=False)}
    [step] = BENCHMARK.steps(params, Context(ALL, "/var/tmp/job", consents=consents))
    first, second = step.files["targets"].splitlines()
    assert first == "write\t0\t0\tS1\t/dev/disk/by-id/x"
    assert second == "write\t1\t0\t-\t/dev/sdy"  # guard refuses a device without its serial
    before = Context(ALL, "/var/tmp/job", consents=consents, written_paths=frozenset({"/dev/disk/by-id/x"}))
    [step] = BENCHMARK.steps(params, before)
    assert step.files["targets"].splitlines()[0] == "write\t0\t1\tS1\t/dev/disk/by-id/x"
    assert "--readonly" not in step.arguments


def test_guard_ends_a_point_as_it_is_told() -> None:
    context = Context(ALL, "/var/tmp/job")
    step = fio_step(FioParams(rw="write"), context, "cell", stop=StopRule(0.02, 5.0, 1000))
    assert step.name == "cell"
    guard = step.arguments[: step.arguments.index("--")]
    assert " ".join(guard) == "--targets targets --stop-ppm 20000 --stop-min-ms 5000 --stop-min-ios 1000"


@pytest.mark.parametrize(
    ("duration", "numjobs", "interval_ms"),
    [
        (0.3, 1, 300),
        (1.0, 4, 300),
        (6.0, 4, 500),
        (10.0, 4, 800),
        (60.0, 4, 1000),
        (60.0, 16, 2000),
        (3600.0, 1, 30000),
    ],
)
def test_reports_come_every_second_or_as_many_as_can_be_kept(duration: float, numjobs: int, interval_ms: int) -> None:
    assert f"--status-interval={interval_ms}ms" in step_of(duration=duration, numjobs=numjobs).arguments


def test_the_place_of_the_drive_is_looked_at_where_it_matters() -> None:
    nodes = [NumaNode(id=0, cpus=[0, 1]), NumaNode(id=1, cpus=[2, 3])]
    here = ALL.model_copy(update={"nodes": nodes, "cpu": Cpu(allowed=[0, 1, 2, 3])})
    params = FioParams(file_names="/dev/nvme0n1", numjobs=2)
    [look] = BENCHMARK.steps(params, Context(here, "/work"))
    assert (look.name, look.program, look.arguments) == ("inspect", Kernel("guard"), ("--targets", "targets"))
    for node, cpus in ((0, "0-1"), (1, "2-3"), (None, "2-3")):
        lines = [
            {"t": "meta"},
            {"t": "device", "when": "before", "path": "/dev/nvme0n1", "numa_node": node},
            {"t": "ready"},
            {"t": "end", "ok": True},
        ]
        done = Output(look, 0, {"stdout": "".join(json.dumps(line) + "\n" for line in lines)})
        [step] = BENCHMARK.steps(params, Context(here, "/work", (done,)))
        assert options(step)["cpus_allowed"] == cpus
        assert BENCHMARK.steps(params, Context(here, "/work", (done, Output(step, 0, {})))) == ()


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
    """If asct is killed, it cannot end mpstat."""
    [companion] = step_of(duration=duration, ramp_time=ramp).companions
    interval, samples = map(int, companion.arguments[4:])
    assert duration + ramp + 30 <= interval * samples <= duration + ramp + 120

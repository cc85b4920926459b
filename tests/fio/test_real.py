"""The real fio: every pattern and engine, the layout, and failures of fio."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asct.benchmarks.storage_fio import BENCHMARK as ANY
from asct.benchmarks.storage_io_depth_sweep import BENCHMARK as SWEEP
from asct.benchmarks.storage_io_depth_sweep import DepthSweepParams
from asct.engine.guard import refusal
from asct.instruments.fio.metrics import PREFIXES
from asct.instruments.fio.params import FioParams
from asct.sdk.benchmark import Context
from asct.sdk.record import Measurement
from tests.fio.running import facts_here, records_of, run_points, run_step

pytestmark = pytest.mark.fio
SMALL: dict[str, Any] = {"duration": 0.3, "filesize": 16 * 2**20, "numjobs": 2, "iodepth": 4}


def values(measurements: Any) -> dict[str, Measurement]:
    return {one.metric: one for one in measurements}


def test_the_layout_has_no_holes_and_no_zeros(disk: Path) -> None:
    params = FioParams(filesize=5_000_000)
    [step] = ANY.prepare([params], Context(facts_here(), str(disk)))
    assert run_step(step, disk / "layout").status == 0
    scratch = disk / "scratch.dat"
    assert scratch.stat().st_size == 5 * 2**20
    assert scratch.stat().st_blocks * 512 >= scratch.stat().st_size
    content = scratch.read_bytes()
    blocks = {content[start : start + 4096] for start in range(0, len(content), 4096)}
    assert len(blocks) == len(content) // 4096
    assert not any(block.count(0) > 400 for block in blocks)


@pytest.mark.parametrize(
    "settings",
    [
        {"rw": "read"}, {"rw": "write"}, {"rw": "randread"}, {"rw": "randwrite"}, {"rw": "rw"}, {"rw": "randrw"},
        {"engine": "libaio", "block_size": 65536}, {"engine": "posixaio"}, {"engine": "psync", "iodepth": 1},
        {"direct": False}, {"iodepth_batch": 4}, {"ramp_time": 0.2, "rate_iops": 1000}, {"rw": "write", "numjobs": 3},
    ],
    ids=str,
)  # fmt: skip
def test_every_kind_of_point(settings: dict[str, Any], disk: Path) -> None:
    params = FioParams(**(SMALL | settings))
    assert list(ANY.check(params)) == []
    [(_, measurements)] = run_points(ANY, [params], disk, facts_here())
    found = values(measurements)
    sides = {"read_", "write_"} if params.mixed else {"write_"} if params.writes else {"read_"}
    rates = {f"{prefix}iops" for prefix in PREFIXES}
    assert rates & set(found) == {f"{prefix}iops" for prefix in ("", *sides)}
    # fio counts what is in flight when the ramp ends to the one and not to the other
    flying = params.requested_depth * params.block_size / params.duration if params.ramp_time else 0
    assert found["bandwidth"].value == pytest.approx(found["iops"].value * params.block_size, rel=1e-2, abs=flying)
    assert found["queue_depth"].value == params.requested_depth
    assert 0 < found["in_flight"].value <= 1.05 * params.requested_depth
    assert (disk / "scratch.dat").stat().st_size == SMALL["filesize"]


def test_the_sweep_from_points_to_table(disk: Path) -> None:
    points = [DepthSweepParams(**(SMALL | {"duration": 4.0, "iodepth": depth})) for depth in (1, 8)]
    results = run_points(SWEEP, points, disk, facts_here())
    records = records_of(
        SWEEP, [({"iodepth": point.iodepth}, found) for point, (_, found) in zip(points, results, strict=True)]
    )
    table = SWEEP.tables(records)[0]
    assert [row["iodepth"] for row in table.rows] == [1, 8]
    assert all(isinstance(row["used_cpu_sys"], float) for row in table.rows)
    assert [figure.slug for figure in SWEEP.figures(records)][:3] == ["bandwidth", "io-rate", "latency"]


def test_a_lost_depth_is_said(disk: Path) -> None:
    [(_, measurements)] = run_points(ANY, [FioParams(**SMALL)], disk, facts_here(["psync"], io_uring=False))
    found = values(measurements)
    assert "depth-not-honoured" in found["iops"].flags
    assert found["queue_depth"].value == 2


def test_a_sparse_file_is_told_from_a_drive(disk: Path) -> None:
    sparse = disk / "sparse.dat"
    with sparse.open("wb") as file:
        file.truncate(64 * 2**20)
    params = FioParams(**(SMALL | {"file_names": str(sparse), "filesize": None}))
    [(_, measurements)] = run_points(ANY, [params], disk, facts_here())
    assert {"invalid", "not-from-device"} <= set(values(measurements)["iops"].flags)


def test_names_with_colons_and_spaces(disk: Path) -> None:
    name = disk / "a b:c=d,é.dat"
    name.write_bytes(os.urandom(2**20))
    params = FioParams(**(SMALL | {"file_names": str(name), "filesize": None, "rw": "read"}))
    assert list(ANY.check(params)) == []
    [(_, measurements)] = run_points(ANY, [params], disk, facts_here())
    assert values(measurements)["ios"].value > 0
    assert [path.name for path in disk.iterdir() if path.suffix == ".dat"] == [name.name]


@pytest.mark.parametrize(
    ("settings", "way_out"),
    [
        ({"file_names": "{disk}/missing"}, "identity"),
        ({"file_names": "{disk}/missing", "rw": "write"}, "identity"),
        ({"file_names": "/dev/nvme9n9"}, "identity"),
        ({"file_names": "{disk}/small", "filesize": 2**24}, "smaller than `filesize`"),
        ({"file_names": "{disk}/small", "block_size": 2**24}, "smaller than `block_size`"),
        ({"file_names": "{disk}/small", "filesize": 2**24, "engine": "psync", "iodepth": 1}, "smaller than `filesize`"),
        ({"file_names": "{disk}", "direct": False}, "kind"),
    ],
    ids=str,
)
def test_what_cannot_be_measured_says_the_way_out(settings: dict[str, Any], way_out: str, disk: Path) -> None:
    (disk / "small").write_bytes(b"x" * 65536)
    merged = SMALL | {"filesize": None} | settings
    params = FioParams(**(merged | {"file_names": settings["file_names"].format(disk=disk)}))
    [step] = ANY.steps(params, Context(facts_here(), str(disk)))
    output = run_step(step, disk / "run")
    refused = refusal("h", output.stdout)
    if refused is None:
        with pytest.raises(ValueError, match=way_out):
            ANY.parse(params, [output], facts_here())
    else:
        assert way_out in refused.message, refused
    assert not (disk / "missing").exists()
    assert not Path("/dev/nvme9n9").exists()


@pytest.mark.parametrize("rw", ["write", "randwrite", "rw", "randrw"])
def test_a_named_file_keeps_its_size_when_it_is_written(rw: str, disk: Path) -> None:
    """fio deletes the file if `size` is larger, in spite of allow_file_create=0, so no size is passed."""
    name = disk / "named.dat"
    name.write_bytes(b"x" * 1_000_001)
    inode = name.stat().st_ino
    params = FioParams(**(SMALL | {"file_names": str(name), "filesize": None, "rw": rw, "overwrite": True}))
    assert list(ANY.check(params)) == []
    run_points(ANY, [params], disk, facts_here())
    assert (name.stat().st_size, name.stat().st_ino) == (1_000_001, inode)


def test_an_engine_fio_does_not_have(disk: Path) -> None:
    name = disk / "x.dat"
    name.write_bytes(os.urandom(2**20))
    params = FioParams(**(SMALL | {"file_names": str(name), "filesize": None}))
    [step] = ANY.steps(params, Context(facts_here(), str(disk)))
    broken = step.files["job.fio"].replace("io_uring", "nosuchengine")
    output = run_step(replace(step, files=dict(step.files) | {"job.fio": broken}), disk / "r")
    with pytest.raises(ValueError, match="set `engine` to auto"):
        ANY.parse(params, [output], facts_here())


def test_a_full_file_system_fails_the_layout(disk: Path) -> None:
    """The file is larger than the file system."""
    [step] = ANY.prepare([FioParams(filesize=2**20)], Context(facts_here(), "/dev/full"))
    assert run_step(step, disk / "layout").status != 0


@pytest.mark.parametrize(
    ("settings", "way_out"),
    [
        ({"rw": "randwrite", "filesize": 2**24}, "smaller than `filesize`"),
        ({"cpus": "8191"}, "use CPUs that"),
        ({"cpus": "1000"}, "use CPUs that"),
        ({"memory_node": 63}, "memory_node"),
        ({"engine": "libaio", "options": {"bsrange": "nonsense"}}, "nonsense"),
    ],
    ids=str,
)
def test_a_setting_that_does_not_fit_the_host_says_the_way_out(
    settings: dict[str, Any], way_out: str, disk: Path
) -> None:
    name = disk / "small"
    name.write_bytes(os.urandom(2**20))
    inode = name.stat().st_ino
    common = SMALL | {"file_names": str(name), "filesize": None, "overwrite": True}
    [step] = ANY.steps(FioParams(**(common | settings)), Context(facts_here(), str(disk)))
    output = run_step(step, disk / "run")
    with pytest.raises(ValueError, match=way_out):
        ANY.parse(FioParams(**(common | settings)), [output], facts_here())
    assert (name.stat().st_ino, name.stat().st_size) == (inode, 2**20)

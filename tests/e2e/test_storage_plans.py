"""The storage plans that come with asct, measured here with small files and short points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import Ended, asct, latest, lines, require_measured

pytestmark = [pytest.mark.e2e, pytest.mark.fio, pytest.mark.timeout(600)]

PLANS = Path(__file__).parents[2] / "plans"
SEED_COLUMNS = (
    "Read BW (MB/s)", "Write BW (MB/s)", "Total BW (MB/s)", "Read Thruput (kops)", "Write Thruput (kops)",
    "Thruput (kops)", "Read Lat. (\N{MICRO SIGN}s)", "Write Lat. (\N{MICRO SIGN}s)", "Lat. (\N{MICRO SIGN}s)",
    "CPU usr (%)", "CPU sys (%)", "CPU iowait (%)",
)  # fmt: skip


def apply(plan: str, cwd: Path, *options: str, **settings: str) -> Ended:
    sets = [word for path, value in settings.items() for word in ("--set", f"vars.{path}={value}")]
    return asct("apply", str(PLANS / f"{plan}.yaml"), *sets, *options, cwd=cwd, timeout=500)


def points_of(run: Path) -> list[dict[str, Any]]:
    """Return the settings of every point that has a rate."""
    return [record["point"] for record in lines(run / "records.jsonl") if record["metric"] == "iops"]


def test_the_four_sweeps_measure_what_their_names_say(tmp_path: Path) -> None:
    ended = apply("storage", tmp_path, runtime="300ms", size="64M")
    run = latest(tmp_path, "storage")
    require_measured(ended, run)
    points = points_of(run)
    assert sorted(point["block_size"] for point in points if "block_size" in point) == [2**n for n in range(12, 18)]
    assert sorted(point["iodepth"] for point in points if "iodepth" in point) == [2**n for n in range(8)]
    assert sorted(point["numjobs"] for point in points if "numjobs" in point) == [2**n for n in range(5)]
    words = {point["rw"] for point in points if "rw" in point}
    assert words == {"read", "write", "randread", "randwrite", "rw", "randrw"}
    text = (run / "summary.md").read_text()
    for title in (*SEED_COLUMNS, "BlockSize", "IODepth", "ProcessCount", "AccessPattern"):
        assert title in text


def test_a_file_of_ones_own_is_measured_by_one_variable(tmp_path: Path) -> None:
    target = tmp_path / "target.dat"
    target.write_bytes(bytes(range(256)) * 4096 * 16)
    before = target.read_bytes()
    ended = asct(
        "apply", str(PLANS / "storage.yaml"), "--benchmark", "depths", "--set", f"vars.target={target}",
        "--set", "vars.size=null", "--set", "vars.runtime=200ms", "--set", "depths.iodepth_sweep_steps=[1, 4]",
        cwd=tmp_path,
    )  # fmt: skip
    require_measured(ended, latest(tmp_path, "storage"))
    assert target.read_bytes() == before
    sizes = [r for r in lines(latest(tmp_path, "storage") / "records.jsonl") if r["metric"] == "device_size"]
    assert {record["value"] for record in sizes} == {len(before)}


def test_a_pattern_that_writes_is_refused_on_a_file_of_ones_own(tmp_path: Path) -> None:
    target = tmp_path / "target.dat"
    target.write_bytes(bytes(2**20))
    ended = asct(
        "apply", str(PLANS / "storage.yaml"), "--benchmark", "patterns", "--set", f"vars.target={target}",
        "--set", "vars.size=null", cwd=tmp_path,
    )  # fmt: skip
    assert ended.code == 4, ended.err
    assert "overwrite" in ended.err
    assert target.read_bytes() == bytes(2**20)


def test_the_matrix_becomes_its_charts(tmp_path: Path) -> None:
    ended = apply("seeds/fio-matrix", tmp_path, runtime="150ms", size="32M")
    run = latest(tmp_path, "fio-matrix")
    require_measured(ended, run)
    assert len(points_of(run)) == 64
    page = (run / "report.html").read_text()
    for slug in ("latency", "io-rate", "latency-over-iodepth", "io-rate-over-iodepth", "bandwidth-over-iodepth"):
        assert f'id="plot-matrix-{slug}"' in page
    assert 'id="plot-matrix-map-iops"' in page
    assert "iodepth 1024, rwmixread 70" in page


def test_the_study_has_a_curve_for_each_pattern_and_size(tmp_path: Path) -> None:
    """Three of the eleven depths are measured, which is the minimum for drawing a curve."""
    depths = ("--set", "load.sweep.iodepth=[1, 32, 1024]")
    ended = apply("seeds/study-storage", tmp_path, *depths, runtime="150ms", size="32M")
    run = latest(tmp_path, "study-storage")
    require_measured(ended, run)
    points = points_of(run)
    assert len(points) == 18
    kinds = {(point["rw"], point["block_size"]) for point in points}
    assert kinds == {(rw, size) for rw in ("randread", "randwrite", "randrw") for size in (4096, 32768)}
    assert "latency-bandwidth" in (run / "report.html").read_text()

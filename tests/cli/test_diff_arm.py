"""`asct diff` with folders written by Arm's ASCT."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.diff.arm_folders import RESULTS, SYSTEM, folder_05, folder_06
from tests.cli.conftest import Asct
from tests.export.sample import Sample, write_sample

OTHER_KERNEL = {**SYSTEM, "kern_cfg": {**SYSTEM["kern_cfg"], "build_dir": "/lib/modules/6.11.0-9-generic/build"}}


def with_dram_latency(nanoseconds: float) -> dict[str, Any]:
    """Return the results of a run with a different memory latency."""
    sweep = json.loads(json.dumps(RESULTS["latency-sweep"]))
    sweep["summary"]["Latency [ns]"]["DRAM"] = nanoseconds
    return {**RESULTS, "latency-sweep": sweep, "system-info": OTHER_KERNEL}


def test_two_folders_are_compared(asct: Asct, tmp_path: Path) -> None:
    before, after = folder_05(tmp_path / "before"), folder_06(tmp_path / "after", with_dram_latency(150.0))
    files = sorted(tmp_path.rglob("*"))
    found = asct("diff", str(before), str(after), "-v")
    assert (found.code, found.err) == (0, "")
    text = " ".join(found.out.split())
    assert "6.8.0-40-generic aarch64 6.11.0-9-generic aarch64" in text
    assert "Arm ASCT 0.5.0 Arm ASCT 0.6.0" in text
    assert "latency, level DRAM 110 ns 150 ns +36.4 %" in text
    assert "bandwidth, level L1, traffic all-reads 800 GB/s 800 GB/s +0.0 %" in text
    assert sorted(tmp_path.rglob("*")) == files


def test_the_formats_and_figures_of_two_folders(asct: Asct, tmp_path: Path) -> None:
    before, after = folder_06(tmp_path / "before"), folder_06(tmp_path / "after", with_dram_latency(150.0))
    assert asct("diff", str(before), str(after), "-o", str(tmp_path / "out")).code == 0
    rows = json.loads((tmp_path / "out/diff.json").read_text())["rows"]
    assert {row["unit"] for row in rows if row["benchmark"] == "latency-sweep"} == {"s"}
    page = (tmp_path / "out/diff.html").read_text()
    for job in ("latency-sweep", "bandwidth-sweep", "loaded-latency", "storage-io-depth-sweep"):
        assert f'id="{job}-' in page


def test_a_folder_is_compared_with_a_run_of_asct(asct: Asct, tmp_path: Path) -> None:
    run = write_sample(tmp_path / "results", Sample(quiet=True))
    found = asct("diff", str(run), str(folder_06(tmp_path / "arm")), "-f", "json")
    assert found.code == 0
    rows = {row["field"]: row for row in json.loads(found.out)["rows"]}
    assert rows["latency-sweep.latency at level L1"]["verdict"] in ("same", "too few visits")


@pytest.mark.parametrize("version", ["0.4.0", "0.7.0"])
def test_other_versions_are_refused(asct: Asct, tmp_path: Path, version: str) -> None:
    run, other = folder_06(tmp_path / "run"), folder_06(tmp_path / "other", version=version)
    found = asct("diff", str(run), str(other), "-o", str(tmp_path / "out"))
    assert (found.code, found.out) == (3, "")
    assert f"ASCT {version} is too" in found.err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_lacks_results_cannot_pass(asct: Asct, tmp_path: Path) -> None:
    whole, less = folder_06(tmp_path / "whole"), folder_06(tmp_path / "less")
    (less / "raw/idle-latency/data.json").unlink()
    assert asct("diff", str(whole), str(less)).code == 0
    found = asct("diff", str(whole), str(less), "--fail-on", "regression>3%")
    assert found.code == 3
    assert "has no results for idle-latency" in " ".join(found.err.split())


def test_a_folder_has_no_planned_baseline(asct: Asct, tmp_path: Path) -> None:
    found = asct("diff", str(folder_06(tmp_path / "arm")))
    assert (found.code, "another tool wrote it, so there is no baseline" in " ".join(found.err.split())) == (2, True)

"""Results of Arm's ASCT 0.5 and 0.6 can be compared like runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from asct.analysis.agreement import record_key
from asct.analysis.diff.arm_asct import read_arm_asct
from asct.analysis.diff.arm_recipes import TICK_METRICS
from asct.analysis.diff.build import open_source
from asct.analysis.diff.source import DiffSource
from asct.errors import NoSuchRun
from asct.registry import installed
from asct.sdk.record import Record
from tests.analysis.diff.arm_folders import LEVELS, RESULTS, folder_05, folder_06, metadata, table, write_result


def read(folder: Path) -> DiffSource:
    return read_arm_asct(folder, installed())


def value(source: DiffSource, name: str, **at: Any) -> float:
    """Return the only value of `benchmark.metric` with these swept settings and coordinates."""
    return one(source, name, **at).value


def one(source: DiffSource, name: str, **at: Any) -> Record:
    benchmark, metric = name.split(".")
    found = [
        record
        for record in source.records
        if (record.benchmark, record.metric, {**record.point, **record.coords}) == (benchmark, metric, at)
    ]
    assert len(found) == 1
    return found[0]


def unlike(source: DiffSource, name: str, **at: Any) -> str:
    return source.unlike.get(record_key(one(source, name, **at)), "")


@pytest.fixture(params=["0.6", "0.5"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> DiffSource:
    return read((folder_06 if request.param == "0.6" else folder_05)(tmp_path / "run"))


def test_all_versions_contain_the_same_values(tmp_path: Path) -> None:
    new, old = read(folder_06(tmp_path / "new")), read(folder_05(tmp_path / "old"))
    assert len(new.records) > 80
    assert {record_key(record): record.value for record in new.records} == {
        record_key(record): record.value for record in old.records
    }
    assert (new.tool, new.version, old.version) == ("Arm ASCT", "0.6.0", "0.5.0")
    assert new.unlike == old.unlike
    assert new.gaps == old.gaps == ()
    assert new.notes == old.notes == ()


def test_every_value_has_the_unit_the_direction_and_the_coordinates_of_its_benchmark(source: DiffSource) -> None:
    for record in source.records:
        benchmark = installed().get(record.benchmark)
        assert benchmark is not None
        assert record.id == benchmark.name
        metric = next(metric for metric in benchmark.metrics if metric.name == record.metric)
        assert (record.unit, record.better) == (metric.unit, metric.better)
        assert record.coords.keys() <= metric.coords.keys()
        assert record.point.keys() <= benchmark.params_model.model_fields.keys()


def test_latencies_are_in_seconds(source: DiffSource) -> None:
    assert value(source, "latency-sweep.latency", level="DRAM") == 110e-9
    assert value(source, "latency-sweep.latency", size=128) == 1.5e-9
    assert value(source, "latency-sweep.upper_bound", level="L1") == 65536
    assert value(source, "latency-sweep.optimum_size", level="L2") == 589824
    assert unlike(source, "latency-sweep.latency", level="L1") == ""
    assert value(source, "loaded-latency.latency", delay=3000) == 111e-9
    assert "NOP" in unlike(source, "loaded-latency.latency", delay=3000)


def test_the_rows_of_a_matrix_are_the_nodes_of_the_cpus(source: DiffSource) -> None:
    assert value(source, "idle-latency.latency", run_node=0, memory_node=1) == 250e-9
    assert value(source, "idle-latency.latency", run_node=1, memory_node=0) == 240e-9
    assert value(source, "cross-numa-bandwidth.bandwidth", run_node=1, memory_node=0) == 41e9


def test_bandwidths_are_in_bytes_per_second(source: DiffSource) -> None:
    assert value(source, "bandwidth-sweep.bandwidth", level="L1", traffic="all-reads") == 800e9
    assert value(source, "bandwidth-sweep.bandwidth", size=128, traffic="all-reads") == 900e9
    assert value(source, "peak-bandwidth.bus_bandwidth", traffic="2:1-nt") == 120e9
    assert value(source, "peak-bandwidth.share_of_theoretical", traffic="all-reads") == 58.6
    assert value(source, "loaded-latency.bus_bandwidth", delay=0) == 170e9


def test_bytes_that_were_not_loaded_make_cache_bandwidths_incomparable(source: DiffSource) -> None:
    reasons = [unlike(source, "bandwidth-sweep.bandwidth", level=level, traffic="all-reads") for level in LEVELS]
    assert ["64 bytes" in reason for reason in reasons] == [True, True, True, False]


@pytest.mark.parametrize(("nodes", "reason"), [(1, ""), (2, "extrapolates"), (None, "does not say")])
def test_a_peak_bandwidth_is_comparable_only_on_one_node(tmp_path: Path, nodes: int | None, reason: str) -> None:
    system = {"system-info": {"sys_hw": {"n_numa_nodes": nodes}}} if nodes else {}
    folder = folder_06(tmp_path / "run", {**system, "peak-bandwidth": RESULTS["peak-bandwidth"]})
    found = unlike(read(folder), "peak-bandwidth.bus_bandwidth", traffic="all-reads")
    assert reason in found and bool(reason) == bool(found)


def test_pairs_of_cpus_and_their_medians(source: DiffSource) -> None:
    name = "core-to-core-latency.latency"
    assert value(source, name, cpu_a=2, cpu_b=3, node_a=0, node_b=0, memory_node=0, method="chain") == 40e-9
    assert value(source, name, method="chain", data="local") == pytest.approx(41e-9)
    assert value(source, name, method="chain", data="remote") == 90e-9
    assert "fastest" in unlike(source, name, method="chain", data="local")


def test_storage_rates_are_mebibytes_whatever_their_label(source: DiffSource) -> None:
    name = "storage-request-size-sweep"
    assert value(source, f"{name}.bandwidth", block_size=131072) == 100 * 2**20
    assert value(source, f"{name}.read_iops", block_size=4096) == 25_600
    assert value(source, f"{name}.latency", block_size=4096) == 620e-6
    assert value(source, f"{name}.used_cpu_iowait", block_size=4096) == 60.0
    assert value(source, "storage-io-depth-sweep.iops", iodepth=16) == 25_600
    assert value(source, "storage-access-pattern-sweep.iops", rw="randread") == 25_600
    assert "CPUs, regardless" in unlike(source, "storage-process-count-sweep.iops", numjobs=4)
    assert not any(record.metric.startswith("write_") for record in source.records)


def test_facts_have_the_labels_of_machine_facts(source: DiffSource) -> None:
    facts = source.machines["local"]
    assert facts["Linux kernel"] == "6.8.0-40-generic aarch64"
    assert facts["Firmware"] == "ACME 1.2, of 03/01/2026"
    assert facts["Caches"] == "L1 64K, L2 2M, L3 32M"
    assert facts["Huge pages"] == "0 x 2M, 4 x 1G"
    assert facts["Mitigation meltdown"] == "Not affected"
    assert facts["Run as root"] == "yes"


@pytest.mark.parametrize(
    "content", [{}, {"sys_hw": 3}, {"sys_hw": {"n_cpus": [1], "cache_size_dict": {"L1": 10**400}}}]
)
def test_unusual_facts_are_unknown(tmp_path: Path, content: dict[str, Any]) -> None:
    assert read(folder_06(tmp_path / "run", {"system-info": content})).machines == {"local": {}}


def test_settings_have_the_names_of_asct(tmp_path: Path) -> None:
    settings = read(folder_06(tmp_path)).settings
    assert settings["local", "latency-sweep"] == {"duration": 0.25}
    assert settings["local", "idle-latency"] == {"duration": 0.25, "data_size": 603979776}
    assert settings["local", "storage-io-depth-sweep"] == {
        "duration": 60, "block_size": 4096, "engine": "libaio", "numjobs": 4, "rw": "randread", "rwmixread": 70,
        "filesize": 1048576000, "file_names": [], "create_temp_file": True, "direct": True,
    }  # fmt: skip


def identities(tmp_path: Path, name: str, **more: Any) -> set[str]:
    folder = folder_06(tmp_path / name, {"idle-latency": RESULTS["idle-latency"]}, **more)
    return {record.point_id for record in read(folder).records}


def test_values_measured_with_other_settings_have_another_identity(tmp_path: Path) -> None:
    usual = identities(tmp_path, "usual")
    assert len(usual) == 1
    assert identities(tmp_path, "shown", user_config={"idle-latency": {"cycle_base": True}}) == usual
    assert identities(tmp_path, "long", user_config={"idle-latency": {"duration": 2.0}}) != usual
    options = {"command": "run", "update_config": "{'idle-latency': {'duration': '2s'}}"}
    assert identities(tmp_path, "older", version="0.5.1", cmd_arguments=options) != usual
    assert identities(tmp_path, "quick", cmd_arguments={"quick_mode": "True"}) != usual


def test_ticks_are_not_cycles(tmp_path: Path) -> None:
    folder = folder_06(tmp_path / "run", {})
    levels = table(("Optimum Datasize", "Latency [cycle]"), (32832, 0.04), index=["L1"])
    write_result(folder, "latency-sweep", {**RESULTS["latency-sweep"], "summary": levels}, cycle_base=True)
    write_result(folder, "idle-latency", RESULTS["idle-latency"], cycle_base=True)
    write_result(
        folder, "peak-bandwidth", table(("Traffic type", "Peak BW [B/cycle]"), ("All Reads", 70.0)), cycle_base=True
    )
    source = read(folder)
    assert value(source, "latency-sweep.latency_ticks", level="L1") == 0.04
    assert value(source, "latency-sweep.latency", level="L1") == 1.5e-9
    assert value(source, "idle-latency.latency_ticks", run_node=0, memory_node=0) == 110.0
    assert one(source, "peak-bandwidth.bus_bandwidth_ticks", traffic="all-reads").unit == "B/tick"
    assert "core cycles" in unlike(source, "idle-latency.latency_ticks", run_node=0, memory_node=0)
    metrics = {metric.name for name in installed().names() for metric in installed().get(name).metrics}  # type: ignore[union-attr]
    assert not metrics & TICK_METRICS.keys()


def test_a_size_that_was_measured_twice_has_two_samples(tmp_path: Path) -> None:
    curve = table(("sizes", "average_latency_ns"), (128, 1.0), (128, 3.0))
    source = read(folder_06(tmp_path / "run", {"latency-sweep": {"sweep_data": curve}}))
    assert [(record.value, record.repeat) for record in source.records] == [(1e-9, 1), (3e-9, 2)]


def test_tables_that_are_only_in_the_report_are_read(tmp_path: Path) -> None:
    folder = folder_06(tmp_path / "run", {})
    levels, matrix = RESULTS["latency-sweep"]["summary"], RESULTS["idle-latency"]
    report = {"system-info": RESULTS["system-info"], "memory": {"latency-sweep": levels, "idle-latency": matrix}}
    (folder / "report.json").write_text(json.dumps(report))
    source = read(folder)
    assert value(source, "latency-sweep.latency", level="DRAM") == 110e-9
    assert value(source, "idle-latency.latency", run_node=0, memory_node=0) == 110e-9
    assert source.machines["local"]["System"] == "Ubuntu 24.04.3 LTS"
    assert {record.raw for record in source.records} == {"report.json"}


def test_the_layout_between_the_versions_is_read(tmp_path: Path) -> None:
    raw = {"idle-latency": {"raw_result": RESULTS["idle-latency"], "metadata": {"config": {"cycle_base": False}}}}
    folder = tmp_path / "run"
    folder.mkdir()
    text = json.dumps({"metadata": metadata("0.5.0+editable.b154756", ["idle-latency"]), "raw": raw})
    (folder / "asct.json").write_text(text)
    assert value(read(folder), "idle-latency.latency", run_node=0, memory_node=1) == 250e-9


def test_open_source_recognizes_a_folder_by_its_content(tmp_path: Path) -> None:
    folder = folder_06(tmp_path / "data.20260504")
    found = open_source(tmp_path / "results", str(folder), installed())
    assert (found.tool, found.title) == ("Arm ASCT", "data.20260504")
    assert open_source(tmp_path, str(folder / "asct.json"), installed()).root == folder
    shutil.rmtree(folder / "raw")
    (folder / "asct.json").unlink()
    with pytest.raises(NoSuchRun):
        open_source(tmp_path / "results", str(folder), installed())

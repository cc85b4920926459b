"""From recorded runs to measurements: values, and every reason to distrust or refuse them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from asct.registry import Registry
from asct.sdk.fio.metrics import METRICS
from asct.sdk.fio.verdict import FLAGS
from tests.fio.record import plain
from tests.fio.samples import CASES, changed, depth_sample, load, output_of, parse

Change = Callable[[dict[str, Any]], None]


@pytest.mark.parametrize(("package", "case"), CASES)
def test_recorded_runs_give_the_recorded_measurements(package: str, case: str) -> None:
    sample = load(package, case)
    found = parse(sample, output_of(sample), package.replace("_", "-"))
    expected = {one["metric"]: one for one in sample["measurements"]}
    assert found.keys() == expected.keys()
    for name, one in found.items():
        got, want = json.loads(json.dumps(plain(one))), expected[name]
        assert got.pop("value") == pytest.approx(want.pop("value"))
        assert (got.pop("stats") is None) == (want.pop("stats") is None)
        assert got == want


def test_values_are_those_of_fio() -> None:
    sample = depth_sample()
    found = parse(sample, output_of(sample))
    jobs = json.loads(sample["outputs"][0]["files"]["fio.json"])["jobs"]
    assert found["iops"].value == pytest.approx(sum(job["read"]["iops"] for job in jobs), rel=0.002)
    assert found["bandwidth"].value == pytest.approx(found["iops"].value * 4096)
    assert found["clat_min"].value == pytest.approx(min(job["read"]["clat_ns"]["min"] for job in jobs) * 1e-9)
    assert found["clat_max"].value == pytest.approx(max(job["read"]["clat_ns"]["max"] for job in jobs) * 1e-9)
    assert found["lat_mean"].value == pytest.approx(found["slat_mean"].value + found["clat_mean"].value, rel=0.01)
    assert found["latency"].value == found["clat_mean"].value == found["read_latency"].value
    assert found["read_iops"].value == found["iops"].value
    assert "write_iops" not in found
    low, *_, high = (found[f"clat_{name}"].value for name in ("min", "p50", "p90", "p95", "p99", "p99_9", "max"))
    assert low < found["clat_p50"].value < found["clat_p99"].value < found["clat_p99_9"].value < high


def test_spread_of_rates_has_an_interval_and_that_of_latency_has_none() -> None:
    sample = depth_sample()
    found = parse(sample, output_of(sample))
    rates, latency = found["iops"].stats, found["latency"].stats
    assert rates is not None
    assert latency is not None
    assert rates.n >= 6
    assert rates.ci95 is not None
    assert rates.ci95[0] <= rates.median <= rates.ci95[1]
    assert latency.ci95 is None
    assert latency.n == found["ios"].value


def test_every_measurement_is_a_declared_metric_with_declared_coordinates() -> None:
    metrics = {metric.name: metric for metric in METRICS}
    assert len(metrics) == len(METRICS)
    for package, case in CASES:
        sample = load(package, case)
        for one in parse(sample, output_of(sample), package.replace("_", "-")).values():
            assert set(one.coords) == set(metrics[one.metric].coords)
            assert set(one.flags) <= set(FLAGS)


def test_the_metrics_of_the_contract_are_declared() -> None:
    names = {metric.name: metric.unit for metric in METRICS}
    for prefix in ("", "read_", "write_"):
        assert (names[f"{prefix}bandwidth"], names[f"{prefix}iops"], names[f"{prefix}latency"]) == ("B/s", "ops/s", "s")
        for kind in ("slat", "clat", "lat"):
            for form in ("mean", "min", "max", "stddev", "p50", "p90", "p99", "p99_9", "p99_99"):
                assert names[f"{prefix}{kind}_{form}"] == "s"
    assert {names[f"cpu_{kind}"] for kind in ("usr", "sys", "iowait", "irq", "soft")} == {"%"}


def _set(path: str, value: Any) -> Change:
    """Set `path` (dots) in every job."""

    def change(document: dict[str, Any]) -> None:
        for job in document["jobs"]:
            *parents, last = path.split(".")
            place = job
            for name in parents:
                place = place[name]
            place[last] = value

    return change


def _no_reads_of_the_device(document: dict[str, Any]) -> None:
    document["disk_util"][0] |= {"read_ios": 10, "read_merges": 0}


def _no_device(document: dict[str, Any]) -> None:
    document["disk_util"] = []


@pytest.mark.parametrize(
    ("flag", "change"),
    [
        ("littles-law", _set("read.lat_ns.mean", 1000.0)),
        ("short-runtime", _set("job_runtime", 3700)),
        ("short-ios", _set("read.short_ios", 1)),
        ("not-from-device", _no_reads_of_the_device),
    ],
)
def test_doubts_become_flags(flag: str, change: Change) -> None:
    sample = depth_sample()
    found = parse(sample, output_of(sample, fio_json=changed(sample, change)))
    assert found["iops"].flags == ("invalid", flag)
    assert found["clat_p99"].flags == ("invalid", flag)


def test_without_a_device_nothing_is_said_of_it() -> None:
    sample = depth_sample()
    assert parse(sample, output_of(sample, fio_json=changed(sample, _no_device)))["iops"].flags == ()


def test_littles_law_tells_a_sync_engine_behind_a_depth() -> None:
    """3046 requests a second at 1311.5 us are 4 in flight, whatever was asked (a published depth sweep)."""
    sample = depth_sample()

    def capped(document: dict[str, Any]) -> None:
        for job in document["jobs"]:
            job["read"] |= {"total_ios": 6092, "runtime": 4000}
            job["read"]["lat_ns"]["mean"] = 1311500.0

    found = parse(sample, output_of(sample, fio_json=changed(sample, capped)))
    assert "littles-law" in found["latency"].flags
    assert found["in_flight"].value == pytest.approx(4.0, rel=0.01)
    assert found["queue_depth"].value == 64


def test_tmpfs_and_a_lost_depth_are_flagged() -> None:
    sample = load("storage_fio", "psync-fallback")
    sample["facts"]["work_filesystem"] = "tmpfs"
    found = parse(sample, output_of(sample), "storage-fio")
    assert found["iops"].flags == ("invalid", "depth-not-honoured", "memory-filesystem")
    assert found["queue_depth"].coords["engine"] == "psync"
    assert found["queue_depth"].value == 2  # two jobs, one request each
    assert not any(name.startswith("slat") for name in found)


def test_a_busy_cpu_is_flagged() -> None:
    sample = depth_sample()
    text = sample["outputs"][0]["files"]["mpstat.json"]
    document = json.loads(text)
    for row in document["sysstat"]["hosts"][0]["statistics"]:
        row["cpu-load"][1] |= {"sys": 95.0, "idle": 0.0}
    found = parse(sample, output_of(sample, mpstat_json=json.dumps(document)))
    assert found["iops"].flags == ("host-limited",)
    assert found["cpu_sys"].flags == ()


@pytest.mark.parametrize("text", ["", "{", "not json"])
def test_without_mpstat_only_the_cpu_figures_are_missing(text: str) -> None:
    sample = depth_sample()
    whole, found = parse(sample, output_of(sample)), parse(sample, output_of(sample, mpstat_json=text))
    assert set(whole) - set(found) == {f"cpu_{kind}" for kind in ("usr", "sys", "iowait", "irq", "soft")}


def test_without_the_rate_log_only_the_spread_is_missing() -> None:
    sample = depth_sample()
    found = parse(sample, output_of(sample, point_iops_log=""))
    assert found["iops"].stats is None
    assert found["iops"].value > 0


def test_too_few_requests_leave_the_percentile_out() -> None:
    sample = load("storage_io_depth_sweep", "depth-1")
    found = parse(sample, output_of(sample))
    assert "clat_p99_99" not in found
    assert found["ios"].flags == ("not-enough-ios",)


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("No such file", _set("error", 2)),
        ("no request at all", _set("read.total_ios", 0)),
        ("1 of 2 jobs", lambda document: document["jobs"].pop()),
    ],
)
def test_success_without_work_is_refused(text: str, change: Change) -> None:
    sample = depth_sample()
    with pytest.raises(ValueError, match=text):
        parse(sample, output_of(sample, fio_json=changed(sample, change)))


@pytest.mark.parametrize(
    ("status", "stderr", "message", "way_out"),
    [
        (1, "fio: looks like your file system does not support direct=1/buffered=0\n", "status 1", "direct to false"),
        (1, "fio: engine nosuch not loadable\nfio: failed to load engine\n", "nosuch", "engine to auto"),
        (1, "x\nfio: pid=3, err=28/file:x.c:1, func=write, error=No space left on device\n", "No space", "filesize"),
        (-9, "", "signal 9", ""),
        (1, "", "said nothing", ""),
        (1, "fio: odd\x1b[2Jthing\n", "odd\N{REPLACEMENT CHARACTER}[2Jthing", ""),
    ],
)
def test_failures_name_cause_and_way_out(status: int, stderr: str, message: str, way_out: str) -> None:
    sample = depth_sample()
    with pytest.raises(ValueError) as caught:
        parse(sample, output_of(sample, status, stderr=stderr, fio_json=""))
    assert message in str(caught.value)
    assert way_out in str(caught.value)


def test_no_output_and_no_file_are_refused() -> None:
    sample = depth_sample()
    with pytest.raises(ValueError, match=r"left no fio\.json"):
        parse(sample, output_of(sample, fio_json=""))
    benchmark = Registry().get("sids")
    assert benchmark is not None
    with pytest.raises(ValueError, match="not run"):
        benchmark.parse(benchmark.params_model(), [], None)  # type: ignore[arg-type]

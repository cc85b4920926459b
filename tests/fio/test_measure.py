"""Converting recorded runs to measurements: the values, and every reason to flag or refuse them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from asct.instruments.fio.measure import BY_SECTION
from asct.instruments.fio.metrics import FLAGS, METRICS
from asct.registry import Registry
from asct.sdk.facts import HostFacts
from tests.fio.samples import CASES, changed, depth_sample, load, output_of, parse, watched

Change = Callable[[dict[str, Any]], None]


def test_values_are_those_of_fio() -> None:
    sample = depth_sample()
    found = parse(sample, output_of(sample))
    jobs = json.loads(changed(sample, lambda document: None))["jobs"]
    longest_s = max(job["read"]["runtime"] for job in jobs) / 1000.0
    assert found["iops"].value == pytest.approx(sum(job["read"]["total_ios"] for job in jobs) / longest_s)
    assert found["bandwidth"].value == pytest.approx(found["iops"].value * 4096)
    assert found["clat_min"].value == pytest.approx(min(job["read"]["clat_ns"]["min"] for job in jobs) * 1e-9)
    assert found["clat_max"].value == pytest.approx(max(job["read"]["clat_ns"]["max"] for job in jobs) * 1e-9)
    assert found["lat_mean"].value == pytest.approx(found["slat_mean"].value + found["clat_mean"].value, rel=0.01)
    assert found["latency"].value == found["clat_mean"].value == found["read_latency"].value
    assert found["read_iops"].value == found["iops"].value
    assert "write_iops" not in found
    values = [found[f"clat_{name}"].value for name in ("min", "p50", "p90", "p95", "p99", "max")]
    assert values == sorted(values)


def test_a_job_file_says_what_its_sections_have_in_common() -> None:
    sample = depth_sample()
    common = "[global]\nrw=randread\nnumjobs=1\niodepth=32\n"
    sample["settings"] |= {"job_file": f"{common}[a]\nbs=4k\n[b]\nbs=16k\n"}
    said = parse(sample, output_of(sample), "storage-fio")["queue_depth"].coords
    assert said == {
        "rw": "randread", "rwmixread": 70, "block_size": BY_SECTION, "iodepth": 32, "numjobs": 2, "engine": "io_uring",
    }  # fmt: skip


def test_rates_and_latencies_have_an_interval_from_the_seconds_of_the_run() -> None:
    sample = depth_sample()
    found = parse(sample, output_of(sample))
    rates, latency = found["iops"].stats, found["latency"].stats
    assert rates is not None
    assert latency is not None
    assert rates.n >= 6
    assert rates.ci95 is not None
    assert rates.ci95[0] <= found["iops"].value <= rates.ci95[1]
    assert latency.ci95 is not None
    assert latency.ci95[0] <= found["latency"].value <= latency.ci95[1]
    tail = found["clat_p99"].stats
    assert tail is not None and tail.ci95 is not None
    assert tail.ci95[0] <= found["clat_p99"].value <= tail.ci95[1]
    submission = found["slat_mean"].stats
    assert submission is not None and submission.ci95 is None
    assert latency.n == found["ios"].value


def test_every_metric_is_declared_once_and_every_flag_explained() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    for package, case in CASES:
        sample = load(package, case)
        for one in parse(sample, output_of(sample), package.replace("_", "-")).values():
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
    """Set the value at `path` (separated by dots) in every job."""

    def change(document: dict[str, Any]) -> None:
        for job in document["jobs"]:
            *parents, last = path.split(".")
            place = job
            for name in parents:
                place = place[name]
            place[last] = value

    return change


@pytest.mark.parametrize(
    ("flag", "change"),
    [
        ("littles-law", _set("read.lat_ns.mean", 1e6)),
        ("depth-not-reached", _set("iodepth_level", {"1": 80.0, "32": 20.0})),
        ("short-runtime", _set("job_runtime", 3700)),
        ("short-ios", _set("read.short_ios", 1)),
        ("not-from-device", _set("read.io_bytes", 2**30)),
    ],
)
def test_doubts_become_flags(flag: str, change: Change) -> None:
    sample = depth_sample()
    found = parse(sample, output_of(sample, fio_json=changed(sample, change)))
    assert found["iops"].flags[:2] == ("invalid", flag)
    assert found["clat_p99"].flags == found["iops"].flags


@pytest.mark.parametrize(("requests", "flagged"), [(640, True), (639, False)])
def test_a_shallow_queue_is_told_from_20_requests_per_place_on(requests: int, flagged: bool) -> None:
    """The first requests find the queue empty. At a depth of 32, fewer than 640 requests per job prove nothing."""
    sample = depth_sample()

    def few(document: dict[str, Any]) -> None:
        for job in document["jobs"]:
            job["iodepth_level"] = {"1": 80.0, "32": 20.0}
            job["read"]["total_ios"] = requests

    found = parse(sample, output_of(sample, fio_json=changed(sample, few)))
    assert ("depth-not-reached" in found["iops"].flags) == flagged


@pytest.mark.parametrize("shallow", [0, 1])
def test_every_section_of_a_job_file_is_compared_with_its_own_depth(shallow: int) -> None:
    sample = depth_sample()
    common = "[global]\nrw=randread\nbs=4k\nnumjobs=1\n"
    sample["settings"] |= {"job_file": f"{common}[a]\niodepth=32\n[b]\niodepth=32\n"}

    def one(document: dict[str, Any]) -> None:
        document["jobs"][shallow]["iodepth_level"] = {"1": 80.0, "32": 20.0}

    found = parse(sample, output_of(sample, fio_json=changed(sample, one)), "storage-fio")
    assert "depth-not-reached" in found["iops"].flags
    whole = parse(sample, output_of(sample), "storage-fio")
    assert "depth-not-reached" not in whole["iops"].flags


@pytest.mark.parametrize(("after", "flagged"), [(0.5, True), (1, False), (2, False)])
def test_a_target_that_became_smaller_is_told(after: float, flagged: bool) -> None:
    sample = depth_sample()

    def resized(line: dict[str, Any]) -> dict[str, Any]:
        late = line["t"] == "device" and line.get("when") == "after"
        return line | {"bytes": int(line["bytes"] * after)} if late else line

    flags = parse(sample, output_of(sample, stdout=watched(sample, resized)))["iops"].flags
    assert ("target-shrank" in flags, "invalid" in flags) == (flagged, flagged)


def test_without_a_drive_nothing_is_said_of_it() -> None:
    sample = depth_sample()
    blind = watched(sample, lambda line: line | {"devices": [None]} if line["t"] == "sample" else line)
    found = parse(sample, output_of(sample, stdout=blind))
    assert found["iops"].flags == ("coverage-no-drive",)
    assert "coverage" not in found


def test_more_than_fio_did_is_of_others() -> None:
    sample = depth_sample()
    found = parse(sample, output_of(sample, fio_json=changed(sample, _set("read.io_bytes", 2**19))))
    assert found["iops"].flags == ("coverage-foreign",)


def test_a_clock_of_the_day_that_was_set_is_not_believed() -> None:
    """The window is then derived from the clock that cannot be set, and mpstat's rows cannot be assigned to it."""
    sample = depth_sample()
    lines = sample["outputs"][0]["files"]["stdout"].count('"sample"')
    jump = iter([0] * (lines // 2) + [3_600_000_000_000] * lines)

    def jumped(line: dict[str, Any]) -> dict[str, Any]:
        return line | {"real_ns": line["real_ns"] + next(jump)} if line["t"] == "sample" else line

    whole, found = parse(sample, output_of(sample)), parse(sample, output_of(sample, stdout=watched(sample, jumped)))
    assert found["iops"].value == whole["iops"].value
    assert found["iops"].flags == ()
    assert found["cpu_time_per_io"].value == pytest.approx(whole["cpu_time_per_io"].value, rel=0.2)
    assert not any(name.startswith(("cpu_usr", "used_cpu")) for name in found)


@pytest.mark.parametrize(
    ("change", "what"),
    [(_set("job_runtime", 60_000), "a run time of 60"), (_set("read.lat_ns.max", 1e13), "a latency of 10000")],
)
def test_times_that_cannot_be_are_refused(change: Change, what: str) -> None:
    sample = depth_sample()
    with pytest.raises(ValueError, match=f"{what}.*unreliable"):
        parse(sample, output_of(sample, fio_json=changed(sample, change)))


def test_a_drive_that_slowed_down_to_cool_is_flagged() -> None:
    sample = depth_sample()

    def hot(line: dict[str, Any]) -> dict[str, Any]:
        log = bytearray(512)
        log[216] = 3 if line.get("when") == "after" else 2
        return line | {"nvme_smart": log.hex()} if line["t"] == "device" else line

    assert parse(sample, output_of(sample, stdout=watched(sample, hot)))["iops"].flags == ("throttled",)


@pytest.mark.parametrize("why", ["interval", "volume"])
def test_a_run_that_guard_ended_is_not_short(why: str) -> None:
    sample = depth_sample()
    ended = watched(sample, lambda line: line | {"status": 128, "stopped": why} if line["t"] == "exit" else line)
    short = changed(sample, _set("job_runtime", 3700))
    assert "short-runtime" not in parse(sample, output_of(sample, stdout=ended, fio_json=short))["iops"].flags
    with pytest.raises(ValueError, match="status 128"):
        parse(sample, output_of(sample, 128))


def test_littles_law_tells_a_sync_engine_behind_a_depth() -> None:
    """3046 requests per second at 1311.5 us mean that 4 requests are in flight, whatever depth was requested (a
    published depth sweep)."""
    sample = depth_sample()

    def capped(document: dict[str, Any]) -> None:
        for job in document["jobs"]:
            job["read"] |= {"total_ios": 6092, "runtime": 4000}
            job["read"]["lat_ns"] |= {"mean": 1311500.0, "stddev": 1e5}

    found = parse(sample, output_of(sample, fio_json=changed(sample, capped)))
    assert "littles-law" in found["latency"].flags
    assert found["in_flight"].value == pytest.approx(4.0, rel=0.01)
    assert found["queue_depth"].value == 64


@pytest.mark.parametrize(
    ("in_flight", "cpu", "fits"), [(60.4, 5.0, False), (60.4, 90.0, True), (66.0, 5.0, True), (68.0, 90.0, False)]
)
def test_a_job_is_a_request_short_while_its_cpu_makes_one(in_flight: float, cpu: float, fits: bool) -> None:
    """If 2 jobs request 64, the tolerances permit 2.8 requests too few or too many, and 1.8 more may be missing if both
    jobs are busy."""
    sample = depth_sample()

    def fast(document: dict[str, Any]) -> None:
        for job in document["jobs"]:
            job |= {"usr_cpu": cpu / 3.0, "sys_cpu": cpu * 2.0 / 3.0}
            mean = in_flight / 2 / job["read"]["total_ios"] * job["read"]["runtime"] * 1e6
            job["read"]["lat_ns"] |= {"mean": mean, "stddev": 0.0}

    found = parse(sample, output_of(sample, fio_json=changed(sample, fast)))
    assert found["in_flight"].value == pytest.approx(in_flight)
    assert ("littles-law" not in found["latency"].flags) == fits


def test_tmpfs_and_a_lost_depth_are_flagged() -> None:
    sample = load("storage_fio", "psync-fallback")
    sample["facts"]["work_filesystem"] = "tmpfs"
    found = parse(sample, output_of(sample), "storage-fio")
    assert {"invalid", "depth-not-honoured", "memory-filesystem"} <= set(found["iops"].flags)
    assert found["queue_depth"].coords["engine"] == "psync"
    assert found["queue_depth"].value == 2  # two jobs, one request each
    assert not any(name.startswith("slat") for name in found)


def with_cpus(sample: dict[str, Any], first: tuple[float, float], second: tuple[float, float]) -> str:
    """Return the output of mpstat with these percentages (usr, sys) for both CPUs."""
    document = json.loads(sample["outputs"][0]["files"]["mpstat.json"])
    for row in document["sysstat"]["hosts"][0]["statistics"]:
        for cpu, (usr, system) in zip(row["cpu-load"][1:], (first, second), strict=True):
            cpu |= {"usr": usr, "sys": system, "iowait": 0.0, "soft": 0.0, "idle": 100.0 - usr - system}
    return json.dumps(document)


@pytest.mark.parametrize(
    ("first", "second", "own", "flags"),
    [
        ((5.0, 90.0), (5.0, 20.0), (5.0, 20.0), ("host-limited",)),  # the kernel
        ((90.0, 5.0), (80.0, 5.0), (5.0, 20.0), ("foreign-cpu",)),  # others, 1.6 CPUs
        ((30.0, 30.0), (30.0, 30.0), (30.0, 65.0), ("host-limited",)),  # the jobs themselves
        ((90.0, 5.0), (80.0, 5.0), (30.0, 65.0), ("host-limited", "foreign-cpu")),
        ((40.0, 45.0), (5.0, 5.0), (5.0, 20.0), ()),
    ],
)
def test_a_busy_cpu_is_flagged_by_who_used_it(
    first: tuple[float, float], second: tuple[float, float], own: tuple[float, float], flags: tuple[str, ...]
) -> None:
    sample = depth_sample()

    def used(document: dict[str, Any]) -> None:
        for job in document["jobs"]:
            job |= {"usr_cpu": own[0], "sys_cpu": own[1]}

    found = parse(
        sample, output_of(sample, mpstat_json=with_cpus(sample, first, second), fio_json=changed(sample, used))
    )
    assert found["iops"].flags == flags
    assert found["cpu_sys"].flags == ()


def test_jobs_that_share_the_one_cpu_of_an_affinity_mask_are_limited_by_it_earlier() -> None:
    sample = depth_sample()
    mpstat = with_cpus(sample, (20.0, 65.0), (1.0, 1.0))
    assert parse(sample, output_of(sample, mpstat_json=mpstat))["iops"].flags == ()
    sample["facts"]["cpu"]["allowed"] = [0]
    assert parse(sample, output_of(sample, mpstat_json=mpstat))["iops"].flags == ("host-limited",)


@pytest.mark.parametrize(
    ("first", "second", "flags"),
    [
        ((5.0, 90.0), (95.0, 2.0), ("host-limited",)),  # the kernel, with another program on the other CPU
        ((90.0, 5.0), (5.0, 5.0), ("foreign-cpu",)),
    ],
)
def test_a_program_on_other_cpus_does_not_explain_a_busy_cpu_of_the_jobs(
    first: tuple[float, float], second: tuple[float, float], flags: tuple[str, ...]
) -> None:
    sample = depth_sample()
    sample["facts"]["cpu"]["allowed"] = [0]

    def used(document: dict[str, Any]) -> None:
        for job in document["jobs"]:
            job |= {"usr_cpu": 2.0, "sys_cpu": 20.0}

    mpstat = with_cpus(sample, first, second)
    found = parse(sample, output_of(sample, mpstat_json=mpstat, fio_json=changed(sample, used)))
    assert found["iops"].flags == flags


def test_a_run_of_50_ms_is_flagged() -> None:
    sample = depth_sample()
    sample["settings"]["duration"] = 0.05

    def shortened(document: dict[str, Any]) -> None:
        for job in document["jobs"]:
            job["job_runtime"] = job["read"]["runtime"] = 50

    flags = parse(sample, output_of(sample, fio_json=changed(sample, shortened)))["iops"].flags
    assert {"noisy", "brief-run"} <= set(flags)


@pytest.mark.parametrize("text", ["", "{", "not json"])
def test_without_mpstat_only_the_cpu_figures_are_missing(text: str) -> None:
    sample = depth_sample()
    whole, found = parse(sample, output_of(sample)), parse(sample, output_of(sample, mpstat_json=text))
    kinds = ("usr", "sys", "iowait", "irq", "soft")
    assert set(whole) - set(found) == {f"{which}_{kind}" for which in ("cpu", "used_cpu") for kind in kinds}


def test_without_reports_in_between_only_the_spread_is_missing() -> None:
    sample = depth_sample()
    found = parse(sample, output_of(sample, fio_json=changed(sample, lambda document: None)))
    assert found["iops"].stats is None
    assert found["iops"].value > 0


def test_a_latency_without_the_seconds_of_the_run_has_no_interval() -> None:
    """The number of requests alone does not show how much another run would differ."""
    sample = depth_sample()
    found = parse(sample, output_of(sample, fio_json=changed(sample, lambda document: None)))
    for name in ("latency", "clat_mean", "lat_mean", "clat_p50", "clat_p99", "lat_p99"):
        stats = found[name].stats
        assert stats is not None and stats.ci95 is None


def test_seconds_are_details_that_add_up() -> None:
    sample = depth_sample()
    benchmark = Registry().get("sids")
    assert benchmark is not None
    params = benchmark.params_model(**sample["settings"])
    found = [one for one in benchmark.parse(params, [output_of(sample)], HostFacts(**sample["facts"])) if one.detail]
    starts = [one.coords["second"] for one in found if one.metric == "second_iops"]
    assert starts == sorted(starts)
    assert len(starts) >= 10
    for start in starts:
        shares = [one for one in found if one.metric == "second_share" and one.coords["second"] == start]
        assert sum(one.value for one in shares) == pytest.approx(100.0)


def test_too_few_requests_leave_the_percentile_out() -> None:
    sample = load("storage_io_depth_sweep", "depth-1")
    found = parse(sample, output_of(sample))
    assert "clat_p99_99" not in found
    assert found["ios"].flags == ("not-enough-ios",)


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("No such file", _set("error", 2)),
        (
            "issued no requests",
            _set("read", json.loads(changed(depth_sample(), lambda document: None))["jobs"][0]["write"]),
        ),
        ("1 of 2 fio jobs", lambda document: document["jobs"].pop()),
    ],
)
def test_success_without_work_is_refused(text: str, change: Change) -> None:
    sample = depth_sample()
    with pytest.raises(ValueError, match=text):
        parse(sample, output_of(sample, fio_json=changed(sample, change)))


@pytest.mark.parametrize(
    ("status", "stderr", "message", "way_out"),
    [
        (1, "fio: looks like your file system does not support direct=1/buffered=0\n", "status 1", "`direct` to false"),
        (1, "fio: engine nosuch not loadable\nfio: failed to load engine\n", "nosuch", "`engine` to auto"),
        (1, "x\nfio: pid=3, err=28/file:x.c:1, func=write, error=No space left on device\n", "No space", "filesize"),
        (-9, "", "signal 9", ""),
        (1, "", "without a message", ""),
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
    with pytest.raises(ValueError, match=r"wrote no fio\.json"):
        parse(sample, output_of(sample, fio_json=""))
    benchmark = Registry().get("sids")
    assert benchmark is not None
    with pytest.raises(ValueError, match="not run"):
        benchmark.parse(benchmark.params_model(), [], None)  # type: ignore[arg-type]

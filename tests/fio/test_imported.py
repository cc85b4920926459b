"""Results of fio that asct did not measure: what is read from them, and what is refused."""

from __future__ import annotations

import json
import math
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from asct.instruments.fio.document import parts_of
from asct.instruments.fio.imported import FioResult, FormatError, results_in

RECORDED = Path(__file__).parents[2] / "asct" / "benchmarks" / "storage_fio" / "testdata"
UNMEASURED = ("cpu_", "used_cpu_", "host_cpu_", "iops_per_core", "coverage", "device_", "target_", "queue_depth")
"""Values that come from mpstat, guard or the settings instead of fio's output."""


def recorded(case: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the fio.json of a recorded measurement, and the measured values."""
    found = json.loads((RECORDED / f"{case}.json").read_text())
    return found["outputs"][-1]["files"]["fio.json"], found["measurements"]


def document(case: str = "randrw") -> dict[str, Any]:
    """Return the last JSON document of a recorded measurement."""
    parts, _ = parts_of(recorded(case)[0])
    found: dict[str, Any] = parts[-1].content
    return found


def value(result: FioResult, metric: str, **at: object) -> float:
    [found] = [one.value for one in result.measurements if one.metric == metric and one.coords == at]
    return found


@pytest.mark.parametrize("case", ["randrw", "psync-fallback"])
def test_values_are_those_of_the_benchmark(case: str) -> None:
    text, expected = recorded(case)
    [result] = results_in(text)
    assert not result.problem
    found = {(one.metric, repr(sorted(one.coords.items()))): one for one in result.measurements}
    common = [one for one in expected if not one["metric"].startswith(UNMEASURED)]
    common = [one for one in common if one["metric"] not in ("cpu_time_per_io", "iops_per_core")]
    assert len(common) > 50
    for one in common:
        same = found[one["metric"], repr(sorted(one.get("coords", {}).items()))]
        assert same.value == pytest.approx(one["value"], rel=1e-12), one["metric"]
        assert "imported" in same.flags or same.detail or one["metric"].endswith("ios")
    assert not {name for name, _ in found if name.startswith(UNMEASURED[:-1])}, "nothing is invented"


def test_percentiles_without_histogram_are_those_of_fio() -> None:
    body = document("psync-fallback")
    body["jobs"] = body["jobs"][:1]
    [job] = body["jobs"]
    for part in (job[side][kind] for side in ("read", "write", "trim") for kind in ("slat_ns", "clat_ns", "lat_ns")):
        part.pop("bins", None)
    side = next(name for name in ("read", "write") if job[name]["total_ios"])
    job[side]["clat_ns"] |= {"N": 5000, "percentile": {"50.000000": 1000, "99.000000": 3000, "99.990000": 9000}}
    [result] = results_in(json.dumps(body, indent=1))
    assert value(result, "clat_p50") == pytest.approx(1e-6)
    assert value(result, "clat_p99") == pytest.approx(3e-6)
    found = {one.metric: one for one in result.measurements}
    assert "clat_p99_99" not in found, "fewer than 10 requests are above it"
    assert "clat_p90" not in found, "fio did not report it"
    assert found["clat_p99"].stats is None
    assert "no-progress" in found["iops"].flags
    two = {**body, "jobs": [job, job]}
    [result] = results_in(json.dumps(two, indent=1))
    assert "clat_p99" not in {one.metric for one in result.measurements}, "percentiles of jobs cannot be combined"


def test_a_queue_that_was_not_held_is_invalid() -> None:
    body = document()
    for job in body["jobs"]:
        job["job options"] = {**job.get("job options", {}), "ioengine": "libaio", "iodepth": "64", "numjobs": "1"}
    [result] = results_in(json.dumps(body, indent=1))
    flags = {flag for one in result.measurements if one.metric == "iops" for flag in one.flags}
    assert {"invalid", "littles-law"} <= flags
    for job in body["jobs"]:
        job["job options"]["rate_iops"] = "100"
    [result] = results_in(json.dumps(body, indent=1))
    flags = {flag for one in result.measurements if one.metric == "iops" for flag in one.flags}
    assert "little-unchecked" in flags
    assert "invalid" not in flags


def test_a_failed_job_has_no_values() -> None:
    body = document()
    body["jobs"][0]["error"] = 5
    [result] = results_in(json.dumps(body, indent=1))
    assert "Input/output error (error 5)" in result.problem
    assert result.measurements == ()


def changed(**changes: Any) -> str:
    return json.dumps({**document(), **changes}, indent=1)


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("", "the file is empty", (0, 0)),
        ("fio: something went wrong\n", "no JSON document", (0, 0)),
        ("3;fio-3.33;job;0;0;1;2\n", "terse output", (0, 0)),
        ("job: (g=0): rw=read, bs=4k\nfio-3.33\n", "normal output", (0, 0)),
        ('note\n{"a": 1}\n', "not a fio result", (2, 1)),
        ("[1, 2]\n", "no JSON document", (0, 0)),
        (changed(**{"fio version": "fio-2.19"}), "microseconds", (1, 1)),
        (changed(**{"fio version": "fio-4.0"}), "fio version `fio-4.0` is unknown", (1, 1)),
        (changed(**{"fio version": 7}), "fio version `7` is unknown", (1, 1)),
        (changed(jobs=[]), "no jobs", (1, 1)),
        (changed(jobs=[{}]), "not complete fio 3 output", (0, 0)),
        (changed(jobs=7), "no jobs", (1, 1)),
        ('{\n "a": 1;\n}\n', "damaged: Expecting ',' delimiter", (2, 8)),
        ('{\n "a": [1,', "document is truncated", (2, 10)),
    ],
)
def test_anything_else_is_refused_with_its_place(text: str, message: str, place: tuple[int, int]) -> None:
    with pytest.raises(FormatError, match=re.escape(message)) as caught:
        results_in(text)
    assert (caught.value.line, caught.value.column) == place
    assert caught.value.hint


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_result_is_refused_wherever_it_ends(cut: float) -> None:
    text = changed()
    with pytest.raises(FormatError, match="document is truncated") as caught:
        results_in(text[: int(len(text) * cut)])
    assert caught.value.line > 1


def places(body: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all values in a JSON document."""
    for key, inner in body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ():
        yield (*above, key)
        yield from places(inner, (*above, key))


ODD = (None, -1, 0, 10**30, 1e308, -0.5, True, "", "x", [], {})


@pytest.mark.parametrize("seed", range(10))
def test_any_damage_of_a_value_is_refused_or_read(seed: int) -> None:
    """Parsing raises no other exception and never returns an impossible value."""
    choose = random.Random(seed)
    whole = document()
    every = [place for place in places(whole) if "bins" not in place[:-1]]
    for place in choose.sample(every, 25):
        body = json.loads(json.dumps(whole))
        inner = body
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = choose.choice(ODD)
        try:
            found = results_in(json.dumps(body, indent=1))
        except FormatError as error:
            assert error.hint
            continue
        for result in found:
            assert all(math.isfinite(one.value) for one in result.measurements), place
            assert result.ended_s - result.seconds >= 0


def test_an_impossible_latency_has_no_values() -> None:
    body = document()
    side = next(name for name in ("read", "write") if body["jobs"][0][name]["total_ios"])
    body["jobs"][0][side]["lat_ns"]["max"] = 10**13
    [result] = results_in(json.dumps(body, indent=1))
    assert "a latency of 10000.000 s" in result.problem


# ---- the real fio ----

JOBS = """\
[global]
filename=data
size=1m
ioengine=psync
runtime=700ms
time_based
numjobs=3
rate_iops=100
[readers]
rw=randread
[writers]
stonewall
rw=randwrite
bs=8k
"""


def ran(folder: Path, name: str, *options: str, jobs: str = JOBS) -> Path:
    (folder / "job.fio").write_text(jobs)
    path = folder / name
    subprocess.run(["fio", f"--output={path}", *options, "job.fio"], cwd=folder, check=True, capture_output=True)
    return path


@pytest.mark.fio
@pytest.mark.parametrize("form", ["json", "json+"])
def test_groups_of_processes_give_the_same_point(tmp_path: Path, form: str) -> None:
    texts = [
        ran(tmp_path, f"{group}.json", f"--output-format={form}", f"--group_reporting={group}").read_text()
        for group in (0, 1)
    ]
    alone, together = map(results_in, texts)
    assert [len(alone), len(together)] == [1, 1]
    assert alone[0].identity == together[0].identity
    for text, [result] in zip(texts, (alone, together), strict=True):
        assert {one.coords["stage"] for one in result.measurements} == {"readers", "writers"}
        jobs = json.loads(text)["jobs"]
        readers, writers = (
            [job[side] for job in jobs if job["jobname"] == name]
            for name, side in (("readers", "read"), ("writers", "write"))
        )
        assert value(result, "iops", stage="readers") == pytest.approx(sum(one["iops"] for one in readers), rel=0.1)
        written = sum(one["bw_bytes"] for one in writers)
        assert value(result, "write_bandwidth", stage="writers") == pytest.approx(written, rel=0.1)
        milliseconds = sum(max(one["runtime"] for one in side) for side in (readers, writers))
        assert result.seconds == pytest.approx(milliseconds / 1e3, rel=0.1), "times of the processes are not added"
        [depth] = [
            one for one in result.measurements if one.metric == "queue_depth" and one.coords["stage"] == "writers"
        ]
        assert (depth.value, depth.coords["numjobs"], depth.coords["block_size"]) == (3, 3, 8192)
        assert "host-limited" not in {flag for one in result.measurements for flag in one.flags}


@pytest.mark.fio
@pytest.mark.parametrize("ramp", ["0", "300ms"])
def test_reports_of_one_run_are_not_runs(tmp_path: Path, ramp: str) -> None:
    options = "--output-format=json+", "--status-interval=250ms", f"--ramp_time={ramp}"
    text = ran(tmp_path, "a.json", *options).read_text()
    assert text.count('"fio version"') > 2
    [result] = results_in(text)
    seconds = [one for one in result.measurements if one.metric == "second_iops"]
    assert {one.coords["stage"] for one in seconds} == {"readers", "writers"}
    assert all(0 <= float(one.coords["second"]) < 0.8 for one in seconds)
    assert "no-progress" not in {flag for one in result.measurements for flag in one.flags}


@pytest.mark.fio
def test_runs_appended_to_one_file_stay_apart(tmp_path: Path) -> None:
    short = JOBS.replace("700ms", "1100ms")
    first, second = (ran(tmp_path, name, "--output-format=json", jobs=short).read_text() for name in ("a", "b"))
    third = ran(tmp_path, "c", "--output-format=json", "--status-interval=250ms", jobs=short).read_text()
    results = results_in(f"fio: a warning\n{first}a note\n{second}{third}")
    assert [one.text.strip() for one in results] == [first.strip(), second.strip(), third.strip()]
    assert len({one.identity for one in results}) == 1


@pytest.mark.fio
@pytest.mark.parametrize("option", ["--disable_lat=1", "--ramp_time=200ms", "--runtime=100ms"])
def test_runs_stay_apart_whatever_their_options(tmp_path: Path, option: str) -> None:
    text = ran(tmp_path, "a", "--output-format=json", option, jobs=JOBS.replace("700ms", "1100ms")).read_text()
    [first] = results_in(text)
    body = json.loads(text)
    body["timestamp_ms"] += 2 * 60_000
    [one, two] = results_in(text + json.dumps(body, indent=1))
    assert (one.seconds, one.ended_s + 120) == pytest.approx((first.seconds, two.ended_s))


def report(after_s: float, *done: int) -> dict[str, Any]:
    """Return a report of a run with one job per group. Each job has measured for this number of seconds."""
    body = document("psync-fallback")
    [job, *_] = body["jobs"]
    side = next(name for name in ("read", "write") if job[name]["total_ios"])
    jobs = []
    for group, seconds in enumerate(done):
        copy = json.loads(json.dumps(job)) | {"groupid": group, "job_runtime": seconds * 1000}
        copy[side] |= {"runtime": seconds * 1000, "total_ios": 100 * seconds, "io_bytes": 409600 * seconds}
        for kind in ("slat_ns", "clat_ns", "lat_ns"):
            copy[side][kind] |= {"N": 100 * seconds, "bins": {"1000": 100 * seconds}}
        jobs.append(copy)
    return body | {"timestamp_ms": int(1e12 + after_s * 1000), "jobs": jobs}


def test_a_run_of_less_than_a_millisecond_has_values() -> None:
    """fio rounds the time of a job down, in this case to 0 ms."""
    body = report(0, 1)
    [job] = body["jobs"]
    side = next(name for name in ("read", "write") if job[name]["total_ios"])
    job["job_runtime"], job[side]["runtime"] = 0, 1
    [found] = results_in(json.dumps(body))
    assert found.seconds == 0.0
    assert {"iops", "bandwidth"} <= {value.metric for value in found.measurements}


def test_several_stages_between_two_reports_are_one_run() -> None:
    reports = [report(10, 10, 0, 0), report(40, 15, 15, 10), report(45, 15, 15, 15)]
    text = "".join(json.dumps(one, indent=1) + "\n" for one in reports)
    [result] = results_in(text)
    assert result.seconds == pytest.approx(45)
    again = "".join(json.dumps(report(one, 15, 15, 15), indent=1) + "\n" for one in (45, 95))
    assert len(results_in(again)) == 2


@pytest.mark.fio
def test_options_of_a_command_line_become_settings(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    options = ["--name=j", "--filename=data", "--size=1m", "--readwrite=randrw", "--rwmixwrite=20", "--buffered=1",
               "--blocksize=8k", "--numjobs=2", "--thread", "--group_reporting", "--write_bw_log=x"]  # fmt: skip
    subprocess.run(["fio", *options, "--output-format=json", f"--output={path}"], cwd=tmp_path, check=True)
    [result] = results_in(path.read_text())
    expected = {"rw": "randrw", "rwmixread": 80, "block_size": 8192, "iodepth": 1, "numjobs": 2, "engine": "psync",
                "direct": False, "filesize": 2**20, "file_names": "data"}  # fmt: skip
    assert {name: result.settings.get(name) for name in expected} == expected
    assert "write_bw_log" not in result.identity


@pytest.mark.fio
def test_a_group_of_several_sections_has_no_invented_settings(tmp_path: Path) -> None:
    jobs = JOBS.replace("stonewall\n", "").replace("numjobs=3", "numjobs=1\ngroup_reporting")
    [result] = results_in(ran(tmp_path, "a.json", "--output-format=json", jobs=jobs).read_text())
    assert "queue_depth" not in {one.metric for one in result.measurements}
    assert "block_size" not in result.settings
    assert "little-unchecked" in {flag for one in result.measurements for flag in one.flags}

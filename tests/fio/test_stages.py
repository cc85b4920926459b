"""Job files whose sections run one after another (`stonewall`), compared with fio itself."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from asct.benchmarks.storage_fio import BENCHMARK
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.rows import gather
from asct.instruments.fio.sections import scratch_bytes, sections_of, stages_of
from asct.sdk.benchmark import Context
from asct.sdk.facts import Cpu, HostFacts, NumaNode
from asct.sdk.guard import Consent, targets_in
from tests.fio.running import facts_here, records_of, run_points

FACTS = HostFacts(host="h", collected_at="now")
STAGED = """\
[global]
rw=randread
bs=4k   # fio cuts a line here
iodepth=1
numjobs=1
group_reporting
[slow]
rate_iops=100 ; and here
[fast]
stonewall
rate_iops=400
[beside]
rate_iops=50
numjobs=2
[last]
wait_for_previous
rw=randwrite
rate_iops=200
"""
STAGES = [["slow"], ["fast", "beside"], ["last"]]


@pytest.mark.parametrize(
    ("text", "stages"),
    [
        (STAGED, STAGES),
        ("[a]\n[b]\n", [["a", "b"]]),
        ("[a]\nstonewall\n[b]\nnew_group\n[c]\nstonewall=1\n[d]\n", [["a", "b"], ["c", "d"]]),
        ("[global]\nstonewall\n[a]\n[b]\nstonewall=0\n[c]\n", [["a", "b"], ["c"]]),
        ("[a]\n[global]\nwait_for_previous\n[b]\n[c]\n", [["a"], ["b"], ["c"]]),
    ],
)
def test_stonewall_divides_the_sections_into_stages(text: str, stages: list[list[str]]) -> None:
    assert [stage.name for stage in stages_of(FioParams(job_file=text))] == ["+".join(names) for names in stages]


@pytest.mark.fio
@pytest.mark.parametrize(
    "text", [STAGED, "[global]\nstonewall\n[a]\n[b]\nstonewall=0\n[c]\nnumjobs=2\n[d]\nnew_group=1\n"]
)
def test_stages_are_the_groups_that_fio_starts_one_after_the_other(tmp_path: Path, text: str) -> None:
    (tmp_path / "job.fio").write_text(text.replace("group_reporting\n", ""))  # it hides all but the first
    target = ["--filename=x", "--size=64k", "--ioengine=psync", "--rate_iops=0", "--output-format=json"]
    done = subprocess.run(["fio", *target, "job.fio"], cwd=tmp_path, capture_output=True, text=True, check=True)
    groups: dict[int, dict[str, None]] = {}
    for job in json.loads(done.stdout)["jobs"]:
        groups.setdefault(job["groupid"], {})[job["jobname"]] = None
    assert [stage.name for stage in stages_of(FioParams(job_file=text))] == ["+".join(one) for one in groups.values()]


def test_each_stage_has_its_process_settings_and_estimate() -> None:
    text = "[a]\nrw=randread\nruntime=10\n[b]\nstonewall\nrw=write\nruntime=2m\nramp_time=500ms\nsize=2g\noffset=1g\n"
    params = FioParams(job_file=text, io_size=None)
    assert [(one.params.duration, one.params.ramp_time) for one in stages_of(params)] == [(10.0, 0.0), (120.0, 0.5)]
    needs = BENCHMARK.needs(params, None)
    assert needs.seconds == pytest.approx(10.5 + 121.0)
    assert needs.limit_s >= 2 * needs.seconds
    assert scratch_bytes(params) == 3 * 2**30
    [(_, written)] = needs.writes_bytes
    assert written == BENCHMARK.needs(FioParams(rw="write", duration=120.0, ramp_time=0.5), None).writes_bytes[0][1]
    steps = BENCHMARK.steps(params, Context(FACTS, "/work"))
    assert [step.name for step in steps] == ["stage-1", "stage-2"]
    assert ["--readonly" in step.arguments for step in steps] == [True, False]
    assert ["runtime=10000ms" in steps[0].files["job.fio"], "runtime=120000ms" in steps[1].files["job.fio"]] == [
        True
    ] * 2
    assert [target.access for step in steps for target in targets_in(step)] == ["read", "write"]
    assert BENCHMARK.steps_known_ahead(params, FACTS)


def test_a_later_stage_may_overwrite_what_an_earlier_one_wrote() -> None:
    text = "[a]\nrw=read\n[b]\nstonewall\nrw=write\n[c]\nstonewall\nrw=randwrite\n"
    params = FioParams(job_file=text, file_names="/dev/sdx")
    context = Context(FACTS, "/work", consents={"/dev/sdx": Consent("/dev/sdx", "S1")})
    targets = [target for step in BENCHMARK.steps(params, context) for target in targets_in(step)]
    assert [(one.access, one.dirty) for one in targets] == [("read", False), ("write", False), ("write", True)]


def test_the_inspection_of_the_drive_comes_once_before_all_stages() -> None:
    nodes = [NumaNode(id=0, cpus=[0], memory_bytes=1), NumaNode(id=1, cpus=[1], memory_bytes=1)]
    facts = FACTS.model_copy(update={"nodes": nodes, "cpu": Cpu(allowed=[0, 1], online=[0, 1])})
    steps = BENCHMARK.steps(FioParams(job_file="[a]\n[b]\nstonewall\n", file_names="/x"), Context(facts, "/work"))
    assert [step.name for step in steps] == ["inspect"]


@pytest.mark.parametrize(
    ("line", "setting", "value"),
    [
        ("runtime=90", "duration", 90.0), ("timeout=2m", "duration", 120.0), ("thinktime=500", "thinktime", 5e-4),
        ("latency_target=2ms", "latency_target", 2e-3), ("buffered=1", "direct", False),
        ("rwmixwrite=30", "rwmixread", 70),
        ("sync=1", "sync", "sync"), ("size=1g", "filesize", 2**30),
    ],
)  # fmt: skip
def test_values_are_read_as_fio_reads_them(line: str, setting: str, value: Any) -> None:
    params = FioParams(job_file=f"[a]\nrw=randrw\n{line}\n")
    assert list(BENCHMARK.check(params)) == []
    [stage] = stages_of(params)

    [(_, settings)] = sections_of(stage.params)
    assert getattr(settings, setting) == value


def test_time_based_contradicts_a_volume() -> None:
    text = "[a]\ntime_based\n"
    assert list(BENCHMARK.check(FioParams(job_file=text))) == []
    [(setting, message)] = BENCHMARK.check(FioParams(job_file=text, io_size=2**20))
    assert setting == "job_file"
    assert "line 2: `time_based` contradicts `io_size`" in message


@pytest.mark.fio
@pytest.mark.kernels
def test_values_of_stages_are_not_mixed(tmp_path: Path) -> None:
    params = FioParams(job_file=STAGED, duration=2.0, filesize=16 * 2**20, direct=False, engine="psync")
    [(outputs, values)] = run_points(BENCHMARK, [params], tmp_path, facts_here())
    assert [output.step.name for output in outputs] == ["stage-1", "stage-2", "stage-3"]
    rates = {one.coords["stage"]: one.value for one in values if one.metric == "iops"}
    assert rates == pytest.approx({"slow": 100, "fast+beside": 500, "last": 200}, rel=0.3), "a busy machine is slower"
    sections = {one.coords["section"]: one.value for one in values if one.metric == "section_iops"}
    assert sections == pytest.approx({"slow": 100, "fast": 400, "beside": 100, "last": 200}, rel=0.3)
    assert rates["fast+beside"] == pytest.approx(sections["fast"] + sections["beside"], rel=0.1)
    seconds = [one for one in values if one.metric == "second_iops"]
    assert {one.coords["stage"] for one in seconds} == set(rates)
    assert max(float(one.coords["second"]) for one in seconds) < 3.0, "the time of a stage begins at 0"
    assert {one.coords["stage"] for one in values if one.metric == "write_iops"} == {"last"}
    assert not [one for one in values if "invalid" in one.flags]
    records = records_of(BENCHMARK, [({}, values)])
    rows = gather(records)
    assert [row.setting("stage") for row in rows] == list(rates)
    tables = BENCHMARK.tables(records)
    assert [row["stage"] for row in tables[0].rows] == list(rates)
    assert {"rw", "iodepth", "numjobs"} <= {column.key for column in tables[0].columns}
    assert BENCHMARK.figures(records)
    keys = [(one.metric, tuple(sorted(one.coords.items()))) for one in values]
    assert len(set(keys)) == len(keys), "each value has its own coordinates"

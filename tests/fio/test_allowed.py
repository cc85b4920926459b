"""Options and job files supplied by the user: anything that could affect more than the targets is refused."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.benchmarks.storage_fio import BENCHMARK
from asct.instruments.fio.jobfile import HARMLESS, option_problem
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.sections import sections_of
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts

DANGEROUS = [
    "exec_prerun", "exec_postrun", "filename", "directory", "opendir", "filename_format", "write_iolog", "read_iolog",
    "write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log", "verify_dump", "verify_state_load", "include",
    "ioscheduler", "cgroup", "cgroup_weight", "uid", "gid", "profile", "replay_redirect", "merge_blktrace_file",
    "unlink", "unlink_each_loop", "allow_mounted_write", "allow_file_create", "create_only", "fill_device",
    "file_append", "size", "ioengine", "trim_percentage", "trim_backlog", "gtod_reduce", "disable_clat", "output",
    "group_reporting", "unified_rw_reporting", "steadystate", "ss", "loops", "stonewall", "wait_for", "exitall",
    "continue_on_error", "verify_state_save", "buffer_pattern_file", "lockfile", "nrfiles", "client", "server",
]  # fmt: skip


@pytest.mark.parametrize("name", DANGEROUS)
def test_an_option_that_reaches_further_is_refused(name: str) -> None:
    assert name not in HARMLESS
    found = list(BENCHMARK.check(FioParams(options={name: "1"})))
    assert [setting for setting, _ in found] == ["options"]
    assert f"`{name}` " in found[0][1]


@pytest.mark.fio
def test_whatever_this_fio_has_is_a_setting_or_harmless_or_refused() -> None:
    """No option that takes the name of a file, a program or a host is permitted."""
    shown = subprocess.run(["fio", "--cmdhelp=all"], capture_output=True, text=True, check=True).stdout
    settings = FioParams.aliases()
    free = [
        name
        for name, text in re.findall(r"^ *([a-z][a-z0-9_-]*) *: (.*)$", shown, re.MULTILINE)
        if not option_problem(name, "1", settings) and re.search(r"(?i)\bfiles?\b|command|program|device|log", text)
    ]
    assert set(free) <= {
        "dedupe_working_set_percentage", "file_service_type", "fsync_on_close", "ignore_zone_limits",
        "zone_reset_frequency", "zone_reset_threshold",
    }  # fmt: skip


@pytest.mark.parametrize(
    "value",
    ["/etc/passwd", "mmap:/etc/x", "a b", "x;y", "x#y", "$(id)", "`id`", "a\nexec_prerun=id", "'f'", "", "../x"],
)
def test_values_that_may_name_a_file_or_end_a_line(value: str) -> None:
    assert option_problem("rw_sequencer", value, {})
    assert option_problem("mem", value, {})


@given(st.text(max_size=30))
def test_any_value_stays_one_line_of_the_job_file(value: str) -> None:
    params = FioParams(options={"rw_sequencer": value}, file_names="/dev/sdx")
    if list(BENCHMARK.check(params)):
        return
    [step] = BENCHMARK.steps(params, Context(HostFacts(host="h", collected_at="now"), "/work"))
    lines = step.files["job.fio"].split("\n")
    assert f"rw_sequencer={value}" in lines
    assert sum(line.startswith("[") for line in lines) == 1
    assert sum(line.startswith("filename=") for line in lines) == 1


OWN = """
; readers beside writers
[global]
bs=16k
ioengine=libaio
[readers]
rw=randread
iodepth=8
numjobs=2

# one after the other
[writer]
rw=write
bs=1m
iodepth=2
numjobs=1
fsync=32
serialize_overlap
"""


def test_a_job_file_is_read_as_settings() -> None:
    sections = dict(sections_of(FioParams(job_file=OWN, duration=5.0, rwmixread=40, file_names="/x")))
    assert list(sections) == ["readers", "writer"]
    reader, writer = sections.values()
    assert (reader.rw, reader.block_size, reader.iodepth, reader.numjobs) == ("randread", 16384, 8, 2)
    assert (writer.rw, writer.block_size, writer.engine, writer.fsync) == ("write", 2**20, "libaio", 32)
    assert writer.options == {"serialize_overlap": "1"}
    assert {one.duration for one in sections.values()} == {5.0}
    assert (reader.writes, writer.writes) == (False, True)


def test_a_job_file_becomes_the_one_that_fio_reads(tmp_path: Path) -> None:
    params = FioParams(job_file=OWN, file_names="/dev/sdx", duration=5.0)
    assert list(BENCHMARK.check(params)) == []
    [step] = BENCHMARK.steps(params, Context(HostFacts(host="h", collected_at="now"), "/work"))
    text = step.files["job.fio"]
    assert text.count("filename=/proc/self/fd/100\n") == 2
    assert re.findall(r"^\[(.*)\]$", text, re.MULTILINE) == ["readers", "writer"]
    assert "--readonly" not in step.arguments
    assert step.files["targets"].startswith("write\t")
    (tmp_path / "job.fio").write_text(text)
    subprocess.run(["fio", "--parse-only", "job.fio"], cwd=tmp_path, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rw=read", "line 1: `rw=read` is not in a section"),
        ("[a\nrw=read", "line 1"),
        ("[a]\n[b c]", "line 2"),
        ("[global]\nrw=read", "1 to 64 sections"),
        ("[a]\n[a]", "line 2: duplicate section [a]; section names must be unique"),
        (
            "[a]\nrw=read\n[b]\nwait_for=a",
            "line 4: `wait_for` is not a permitted option: asct starts the sections of a",
        ),
        ("[a]\nrw=read\n[b]\nruntime=5", "line 3: [b] runs at the same time as [a], but has a different `runtime`"),
        ("[a]\nrandrepeat=0", "asct sets it itself"),
        ("[a]\nwrite_bw_log=x", "asct records the progress of each run itself"),
        ("[a]\ndirectory=/x", "set `file_names` next to `job_file`"),
        ("[a]\nname=x", "change this text"),
        ("[a]\ngtod_reduce=1", "it disables time measurements"),
        ("[a]\niodpeth=4", "asct does not know it"),
        ("[a]\nexec_prerun=rm -rf /", "`exec_prerun` is not a permitted option"),
        ("[a]\ninclude other.fio", "not a permitted option"),
        ("[a]\nfilename=/dev/sda", "`file_names`, which applies to all sections"),
        ("[a]\nio_size=1g", "`io_size`, which applies to all sections"),
        (
            "[a]\nioengine=external:/tmp/x.so",
            "line 2: `ioengine`: `external:/tmp/x.so` is not a valid value; write one of `auto`",
        ),
        ("[a]\nioengine=exec", "line 2: `ioengine`: `exec` is not a valid value"),
        ("[a]\nbs=many", "line 2: `bs`: `many` is not a size"),
        ("[a]\njob_file=x", "`job_file`, which applies to all sections"),
        ("[a]\nmem=mmap:/etc/x", "could be a file name"),
        ("[a]\nbuffer_pattern='/etc/shadow'", "line 2: `buffer_pattern`: "),
        ("[global]\nexec_postrun=id\n[a]\nrw=read", "`exec_postrun`"),
    ],
)
def test_a_job_file_that_reaches_further_is_refused(text: str, message: str) -> None:
    found = list(BENCHMARK.check(FioParams(job_file=text)))
    assert [setting for setting, _ in found] == ["job_file"]
    assert message in found[0][1]


def test_all_errors_of_a_job_file_are_reported_at_their_lines() -> None:
    text = "rw=read\n[global]\nexec_prerun=id\n[a]\niodepth=many\nbs=0\n[b c]\n[b]\nseed=5\n[a]\nfoo=1\n"
    found = list(BENCHMARK.check(FioParams(job_file=text)))
    assert {setting for setting, _ in found} == {"job_file"}
    starts = [message.partition(":")[0] for _, message in found]
    assert sorted(starts) == [f"line {number}" for number in sorted((1, 3, 5, 6, 7, 9, 10, 11), key=str)]
    assert sum("exec_prerun" in message for _, message in found) == 1, "an option of [global] is reported once"


def test_contradictions_in_a_job_file_are_reported_at_their_lines() -> None:
    text = "[global]\nbs=1000\n[a]\nioengine=psync\niodepth=16\n[b]\nrw=read\nnumber_ios=5\nnumjobs=2\nsize=1k\n"
    found = list(BENCHMARK.check(FioParams(job_file=text)))
    assert {setting for setting, _ in found} == {"job_file"}
    starts = ["line 2: `bs`: ", "line 4: `ioengine`: psync", "line 8: `number_ios` has", "line 10: `size`: "]
    messages = sorted((message for _, message in found), key=lambda one: int(one.split(":")[0].removeprefix("line ")))
    assert [message[: len(start)] for message, start in zip(messages, starts, strict=True)] == starts


def test_a_contradiction_that_the_job_file_inherits_is_reported_at_the_setting() -> None:
    [(setting, message)] = BENCHMARK.check(FioParams(job_file="[a]\niodepth=16\n[b]\niodepth=16\n", engine="psync"))
    assert setting == "engine"
    assert message.startswith("psync keeps only one request in flight")


@pytest.mark.parametrize("more", [{"options": {"number_ios": 10}}, {"job_file": "[a]\nrw=read\nnumber_ios=10\n"}])
def test_number_of_requests_is_refused_if_fio_would_ignore_it(more: dict[str, Any]) -> None:
    [(setting, message)] = BENCHMARK.check(FioParams(**more))
    assert setting in more
    assert "`number_ios` has no effect" in message
    assert list(BENCHMARK.check(FioParams(**more, io_size=2**20))) == []


@given(st.text(max_size=200))
def test_any_text_is_a_job_file_or_refused(text: str) -> None:
    for setting, message in BENCHMARK.check(FioParams(job_file=text, file_names="/dev/sdx")):
        assert setting
        assert message

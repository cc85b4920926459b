"""Settings that are passed to fio unchanged: each appears in the job file, and fio accepts it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from asct.facts.software import options as listed
from asct.instruments.fio.jobfile import ENGINE_OPTIONS, HARMLESS, job_file
from asct.instruments.fio.params import FioParams, option_of
from asct.instruments.fio.process import section_options
from asct.instruments.fio.sections import node_matters, used_cpus
from asct.sdk.facts import Cpu, HostFacts, NumaNode, ToolFact

GIVEN: dict[str, tuple[Any, str]] = {
    "iodepth_batch_complete_min": (2, "2"), "iodepth_batch_complete_max": (8, "8"), "iodepth_low": (4, "4"),
    "io_submit_mode": ("offload", "offload"), "thread": (True, "1"), "hipri": (False, "0"), "fixedbufs": (True, "1"),
    "registerfiles": (True, "1"), "sqthread_poll": (True, "1"), "nonvectored": (True, "1"), "rate": ("1MiB", "1048576"),
    "rate_iops": (1234567, "1234567"), "rate_process": ("poisson", "poisson"), "thinktime": ("2ms", "2000us"),
    "thinktime_spin": ("50us", "50us"), "thinktime_blocks": (3, "3"), "latency_target": ("1ms", "1000us"),
    "latency_window": ("5s", "5000000us"), "latency_percentile": (99.5, "99.5"), "offset": ("1MiB", "1048576"),
    "random_distribution": ("zoned:50/5:30/15:20/80", "zoned:50/5:30/15:20/80"), "percentage_random": (70, "70"),
    "norandommap": (False, "0"), "random_generator": ("lfsr", "lfsr"), "bssplit": ("4k/60:64k/40", "4k/60:64k/40"),
    "blockalign": ("4K", "4096"), "zonemode": ("strided", "strided"), "zonesize": ("1MiB", "1048576"),
    "zonerange": ("2MiB", "2097152"), "zoneskip": ("0", "0"), "max_open_zones": (4, "4"),
    "job_max_open_zones": (2, "2"), "sync": ("dsync", "dsync"), "fsync": (16, "16"), "fdatasync": (8, "8"),
    "end_fsync": (True, "1"),
    "refill_buffers": (True, "1"), "zero_buffers": (False, "0"), "buffer_compress_percentage": (50, "50"),
    "buffer_compress_chunk": ("4K", "4096"), "dedupe_percentage": (20, "20"), "buffer_pattern": ("0xdeadbeef",) * 2,
    "verify": ("crc32c", "crc32c"), "verify_backlog": (64, "64"), "verify_interval": ("4K", "4096"),
    "verify_pattern": ("0xff", "0xff"), "nice": (5, "5"), "prio": (3, "3"), "prioclass": (2, "2"),
}  # fmt: skip


def facts(**changes: Any) -> HostFacts:
    return HostFacts(host="h", collected_at="now", io_uring=True, **changes)


def passed() -> list[str]:
    return [name for name in FioParams.model_fields if option_of(FioParams, name) is not None]


def test_every_setting_that_is_passed_on_is_tried() -> None:
    assert sorted(GIVEN) == sorted(passed())


@pytest.mark.fio
@pytest.mark.parametrize("name", GIVEN)
def test_a_setting_reaches_fio(name: str, tmp_path: Path) -> None:
    value, text = GIVEN[name]
    how = option_of(FioParams, name)
    assert how is not None
    engine = how["engines"][0] if how["engines"] else "libaio"
    params = FioParams(**{name: value, "engine": engine, "rw": "randwrite", "filesize": "16MiB"})
    options = section_options(params, facts(), ())
    assert options[how["option"]] == text
    parsed(options, tmp_path)
    if how["engines"]:
        other = FioParams(**{name: value, "engine": "posixaio"})
        assert how["option"] not in section_options(other, facts(), ())


def parsed(options: dict[str, str], folder: Path) -> None:
    """Let fio parse a job file. Raises CalledProcessError with fio's message if fio rejects it."""
    (folder / "job.fio").write_text(job_file({"point": options}, ["/data/x"]))
    subprocess.run(["fio", "--parse-only", "job.fio"], cwd=folder, check=True, capture_output=True)


@pytest.mark.fio
def test_every_pattern_and_engine_is_one_of_fio(tmp_path: Path) -> None:
    for rw in ("read", "write", "rw", "trim", "trimwrite", "randread", "randwrite", "randrw", "randtrim"):
        parsed(section_options(FioParams(rw=rw, engine="libaio"), facts(), ()), tmp_path)
    for engine in ("io_uring", "libaio", "posixaio", "psync", "pvsync2", "sync", "mmap"):
        parsed(section_options(FioParams(engine=engine), facts(), ()), tmp_path)


def test_an_option_that_this_fio_lacks_is_named() -> None:
    text = subprocess.run(["fio", "--cmdhelp=all"], capture_output=True, text=True, check=True).stdout
    engine = subprocess.run(["fio", "--enghelp=io_uring"], capture_output=True, text=True, check=True).stdout
    known = listed(f"{text}engine io_uring\n{engine}")
    assert {"rw", "bs", "thinktime", "io_uring.fixedbufs"} <= set(known)
    here = facts(tools={"fio": ToolFact(path="/usr/bin/fio", options=known)})
    fine = FioParams(thinktime=0.1, fixedbufs=True, options={"serialize_overlap": True, "nowait": 1})
    found = section_options(fine, here, ())
    assert (found["serialize_overlap"], found["nowait"], found["fixedbufs"]) == ("1", "1", "1")
    with pytest.raises(ValueError, match=r"does not support sprandom .*install a newer fio"):
        section_options(FioParams(options={"sprandom": 1}), here, ())
    assert section_options(FioParams(options={"sprandom": 1}), facts(), ())["sprandom"] == "1"


def test_options_of_engines_are_harmless_ones() -> None:
    assert frozenset.union(*ENGINE_OPTIONS.values()) <= HARMLESS


NODES = [NumaNode(id=0, cpus=[0, 1, 2, 3]), NumaNode(id=1, cpus=[4, 5])]


@pytest.mark.parametrize(
    ("settings", "node", "expected"),
    [
        ({"numjobs": 2}, None, (4, 5)),
        ({"numjobs": 2}, 0, (2, 3)),
        ({"numjobs": 3}, 1, (3, 4, 5)),
        ({"numjobs": 64}, 0, (0, 1, 2, 3, 4, 5)),
        ({"cpus": "all"}, 0, ()),
        ({"cpus": "1,3"}, 0, (1, 3)),
        ({"job_file": "[a]\nnumjobs=1\n[b]\nnumjobs=2\n"}, 0, (1, 2, 3)),
    ],
)
def test_the_cpus_follow_the_jobs_and_the_drive(
    settings: dict[str, Any], node: int | None, expected: tuple[int, ...]
) -> None:
    here = facts(cpu=Cpu(allowed=[0, 1, 2, 3, 4, 5]), nodes=NODES)
    params = FioParams(**settings)
    assert used_cpus(params, here, node) == expected
    assert node_matters(params, here) is ("cpus" not in settings)
    assert not node_matters(params, facts(nodes=NODES[:1]))
    options = section_options(params, here, expected)
    assert ("cpus_allowed" in options) is bool(expected)


def test_a_host_whose_cpus_are_not_known_binds_none() -> None:
    assert used_cpus(FioParams(), facts()) == ()

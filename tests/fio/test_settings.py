"""The settings of the storage benchmarks: names, aliases, defaults and contradictions."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from pydantic import ValidationError

from asct.benchmarks.storage_io_depth_sweep import BENCHMARK as SWEEP
from asct.benchmarks.storage_io_depth_sweep import DepthSweepParams
from asct.instruments.fio.contradictions import MAX_SCRATCH_BYTES
from asct.instruments.fio.params import FioParams, Pattern


def findings(**settings: Any) -> list[tuple[str, str]]:
    return list(SWEEP.check(DepthSweepParams(**settings)))


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("runtime", "duration"), ("blocksize", "block_size"), ("bs", "block_size"), ("size", "filesize"),
        ("filenames", "file_names"), ("filename", "file_names"), ("rw_pattern", "rw"), ("readwrite", "rw"),
        ("ioengine", "engine"), ("iodepth_sweep_steps", "iodepth_sweep_steps"),
    ],
)  # fmt: skip
def test_every_spelling_of_the_contract_is_known(spelling: str, name: str) -> None:
    assert DepthSweepParams.aliases()[spelling] == name


def test_defaults_are_those_of_asct() -> None:
    params = DepthSweepParams()
    assert (params.duration, params.iodepth, params.numjobs, params.rw) == (60.0, 16, 4, "randread")
    assert (params.rwmixread, params.span_bytes, params.direct, params.block_size) == (70, 1000 * 2**20, True, 4096)
    assert params.iodepth_sweep_steps == (1, 2, 4, 8, 16, 32, 64, 128)
    assert params.makes_file
    assert findings() == []


def test_text_reads_as_values() -> None:
    params = DepthSweepParams.model_validate(
        {
            "iodepth_sweep_steps": "4,5,6", "duration": "2s", "block_size": "128K", "rw": "readwrite",
            "create_temp_file": 1, "numjobs": "2", "file_names": "/data/a,b:c",
        }
    )  # fmt: skip
    assert params.iodepth_sweep_steps == (4, 5, 6)
    assert (params.duration, params.block_size, params.rw, params.numjobs) == (2.0, 131072, "rw", 2)
    assert params.file_names == ("/data/a,b:c",)


@pytest.mark.parametrize(
    "settings",
    [
        {"rw": "erase"}, {"engine": "null"}, {"engine": "external:/tmp/x.so"}, {"cpus": "0-"}, {"cpus": ""},
        {"bssplit": "4k"}, {"random_distribution": "zoned:x"}, {"buffer_pattern": "'/etc/shadow'"}, {"rate": "fast"},
        {"verify": "md4"}, {"latency_percentile": 101}, {"prio": 8}, {"nice": 20}, {"options": {"thp": [1]}},
        {"iodepth": 0}, {"iodepth": True}, {"numjobs": -1}, {"rwmixread": 101}, {"duration": 0}, {"duration": "5"},
        {"block_size": 100}, {"block_size": "4k"}, {"iodepth_sweep_steps": []}, {"iodepth_sweep_steps": [1, "x"]},
        {"unknown": 1}, {"seed": 2**32}, {"duration": float("nan")},
    ],
)  # fmt: skip
def test_impossible_values_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        DepthSweepParams(**settings)


def test_naming_a_target_switches_the_temporary_file_off() -> None:
    assert not FioParams(file_names="/data/x").makes_file
    assert FioParams(file_names="/data/x").span_bytes is None
    assert findings(file_names="/data/x") == []
    assert findings(file_names="/data/x", create_temp_file=False) == []


@pytest.mark.parametrize(
    ("setting", "text", "settings"),
    [
        ("create_temp_file", "cannot be on if `file_names`", {"file_names": "/data/x", "create_temp_file": True}),
        ("create_temp_file", "`file_names` is not set", {"create_temp_file": False}),
        ("file_names", "twice", {"file_names": ["/a", "/a"]}),
        ("file_names", "absolute", {"file_names": "data"}),
        ("file_names", "absolute", {"file_names": "/data/../etc/x"}),
        ("file_names", "`;` in", {"file_names": "/data/a;b"}),
        ("file_names", "`#` in", {"file_names": "/data/#b"}),
        ("file_names", "`$` in", {"file_names": "/data/${HOME}"}),
        ("file_names", "line break", {"file_names": "/data/a\nrw=write"}),
        ("file_names", "an empty value", {"file_names": [""]}),
        ("file_names", "cannot be a target", {"file_names": "/proc/kcore"}),
        ("rw", "block devices only", {"rw": "randtrim"}),
        ("rw", "block devices only", {"job_file": "[a]\nrw=trim\n"}),
        ("offset", "set `filesize`", {"file_names": "/x", "rw": "read", "offset": "1MiB"}),
        ("direct", "page cache", {"engine": "mmap", "iodepth": 1}),
        ("fixedbufs", "set `engine` to io_uring", {"engine": "libaio", "fixedbufs": True}),
        ("hipri", "set `engine` to io_uring or pvsync2", {"hipri": True}),
        ("options", "`exec_prerun` is not a permitted option", {"options": {"exec_prerun": "true"}}),
        ("job_file", "line 1", {"job_file": "rw=read"}),
        ("filesize", "limit of 64G", {"filesize": MAX_SCRATCH_BYTES + 1}),
        ("filesize", "smaller than a request", {"filesize": "4K", "block_size": "8K"}),
        ("filesize", "slices", {"filesize": "16K", "rw": "read", "numjobs": 8}),
        ("numjobs", "split it only in steps of 1 %", {"file_names": "/data/x", "rw": "read", "numjobs": 101}),
        ("block_size", "multiple of 512", {"block_size": 1000}),
        ("engine", "one request in flight", {"engine": "psync"}),
    ],
)
def test_contradictions_are_named(setting: str, text: str, settings: dict[str, Any]) -> None:
    found = findings(**settings)
    assert [name for name, _ in found] == [setting]
    assert text in found[0][1]
    assert not found[0][1].endswith(".")


@pytest.mark.parametrize(
    "settings",
    [
        {"file_names": "/dev/nvme0n1"}, {"file_names": "/dev/disk/by-path/pci-0000:01:00.0-nvme-1", "rw": "read"},
        {"file_names": "/device/x", "rw": "randwrite"}, {"engine": "psync", "iodepth": 1},
        {"block_size": 1000, "direct": False}, {"filesize": MAX_SCRATCH_BYTES, "rw": "write"},
        {"file_names": "/data/x", "rw": "randwrite", "filesize": "1GiB"}, {"file_names": "/dev/sdx", "rw": "randtrim"},
        {"engine": "io_uring", "fixedbufs": True, "sqthread_poll": False}, {"options": {"serialize_overlap": 1}},
        {"job_file": "[global]\nbs=4k\n[a]\nrw=randread\n[b]\nrw=read\nnumjobs=1\n"}, {"cpus": "all"}, {"cpus": 3},
        {"file_names": "/data/x", "filesize": MAX_SCRATCH_BYTES * 4}, {"file_names": "/data/x", "rw": "write"},
    ],
)  # fmt: skip
def test_what_is_allowed(settings: dict[str, Any]) -> None:
    assert findings(**settings) == []


def test_a_list_and_a_single_depth_contradict() -> None:
    [(setting, text)] = findings(iodepth_sweep_steps=[4, 5], iodepth=6)
    assert setting == "iodepth_sweep_steps"
    assert "mutually exclusive" in text


@pytest.mark.parametrize("settings", [{"iodepth": 6}, {"iodepth_sweep_steps": [4, 5]}, {"iodepth": 4}])
def test_a_list_or_a_single_depth_is_fine(settings: dict[str, Any]) -> None:
    assert findings(**settings) == []


def test_a_point_of_the_list_is_no_contradiction() -> None:
    everything = DepthSweepParams(iodepth_sweep_steps=[4, 5]).model_dump() | {"iodepth": 5}
    assert list(SWEEP.check(DepthSweepParams(**everything))) == []


def test_needs() -> None:
    reading = SWEEP.needs(DepthSweepParams(duration=2.0, ramp_time=1.0, filesize="10MB"), None)
    assert reading.scratch is not None
    assert reading.scratch.bytes == 10 * 2**20  # 10 MB in whole MiB
    assert reading.seconds == pytest.approx(3.5)
    assert reading.writes_bytes == ()
    assert reading.kernels == ("guard",)
    assert reading.longest_s >= reading.seconds
    assert reading.tools == (("fio", "3.30"),)
    assert reading.optional_tools == ("mpstat",)
    writing = SWEEP.needs(DepthSweepParams(rw="randrw", rwmixread=70, duration=10.0), None)
    assert writing.writes_bytes == (("", 6_000_000_000),)
    named = SWEEP.needs(DepthSweepParams(rw="write", duration=1.0, file_names=["/a", "/b"], overwrite=True), None)
    assert named.scratch is None
    assert named.targets == ("/a", "/b")
    assert named.may_overwrite
    assert named.writes_bytes == (("/a", 10**9), ("/b", 10**9))


def test_needs_of_a_volume_and_of_sections() -> None:
    volume = SWEEP.needs(DepthSweepParams(rw="write", io_size="1GiB", duration="1h"), None)
    assert volume.writes_bytes == (("", 2**30),)
    text = "[r]\nrw=randread\n[w]\nrw=randwrite\n"
    mixed = SWEEP.needs(DepthSweepParams(job_file=text, duration=1.0, file_names="/dev/sdx"), None)
    assert mixed.writes_bytes == (("/dev/sdx", 2 * 10**9),)
    unchanged = SWEEP.needs(DepthSweepParams(job_file="[r]\nrw=randread\n", file_names="/dev/sdx"), None)
    assert unchanged.writes_bytes == ()


@pytest.mark.parametrize("rw", get_args(Pattern))
def test_only_two_patterns_leave_the_target_as_it_is(rw: str) -> None:
    """Any pattern that is added later counts as writing until it is listed here."""
    params = FioParams(rw=rw)
    assert params.writes is (rw not in ("read", "randread"))
    assert params.trims is ("trim" in rw)
    assert params.sequential is (not rw.startswith("rand"))

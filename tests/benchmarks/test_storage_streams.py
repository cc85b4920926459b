"""Concurrent streams without a drive: their notation, their job file, and where each stream continues."""

from __future__ import annotations

import pytest

from asct.benchmarks.storage_streams import BENCHMARK
from asct.benchmarks.storage_streams.params import StorageStreamsParams, Stream, together
from asct.instruments.fio.benchmark import ASSUMED_WRITE_BYTES_PER_S
from asct.instruments.fio.sections import sections_of
from asct.instruments.qualification.rounds import continued_sections
from asct.sdk.benchmark import Unsuitable
from asct.sdk.figure import Band
from tests.benchmarks.test_storage_figures import at, lines

MIB = 2**20


def test_a_stream_is_read_as_the_specification_writes_it() -> None:
    assert Stream.of("RND 4K W") == Stream(True, 4096, reads=False, depth=None)
    assert Stream.of("SEQ 512 R Q20") == Stream(False, 512, reads=True, depth=20)
    assert [Stream.of(text).rw for text in ("SEQ 1M R", "SEQ 1M W", "RND 1M R", "RND 1M W")] == [
        "read", "write", "randread", "randwrite",
    ]  # fmt: skip
    assert Stream.of("SEQ 128K W Q5").name == "SEQ 128k W"
    assert StorageStreamsParams.model_validate({"streams": "rnd 4k w, seq 1m r q8"}).streams == (
        "RND 4K W",
        "SEQ 1M R Q8",
    )


@pytest.mark.parametrize("text", ["RND 4K", "RND 4K RW", "RND 4K W 100%", "RND 4K W 20", "RND 4K W Q"])
def test_other_notations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a stream"):
        Stream.of(text)
    with pytest.raises(ValueError, match="is not a stream; write `RND` or `SEQ`"):
        StorageStreamsParams.model_validate({"streams": ["SEQ 64K W", text]})


@pytest.mark.parametrize(
    ("streams", "told"),
    [
        ("RND 4K W, RND 4K W", "contains a stream twice"),
        ("RND 4K W", "contains only one stream"),
        ("RND 4K W Q0, SEQ 64K W", "must be between 1 and 65536"),
        ("RND 4K W, RND 4K W Q8", "contains a stream twice"),
        ("RND 700 W, SEQ 64K W", "must be a multiple of 512 bytes"),
    ],
)
def test_contradictory_streams_are_refused(streams: str, told: str) -> None:
    [(name, text)] = BENCHMARK.check(StorageStreamsParams.model_validate({"streams": streams}))
    assert name == "streams" and told in text


def test_every_stream_is_a_section_with_the_settings_of_the_point() -> None:
    params = StorageStreamsParams.model_validate({"streams": "SEQ 64K W Q8, RND 4K R"})
    cell = together(params.parsed())
    job = params.fio(64 * MIB, rw=cell.rw, block_size=cell.block_size, **dict(cell.options))
    found = dict(sections_of(job))
    assert {name: (one.rw, one.block_size, one.iodepth) for name, one in found.items()} == {
        "seq-64k-w": ("write", 65536, 8), "rnd-4k-r": ("randread", 4096, 32),
    }  # fmt: skip
    assert {(one.numjobs, one.filesize) for one in found.values()} == {(1, 64 * MIB)}
    assert params.queue_depths == (8, 32) and StorageStreamsParams().queue_depths == (32, 32)
    assert dict(params.parsed()[0].alone.options) == {"iodepth": 8}, "alone as well"


def test_a_sequential_stream_goes_on_where_it_ended_and_random_ones_stay() -> None:
    cell = together(StorageStreamsParams().parsed())
    job = StorageStreamsParams(offset=MIB).fio(100 * MIB, **dict(cell.options))
    rounds = [(10 * MIB, 7 * MIB), (12 * MIB, 7 * MIB)]
    found = dict(sections_of(continued_sections(job, rounds)))
    assert (found["seq-128k-w"].offset, found["seq-128k-w"].filesize) == (23 * MIB, 78 * MIB)
    assert (found["rnd-4k-w"].offset, found["rnd-4k-w"].filesize) == (MIB, 100 * MIB)
    assert dict(sections_of(continued_sections(job, [])))["seq-128k-w"].offset == MIB


def test_several_processes_of_a_stream_have_slices_that_stay() -> None:
    cell = together(StorageStreamsParams().parsed())
    job = StorageStreamsParams(numjobs=2).fio(100 * MIB, **dict(cell.options))
    assert continued_sections(job, [(MIB, MIB, MIB, MIB)]) == job


def test_phases_of_both_profiles() -> None:
    exact = StorageStreamsParams().phases(512)
    assert [phase.name for phase in exact] == ["together-", "seq-128k-w-", "rnd-4k-w-"]
    assert all(len(phase.cells) == 1 and phase.tracked[0].cell == phase.cells[0] for phase in exact)
    [short] = StorageStreamsParams(profile="fast").phases(512)
    assert [cell.title for cell in short.cells] == ["together", "seq-128k-w", "rnd-4k-w"]
    assert [one.cell.title for one in short.tracked] == ["together"]


def test_a_drive_with_large_blocks_refuses_small_streams() -> None:
    with pytest.raises(Unsuitable, match="RND 512 W are not multiples of the target's logical block size"):
        StorageStreamsParams.model_validate({"streams": "SEQ 64K W, RND 512 W"}).phases(4096)


def test_the_bounds_count_a_mixed_phase_as_writes_and_a_stream_of_reads_as_none() -> None:
    params = StorageStreamsParams.model_validate(
        {"streams": "SEQ 64K W, RND 4K R", "active_range": "1GB", "file_names": "/dev/loop0"}
    )
    [(_, most)] = BENCHMARK.needs(params, None).writes_bytes
    rounds = 25 * 60.0 * ASSUMED_WRITE_BYTES_PER_S
    assert 2 * rounds < most < 2.2 * rounds, "together and the writes alone"


def test_streams_are_drawn_alone_and_together() -> None:
    settings = {"profile": "pts", "round_time": 60.0, "window": 2, "excursion": 20.0, "numjobs": 1, "iodepth": 32,
                "engine": "io_uring", "precondition": 2}  # fmt: skip
    records = []
    for phase, stream, load, scale in (
        ("together", "all", "together", 3.0), ("seq-128k-w", "SEQ 128k W", "alone", 5.0),
        ("rnd-4k-w", "RND 4k W", "alone", 4.0), ("", "SEQ 128k W", "together", 1.0), ("", "RND 4k W", "together", 2.0),
    ):  # fmt: skip
        place = {"stream": stream, "load": load}
        if phase:
            records += [
                at("rounds", 3.0, phase=phase, **settings), at("steady", 1.0, phase=phase),
                at("purged", 1.0, phase=phase, method="blkdiscard"), at("window_slope", 1.0, phase=phase, **place),
            ]  # fmt: skip
        records += [at("round_iops", 100.0 * scale + number, round=number, **place) for number in (1, 2, 3)]
        records += [at(name, 100.0 * scale, **place) for name in ("iops", "bandwidth", "latency")]
    records += [at("request_share", 33.0, stream="SEQ 128k W"), at("request_share", 67.0, stream="RND 4k W")]
    records.append(at("kept_bandwidth", 20.0, stream="SEQ 128k W"))
    charts = lines(BENCHMARK.figures(records))
    assert [line.name for line in charts["rounds-together"].series] == ["SEQ 128k W", "RND 4k W", "all"]
    assert [line.name for line in charts["rounds-alone"].series] == ["SEQ 128k W", "RND 4k W"]
    assert charts["rounds-together"].bands == (Band(None, None, 2, 3, "measurement window"),)
    assert charts["rounds-alone"].bands == (Band(None, None, 1, 2, "measurement window"),)
    assert {line.x for line in charts["rounds-together"].series} == {(1, 2, 3)}
    assert {line.x for line in charts["rounds-alone"].series} == {(0, 1, 2)}, "counted from the window"
    assert charts["verification-together"].series[0].y == (302.0, 303.0)
    rates, latencies, windows = BENCHMARK.tables(records)[:3]
    assert [(row["stream"], row["iops-alone"], row["iops-together"]) for row in rates.rows] == [
        ("SEQ 128k W", 500.0, 100.0), ("RND 4k W", 400.0, 200.0), ("all", None, 300.0),
    ]  # fmt: skip
    assert rates.rows[0]["kept_bandwidth"] == 20.0
    assert len(latencies.rows) == 5
    assert [row["stage"] for row in windows.rows] == ["all streams together", "SEQ 128k W alone", "RND 4k W alone"]

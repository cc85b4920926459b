"""Queue depths that are not powers of two: the engine that supports them, and the message if none does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from asct.cli.dryrun import tasks_of
from asct.engine.points import bind_points, cautions
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.sections import chosen_engine, sections_of
from asct.registry import Registry
from asct.sdk.benchmark import Benchmark
from asct.sdk.facts import HostFacts
from asct.sdk.params import Params
from tests.engine import plant
from tests.fio.samples import depth_sample, output_of, parse

ENGINES = ("io_uring", "libaio", "psync")
STUDY = [{"iodepth": depth} for depth in (4, 5, 6, 7, 8)]
"""The first parameter study in the documentation."""


def facts(version: str | None = "3.33", engines: Sequence[str] = ENGINES, *, io_uring: bool = True) -> HostFacts:
    tool: Any = {"path": "/usr/bin/fio", "version": version, "features": list(engines)}
    return HostFacts(host="h", collected_at="now", tools={"fio": tool}, io_uring=io_uring)


def benchmark(name: str = "storage-io-depth-sweep") -> Benchmark[Any]:
    found = Registry().get(name)
    assert found is not None
    return found


def settled(
    points: Sequence[dict[str, Any]], host: HostFacts, name: str = "storage-io-depth-sweep"
) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the engines of the points, and the messages about them."""
    tested = benchmark(name)
    params: Sequence[Params] = tested.settle([tested.params_model(**point) for point in points], host)
    return [one.engine for one in params], list(tested.cautions(params, host))  # type: ignore[attr-defined]


def test_one_odd_depth_moves_the_whole_job() -> None:
    assert settled(STUDY, facts()) == (["libaio"] * 5, [])


@pytest.mark.parametrize(
    ("points", "host"),
    [
        ([{"iodepth": depth} for depth in (1, 2, 4, 8, 64)], facts()),
        (STUDY, facts("3.39")),
        (STUDY, facts("3.40-12-g1234")),
        (STUDY, facts(io_uring=False)),
        (STUDY, facts(engines=("libaio",))),
        ([{"iodepth": 1, "engine": "psync"}, {"iodepth": 4}], facts()),
    ],
)
def test_auto_stays_as_it_is_if_every_depth_holds(points: list[dict[str, Any]], host: HostFacts) -> None:
    assert settled(points, host) == ([point.get("engine", "auto") for point in points], [])


def test_a_fio_of_unknown_version_may_round() -> None:
    assert settled(STUDY, facts(None))[0] == ["libaio"] * 5


def test_an_explicit_engine_is_kept_and_told() -> None:
    engines, [(message, hint)] = settled([{**point, "engine": "io_uring"} for point in STUDY], facts())
    assert engines == ["io_uring"] * 5
    assert message == (
        "io_uring does not maintain `iodepth` 5-7: fio before 3.39 rounds it up to a power of two, so more requests "
        "are in flight (the host has 3.33)"
    )
    assert hint == "set `engine` to libaio, set `iodepth` to powers of two, or install fio 3.39 or newer"
    assert settled([{"iodepth": 5, "engine": "io_uring"}], facts("3.41"))[1] == []
    assert settled([{"iodepth": 5, "engine": "libaio"}], facts())[1] == []


@pytest.mark.parametrize(
    ("points", "host", "hint"),
    [
        ([{**point, "direct": False} for point in STUDY], facts(), "set `direct` to true; libaio then maintains"),
        ([*STUDY, {"iodepth": 2, "direct": False}], facts(), "set `engine` to libaio"),
        ([{**point, "options": {"force_async": 4}} for point in STUDY], facts(), "set `iodepth` to powers of two"),
        (STUDY, facts(engines=("io_uring", "psync")), "set `iodepth` to powers of two"),
    ],
)
def test_auto_keeps_io_uring_where_libaio_is_no_way_out(
    points: list[dict[str, Any]], host: HostFacts, hint: str
) -> None:
    engines, [(message, told)] = settled(points, host)
    assert set(engines) == {"auto"}
    assert message.startswith("io_uring does not maintain `iodepth` 5-7")
    assert told.startswith(hint)


def test_a_buffered_point_of_depth_1_is_no_obstacle() -> None:
    assert settled([{"iodepth": 6}, {"iodepth": 1, "direct": False}], facts()) == (["libaio"] * 2, [])


def test_sections_follow_the_job() -> None:
    text = "[a]\nrw=randread\niodepth=3\n[b]\nioengine=auto\n[c]\nioengine=psync\niodepth=1\n"
    tested, host = benchmark("storage-fio"), facts()
    [point] = tested.settle([FioParams(job_file=text)], host)
    assert [chosen_engine(one, host) for _, one in sections_of(point)] == ["libaio", "libaio", "psync"]


def test_every_benchmark_that_runs_fio_settles_its_engine() -> None:
    assert settled([{"iodepth": 12}], facts(), "storage-iops") == (["libaio"], [])
    assert settled([{"iodepth": 12}], facts(), "storage-hdd") == (["libaio"], [])
    assert settled([{}], facts(), "storage-iops") == (["auto"], [])
    tests = [{"test": test} for test in ("idle", "demand")]
    assert settled(tests, facts(), "storage-recovery") == (["libaio"] * 2, [])  # demand has a depth of 6
    assert settled([{"test": "demand", "profile": "fast"}], facts(), "storage-recovery") == (["auto"], [])
    engines, told = settled([{"test": "demand", "engine": "io_uring"}], facts(), "storage-recovery")
    assert (engines, len(told)) == (["io_uring"], 1)


def planned(*depths: int, engine: str = "auto") -> Any:
    points = [plant.point("storage-io-depth-sweep", iodepth=depth, engine=engine) for depth in depths]
    return plant.job(*points, benchmark="storage-io-depth-sweep")


def test_the_decision_is_part_of_the_settings_that_are_reused() -> None:
    """Values measured with io_uring in a job with other depths must not become part of the curve."""
    tested = benchmark()
    (before, *_), _ = bind_points(planned(4, 8), tested, {}, facts())
    (after, *_), needs = bind_points(planned(4, 5), tested, {}, facts())
    assert before.settings == {"iodepth": 4, "engine": "auto"}
    assert after.settings == {"iodepth": 4, "engine": "libaio"}
    assert (after.id, after.params.engine, len(needs)) == (before.id, "libaio", 2)  # type: ignore[attr-defined]


def test_the_warning_names_the_job() -> None:
    job = planned(4, 5, engine="io_uring")
    points, _ = bind_points(job, benchmark(), {}, facts())
    [warning] = cautions(job, benchmark(), points, facts())
    assert (warning.code, warning.severity) == ("E433", "warning")
    assert warning.message.startswith("a on local: io_uring does not maintain `iodepth` 5: ")


def test_a_dry_run_shows_the_engine_of_the_job(tmp_path: Any) -> None:
    job = planned(4, 5)
    texts = [task.files["job.fio"] for task in tasks_of(job, plant.plan(job, workdir=tmp_path), Registry())]
    assert ["ioengine=libaio" in text for text in texts] == [False, True, True]  # the layout comes first


@pytest.mark.parametrize(
    ("version", "engine", "depth", "flagged"),
    [
        ("3.33", "io_uring", 24, True),
        ("3.33", "auto", 24, True),
        ("3.33", "io_uring", 32, False),
        ("3.33", "libaio", 24, False),
        ("3.39", "io_uring", 24, False),
    ],
)
def test_the_flag_names_the_cause(version: str, engine: str, depth: int, flagged: bool) -> None:
    sample = depth_sample()
    sample["settings"] |= {"iodepth": depth, "engine": engine}
    sample["facts"]["tools"]["fio"]["version"] = version
    flags = parse(sample, output_of(sample))["iops"].flags
    assert ("depth-rounded" in flags) == flagged
    assert ({"invalid", "littles-law"} <= set(flags)) == (depth == 24)

"""The output of the `stream` kernel: keys, windows, bytes, variants and threads, and the arguments that it refuses."""

from __future__ import annotations

import os
import statistics
from pathlib import Path

import pytest

from tests.kernels.building import Ran, documented, run

pytestmark = pytest.mark.kernels

CPUS = sorted(os.sched_getaffinity(0))[:2]
BOTH = ",".join(map(str, CPUS))
WORDS = [
    *("all-reads", "3:1", "2:1", "1:1", "2:1-nt"),
    *("write", "copy", "scale", "add", "triad", "nt-write", "nt-copy", "nt-triad"),
]
ARRAYS = dict(zip(WORDS, [1, 3, 2, 1, 3, 1, 2, 2, 3, 3, 1, 2, 3], strict=True))
BUS = dict(zip(WORDS, [(1, 0), (3, 1), (2, 1), (1, 1), (2, 1), (1, 1), (2, 1), (2, 1), (3, 1), (3, 1), (0, 1), (1, 1),
                       (2, 1)], strict=True))  # fmt: skip
QUICK = ("--pages", "4k", "--time-cap-ms", "5")
WRONG_USE = {
    "a CPU twice": (["--cpus", f"{BOTH},{CPUS[0]}"], 2, f"--cpus: {CPUS[0]} is listed twice"),
    "a CPU that is not there": (["--cpus", "8191"], 3, "CPU 8191 "),
    "a node that is not there": (["--nodes", "1023"], 3, "memory cannot be bound to node 1023"),
    "nodes that do not fit": (["--cpus", BOTH, "--nodes", "0,0,0"], 2, f"--nodes: 3 nodes for {len(CPUS)} CPUs"),
    "too small": (["--sizes", "1024", "--traffic", "triad", "--width", "16"], 2, "--sizes: 1024 bytes are too few for"),
    "no size": (["--sizes", ""], 2, "--sizes: nothing to measure"),
    "no traffic": (["--traffic", ""], 2, "--traffic: nothing to measure"),
    "unknown traffic": (["--traffic", "copy,5:1"], 2, "--traffic: 5:1 is not one of: all-reads 3:1"),
    "unknown width": (["--width", "128"], 2, "--width: 128 is not one of: auto 16 32 64 sve"),
    "no such width": (["--width", "sve"], 3, "this CPU does not support loads and stores of width sve; supported: 16"),
    "widths that do not fit": (["--width", "16,16"], 2, "--width: 2 widths for 4 sizes; give one, or one for each"),
    "too few labels": (["--labels", "a,b"], 2, "--labels: each size in --sizes needs a label of 1 to 31 characters"),
    "too many labels": (["--labels", "a,b,c,d,e"], 2, "--labels: more labels than sizes"),
    "unknown variants": (["--variants", "most"], 2, "--variants: most is not one of: best all plain"),
    "too much memory": (["--sizes", str(1 << 45)], 3, "not enough memory: "),
    "unknown option": (["--size", "9"], 2, "unknown option --size, did you mean --sizes?"),
}


@pytest.fixture(scope="module")
def measured(stream: Path) -> Ran:
    """Return the results of every access pattern at two sizes on all CPUs, with every variant measured in full."""
    traffic = ("--traffic", ",".join(WORDS), "--sizes", "24576,393216", "--variants", "all")
    ran = run(stream, "--cpus", BOTH, *traffic, "--seed", "7", *QUICK)
    assert ran.status == 0, ran.stderr
    return ran


def test_the_order_of_the_lines_and_their_keys(measured: Ran) -> None:
    kinds = [line["t"] for line in measured.lines]
    assert kinds[:2] == ["meta", "ready"] and kinds[-1] == "end" and set(kinds[2:-1]) == {"sample", "probe"}
    assert [kinds[2], kinds[-2]] == ["probe", "probe"]
    keys = documented("stream")
    assert all(set(line) == keys[line["t"]] for line in measured.lines)
    assert measured.end["samples"] == len(measured.of("sample"))
    assert measured.end["checks"] >= measured.end["samples"]


def test_each_size_and_traffic_has_one_best_variant(measured: Ran) -> None:
    points = [(sample["size"], sample["traffic"]) for sample in measured.of("sample") if sample["best"]]
    assert points == [(size, word) for size in (24576, 393216) for word in WORDS]
    for size, word in points:
        variants = [one["variant"] for one in measured.of("sample") if (one["size"], one["traffic"]) == (size, word)]
        assert "plain" in variants and len(set(variants)) == len(variants)
        assert ("fold" in variants) == (word == "all-reads")
        # The processor may choose how it executes a string instruction, so no ratio is guaranteed.
        assert "string" not in variants or word in ("write", "copy")


def test_arrays_share_the_size_in_whole_turns(measured: Ran) -> None:
    for sample in measured.of("sample"):
        grain = sample["grain_bytes"]
        assert sample["array_bytes"] == sample["size"] // ARRAYS[sample["traffic"]] // grain * grain


def test_bytes_are_those_of_the_traffic(measured: Ran) -> None:
    for sample in measured.of("sample"):
        lines = sample["useful_bytes"] // ARRAYS[sample["traffic"]]
        assert sample["useful_bytes"] % (ARRAYS[sample["traffic"]] * sample["grain_bytes"]) == 0
        read, written = BUS[sample["traffic"]]
        read -= sample["variant"] == "string"  # whose stores need not read the line first
        assert (sample["read_bytes"], sample["write_bytes"]) == (lines * read, lines * written)
        assert sample["bus_bytes"] == sample["read_bytes"] + sample["write_bytes"]


def test_windows_are_as_long_as_asked_and_make_up_the_statistics(measured: Ran) -> None:
    assert measured.meta["options"]["window-us"] == 100
    for sample in measured.of("sample"):
        listed = min(64, sample["windows"])
        assert len(sample["window_ns"]) == len(sample["window_bytes"]) == listed
        assert sample["order"] == ("sorted" if sample["windows"] > 64 else "time")
        assert min(sample["window_ns"]) >= 99_900
        rates = [1e9 * moved / ns for ns, moved in zip(sample["window_ns"], sample["window_bytes"], strict=True)]
        assert sample["max_bps"] == pytest.approx(max(rates), rel=1e-4)
        assert sample["min_bps"] == pytest.approx(min(rates), rel=1e-4)
        if sample["order"] == "time":
            assert sample["median_bps"] == pytest.approx(statistics.median(rates), rel=1e-4)
            assert sum(sample["window_bytes"]) == sample["useful_bytes"]
        if sample["ci_low_bps"] is not None:
            assert sample["min_bps"] <= sample["ci_low_bps"] <= sample["median_bps"] <= sample["ci_high_bps"]
        else:
            assert sample["effective"] < 6
        options = measured.meta["options"]
        asked = options["windows"] if sample["best"] or options["variants"] == "all" else 6
        assert sample["capped"] == (sample["windows"] < asked)


def test_threads_and_their_memory_are_where_they_were_asked_for(measured: Ran, stream: Path) -> None:
    assert measured.meta["cpus"] == CPUS and len(measured.meta["memory_nodes"]) == len(CPUS)
    assert {sample["threads"] for sample in measured.of("sample")} == {len(CPUS)}
    bound = run(stream, "--cpus", BOTH, "--nodes", "0", "--sizes", "65536", *QUICK)
    assert bound.status == 0, bound.stderr
    assert bound.meta["memory_nodes"] == [0] * len(CPUS) and bound.meta["arenas"] == 1
    each = run(stream, "--cpus", BOTH, "--nodes", ",".join("0" for _ in CPUS), "--sizes", "65536", *QUICK)
    assert each.meta["memory_nodes"] == [0] * len(CPUS)
    here = run(stream, "--sizes", "65536", "--traffic", "copy", *QUICK)
    assert len(here.meta["cpus"]) == 1 and here.meta["cpus"][0] in os.sched_getaffinity(0)


def test_memory_is_that_of_the_largest_working_set(measured: Ran) -> None:
    assert 393216 <= measured.meta["thread_bytes"] <= 393216 + 3 * 4096
    assert measured.meta["arena_bytes"] >= len(CPUS) * measured.meta["thread_bytes"]
    assert measured.meta["pages"] == "4k" and measured.meta["page_bytes"] == os.sysconf("SC_PAGESIZE")


@pytest.mark.parametrize("width", ["16", "32", "64"])
def test_every_width_that_the_cpu_has_is_done_as_asked(width: str, stream: Path) -> None:
    ran = run(stream, "--width", width, "--traffic", ",".join(WORDS), "--sizes", "16384", *QUICK, "--variants", "all")
    if ran.status == 3:
        assert f"of width {width}; supported:" in ran.stderr and width != "16"
        return
    assert (ran.status, ran.stderr) == (0, "")
    assert {(one["width"], one["vector_bytes"]) for one in ran.of("sample")} == {(width, int(width))}


def test_the_plain_loop_alone_and_the_best_after_a_look_at_each(stream: Path) -> None:
    plain = run(stream, "--variants", "plain", "--traffic", "all-reads,copy", "--sizes", "262144", *QUICK)
    assert [(one["variant"], one["best"]) for one in plain.of("sample")] == [("plain", True)] * 2
    best = run(stream, "--variants", "best", "--traffic", "all-reads", "--sizes", "262144", *QUICK)
    assert [one["best"] for one in best.of("sample")] == [False] * (len(best.of("sample")) - 1) + [True]
    assert all(one["windows"] <= 6 for one in best.of("sample") if not one["best"])
    assert all((one["trial_windows"] >= 6) == one["best"] for one in best.of("sample")), "every window is counted"
    assert {one["trial_windows"] for one in plain.of("sample")} == {0}


def test_one_process_measures_sets_of_several_widths_in_a_random_order(stream: Path) -> None:
    sets = ("--sizes", "65536,16384,16384", "--labels", "b,a,again", "--width", "auto,16,16")
    sizes = {("b", 65536), ("a", 16384), ("again", 16384)}
    asked = [(label, word) for label in ("b", "a", "again") for word in ("copy", "write", "all-reads")]

    def order(seed: int) -> list[tuple[str, str]]:
        ran = run(stream, *sets, "--traffic", "copy,write,all-reads", "--order", str(seed), *QUICK)
        assert (ran.status, ran.stderr) == (0, "")
        assert {(one["label"], one["size"]) for one in ran.of("sample")} == sizes
        assert {one["vector_bytes"] for one in ran.of("sample") if one["label"] != "b"} == {16}
        assert ran.meta["thread_bytes"] <= 65536 + 2 * 4096, "all sets are in the same memory"
        return [(one["label"], one["traffic"]) for one in ran.of("sample") if one["best"]]

    assert order(0) == asked
    orders = [order(seed) for seed in (1, 2, 1)]
    assert orders[0] == orders[2] != orders[1]
    assert all(sorted(one) == sorted(asked) != one for one in orders)


@pytest.mark.parametrize("pages", ["4k", "thp", "auto"])
def test_every_thread_populates_its_own_part(pages: str, stream: Path) -> None:
    """The contents are verified after each loop. If a part were not populated, the kernel would exit with status 4."""
    ran = run(stream, "--cpus", BOTH, "--sizes", "5242880", "--traffic", "triad,all-reads", "--pages", pages)
    if ran.status == 3:
        assert pages == "thp" and "pages are not available" in ran.stderr
        return
    assert ran.status == 0, ran.stderr
    assert ran.meta["arenas"] == 1 and ran.meta["arenas_bytes"] >= len(CPUS) * ran.meta["thread_bytes"]


@pytest.mark.parametrize("case", WRONG_USE)
def test_what_cannot_be_done_is_refused_with_the_reason(case: str, stream: Path) -> None:
    arguments, status, message = WRONG_USE[case]
    ran = run(stream, *arguments)
    assert (ran.status, ran.lines) == (status, [])
    assert ran.stderr.startswith(f"stream: {message}") and ran.stderr.count("\n") == 1


def test_a_cpu_outside_of_the_mask_ends_with_3(stream: Path) -> None:
    assert len(CPUS) > 1, "needs two CPUs"
    ran = run(["taskset", "-c", str(CPUS[0]), str(stream)], "--cpus", BOTH, *QUICK)
    assert ran.status == 3 and ran.lines == [] and f"CPU {CPUS[1]} " in ran.stderr

"""The output of the `chase` kernel: sizes, statistics, pages and interruption."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import time
from itertools import pairwise
from pathlib import Path

import pytest

from tests.kernels.building import Builds, Ran, documented, run

pytestmark = pytest.mark.kernels

QUICK = ("--time-cap-ms", "5", "--patience-ms", "0")


@pytest.fixture(scope="module")
def swept(chase: Path) -> Ran:
    """Return a sweep over the first caches with some refinement."""
    ran = run(chase, "--max-size", "1048576", "--refine-max", "12", "--seed", "7", *QUICK)
    assert ran.status == 0, ran.stderr
    return ran


def test_the_order_of_the_lines_and_their_keys(swept: Ran) -> None:
    kinds = [line["t"] for line in swept.lines]
    assert kinds[:2] == ["meta", "ready"] and kinds[-1] == "end" and set(kinds[2:-1]) == {"sample", "probe"}
    assert [kinds[2], kinds[-2]] == ["probe", "probe"]
    keys = documented("chase")
    assert all(set(line) == keys[line["t"]] for line in swept.lines)
    assert swept.meta["seed"] == 7 and swept.meta["options"]["seed"] == 7


def test_the_grid_has_its_points_in_each_octave_and_refining_lies_between_them(swept: Ran) -> None:
    samples = swept.of("sample")
    coarse = [sample["size"] for sample in samples if sample["phase"] == "coarse"]
    assert coarse == sorted(coarse)
    assert coarse[0] == 128 and coarse[-1] == 1048576
    assert {1 << power for power in range(7, 21)} <= set(coarse)
    assert all(high / low < 2 ** (1 / 4) * 1.01 for low, high in pairwise(coarse) if low >= 8192)
    refined = [sample["size"] for sample in samples if sample["phase"] == "refine"]
    assert len(refined) == swept.end["refined"] <= 12
    assert len(samples) == swept.end["samples"] == len({sample["size"] for sample in samples})
    assert all(coarse[0] < size < coarse[-1] for size in refined)


def test_a_level_is_refined_where_the_latency_jumps(swept: Ran) -> None:
    by_size = {sample["size"]: sample["median_ps"] for sample in swept.of("sample")}
    coarse = sorted(sample["size"] for sample in swept.of("sample") if sample["phase"] == "coarse")
    assert max(by_size[b] / by_size[a] for a, b in pairwise(coarse)) > 1.1, (
        "the machine shows no step of latency up to 1 MiB"
    )
    assert swept.end["refined"] > 0


def test_lines_spans_and_batches_agree(swept: Ran) -> None:
    stride = swept.meta["stride"]
    for sample in swept.of("sample"):
        assert sample["lines"] * stride == sample["size"] == sample["span"]
        assert sample["loads"] % 64 == 0 and 512 <= sample["loads"] <= 16384
        assert len(sample["ns"]) == len(sample["probe_ns"]) == min(64, sample["batches"])
        assert sample["order"] == ("sorted" if sample["batches"] > 64 else "time")
    assert swept.end["verified_lines"] >= sum(sample["lines"] for sample in swept.of("sample"))


def test_the_statistics_are_those_of_the_listed_batches(swept: Ran) -> None:
    whole = [sample for sample in swept.of("sample") if sample["order"] == "time" and sample["batches"] >= 6]
    assert whole
    for sample in whole:
        loads, count = sample["loads"], sample["batches"]
        ps = sorted(value * 1000 / loads for value in sample["ns"])
        slack = max(1, 0.51 + 500 / loads)  # half a picosecond of the figure, half a nanosecond of the listed batch
        assert sample["median_ps"] == pytest.approx(statistics.median(ps), abs=slack)
        assert sample["min_ps"] == pytest.approx(ps[0], abs=slack)
        assert sample["max_ps"] == pytest.approx(ps[-1], abs=slack)
        assert 1 <= sample["effective"] <= count
        if sample["effective"] < 6:
            assert (sample["ci_low_ps"], sample["ci_high_ps"]) == (None, None)
            continue
        # told in whole batches, so that the rank lies between that of as many and that of one more
        widest, narrowest = (interval_rank(count, sample["effective"] + more) for more in (0, 1))
        assert ps[max(0, widest - 1)] - slack <= sample["ci_low_ps"] <= ps[narrowest] + slack
        assert ps[count - 1 - narrowest] - slack <= sample["ci_high_ps"] <= ps[min(count - 1, count - widest)] + slack
        assert sample["ci_low_ps"] <= sample["median_ps"] <= sample["ci_high_ps"]
        if sample["mcycles_low"] is not None:
            assert sample["mcycles_low"] <= sample["mcycles"] <= sample["mcycles_high"]


def interval_rank(count: int, effective: float) -> int:
    """Return the lower end, counted from 0, of the interval for the median of `count` values that are worth `effective`
    independent ones."""
    return max(0, int((count - 1.96 * count / min(count, effective) ** 0.5) / 2) - 1)


def test_every_size_has_the_batches_asked_for_unless_time_ended_it(swept: Ran) -> None:
    for sample in swept.of("sample"):
        # batches that a hypervisor took the CPU from are dropped at the end
        assert sample["capped"] or sample["batches"] == 63 or sample["dropped"] > 0
        assert sample["looks"] == 1, "--patience-ms 0"


def test_the_number_of_batches_is_that_asked_for_whatever_they_show(chase: Path) -> None:
    ran = run(
        chase, "--sizes", "4096,65536,8388608", "--batches", "200", "--time-cap-ms", "60000", "--patience-ms", "0"
    )
    assert ran.status == 0, ran.stderr
    assert all(200 - sample["dropped"] <= sample["batches"] <= 200 for sample in ran.of("sample"))
    assert not any(sample["capped"] for sample in ran.of("sample"))


def test_a_further_look_adds_its_batches(chase: Path) -> None:
    """The load on neighboring CPUs decides whether a size is measured again. In either case, no batch is lost."""
    for _ in range(3):
        ran = run(chase, "--sizes", "8192,16384,24576,32768", "--batches", "30", "--time-cap-ms", "60000")
        assert ran.status == 0, ran.stderr
        for sample in ran.of("sample"):
            kept = sample["looks"] * 30
            assert kept - sample["dropped"] <= sample["batches"] <= kept


def test_the_adds_are_long_enough_for_the_counter(swept: Ran) -> None:
    adds, ticks_per_ns = swept.meta["probe_adds"], swept.meta["tick_hz"] / 1e9
    assert adds % 16384 == 0
    assert adds == 8 * 16384 or adds / 4 * ticks_per_ns >= 800
    assert {sample["probe_adds"] for sample in swept.of("sample")} == {adds}
    for sample in swept.of("sample"):
        cycle_fs = min(sample["probe_ns"]) * 1e6 / adds
        assert cycle_fs <= sample["cycle_fs"] * 1.01


def test_sizes_replace_the_grid_and_equal_ones_are_measured_once(chase: Path) -> None:
    ran = run(chase, "--sizes", "8192,4096,8200,4096", "--stride", "64", *QUICK)
    assert [sample["size"] for sample in ran.of("sample")] == [4096, 8192]
    assert ran.end["refine_stopped"] == "off" and ran.end["refined"] == 0


def test_one_process_measures_sizes_in_a_random_order(chase: Path) -> None:
    sizes = [4096 << power for power in range(14)]

    def order(seed: int) -> list[int]:
        ran = run(chase, "--sizes", ",".join(map(str, sizes)), "--order", str(seed), "--stride", "64", *QUICK)
        assert (ran.status, ran.stderr) == (0, "")
        assert all(sample["lines"] * 64 == sample["size"] for sample in ran.of("sample"))
        return [sample["size"] for sample in ran.of("sample")]

    assert order(0) == sizes
    orders = [order(seed) for seed in (1, 2, 3)]
    assert all(sorted(one) == sizes for one in orders)
    far = [tuple(size for size in one if size > 8 << 20) for one in orders]
    assert len(set(far)) > 1, "near sizes are printed in ascending order, when all are measured"


@pytest.mark.parametrize("stride", [32, 64, 256])
def test_the_grid_begins_with_two_lines(stride: int, chase: Path) -> None:
    ran = run(chase, "--max-size", "4096", "--stride", str(stride), "--refine-to", "0", *QUICK)
    assert ran.of("sample")[0]["size"] == 2 * stride == ran.meta["options"]["min-size"]


@pytest.mark.parametrize("stride", [16, 64, 256, 4096])
def test_the_footprint_is_the_size_whatever_the_stride(stride: int, chase: Path) -> None:
    ran = run(chase, "--sizes", "65536,65600", "--stride", str(stride), *QUICK)
    assert ran.status == 0
    for sample in ran.of("sample"):
        assert sample["lines"] == sample["span"] // stride
        assert sample["size"] == sample["lines"] * stride


def test_far_above_the_last_cache_the_chain_is_sparse_over_the_whole_span(chase: Path) -> None:
    ran = run(chase, "--sizes", "100663296,268435456", "--llc-bytes", "1048576", "--stride", "64", *QUICK)
    dense, sparse = ran.of("sample")
    assert ran.meta["llc_from"] == "option" and ran.meta["max_lines"] * 64 == 128 << 20
    assert dense["lines"] * 64 == dense["span"]
    assert sparse["size"] == sparse["span"] == 268435456
    assert sparse["lines"] == 268435456 // 64 // 2 == ran.meta["max_lines"]


def test_windows_keep_a_chain_dense_and_local(chase: Path) -> None:
    sizes = ("--sizes", "65536,1048576,268435456", "--window", "131072")
    ran = run(chase, *sizes, "--batches", "21", "--stride", "64", *QUICK)
    assert ran.status == 0, ran.stderr
    assert [sample["lines"] * 64 for sample in ran.of("sample")] == [65536, 1048576, 268435456], "never sparse"
    refused = run(chase, "--sizes", "65536", "--window", "64", "--stride", "64", *QUICK)
    assert refused.status == 2 and "--window: 64 bytes are fewer than two lines of 64" in refused.stderr


@pytest.mark.parametrize("stride", [64, 4096])
def test_the_longest_dense_chain_has_the_same_lines_with_every_stride(stride: int, chase: Path) -> None:
    """A cache holds lines, not strides. With fewer lines, memory would never be read."""
    ran = run(chase, "--sizes", "1048576", "--stride", str(stride), *QUICK)
    assert ran.meta["max_lines"] == 1 << 21


def test_pages_are_read_back_from_the_system(chase: Path) -> None:
    base = run(chase, "--pages", "4k", "--sizes", "8388608", *QUICK).meta
    assert base["pages"] == "4k" and base["pages_verified"] is True and base["huge_bytes"] == 0
    assert base["kernel_page_bytes"] == base["page_bytes"] == os.sysconf("SC_PAGESIZE")
    chosen = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text()
    ran = run(chase, "--pages", "thp", "--sizes", "8388608", *QUICK)
    if "[never]" in chosen:
        assert ran.status == 3
    else:
        assert ran.meta["pages"] == "thp" and ran.meta["huge_bytes"] >= 8388608 * 0.9


def test_auto_takes_the_largest_that_is_to_be_had(chase: Path) -> None:
    ran = run(chase, "--sizes", "4194304", *QUICK)
    assert ran.meta["pages_asked"] == "auto" and ran.meta["pages"] in ("4k", "thp", "2m")
    assert (ran.meta["pages"] == "2m") == (ran.meta["pages_lost"] is None)


def test_auto_takes_the_same_kind_for_memory_of_any_size(chase: Path) -> None:
    """Pages of 1 GiB could be used only for the largest sizes, and the system takes seconds to provide one."""
    kinds = {run(chase, "--sizes", f"4194304,{size}", *QUICK).meta["pages"] for size in (8 << 20, 1 << 30)}
    assert "1g" not in kinds


def test_cpu_and_node_are_bound_without_tools(chase: Path) -> None:
    cpu = max(os.sched_getaffinity(0))
    ran = run(chase, "--cpu", str(cpu), "--node", "0", "--sizes", "4096", *QUICK)
    assert ran.status == 0, ran.stderr
    assert (ran.meta["cpu"], ran.meta["node"]) == (cpu, 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_killed_run_leaves_whole_lines_and_no_end(number: signal.Signals, chase: Path) -> None:
    arguments = [str(chase), "--max-size", "8388608", "--time-cap-ms", "1000", "--batches", "1024"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(2)]
        process.send_signal(number)
        lines += process.stdout.readlines()
        assert process.wait(timeout=60) == -number
    kinds = [json.loads(line)["t"] for line in lines]
    assert kinds[0] == "meta" and "end" not in kinds


def test_a_cpu_that_leaves_hardly_a_batch_alone_is_waited_for(chase: Path) -> None:
    """The kernel is stopped repeatedly after a fraction of a millisecond, each time for longer than all sizes may
    take."""
    command = [str(chase), "--max-size", "1048576", "--refine-to", "0", "--time-cap-ms", "1", "--patience-ms", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        assert [json.loads(process.stdout.readline())["t"] for _ in range(2)] == ["meta", "ready"]
        for count in range(100):
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.025)
            process.send_signal(signal.SIGCONT)
            until = time.perf_counter() + 0.0001 * (count % 5 + 1)
            while time.perf_counter() < until:
                pass
        lines, err = process.stdout.readlines(), process.stderr.read()
    assert (process.returncode, err) == (0, "")
    assert json.loads(lines[-1])["ok"] is True


def test_a_full_disk_ends_with_3(chase: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [str(chase), "--sizes", "4096"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 3
    assert "cannot write to standard output" in done.stderr


def test_noop_prints_one_of_each(built: Builds) -> None:
    ran = run(built["noop"])
    assert [line["t"] for line in ran.lines] == ["meta", "ready", "sample", "end"]
    assert ran.end["ok"] is True and ran.status == 0
    assert len(run(built["noop"], "--samples", "3").of("sample")) == 3

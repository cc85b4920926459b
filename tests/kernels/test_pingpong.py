"""The output of the `pingpong` kernel: pairs, methods and statistics, and how a run ends after a failure."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from tests.kernels.building import SANITIZED, Ran, check_program, documented, run, sources_of
from tests.kernels.pingpong import BOTH, CPUS, HERE, QUICK, pretending

pytestmark = pytest.mark.kernels


@pytest.fixture(scope="module")
def measured(pingpong: Path) -> Ran:
    """Return the run of one pair with all methods."""
    ran = run(pingpong, "--cpus", BOTH, "--seed", "7", "--addresses", "4", "--batches", "256", "--time-cap-ms", "1000")
    assert ran.status == 0, ran.stderr
    return ran


def test_the_order_of_the_lines_and_their_keys(measured: Ran) -> None:
    assert [line["t"] for line in measured.lines] == ["meta", "ready", *["probe"] * 2, *["sample"] * 4, "end"]
    keys = documented("pingpong")
    assert all(set(line) == keys[line["t"]] for line in measured.lines)


def test_the_chain_is_measured_in_both_directions(measured: Ran) -> None:
    a, b = CPUS[:2]
    found = [(sample["method"], sample["cpu_a"], sample["cpu_b"]) for sample in measured.of("sample")]
    assert found == [("token", a, b), ("cas", a, b), ("chain", a, b), ("chain", b, a)]


def test_statistics_are_those_of_the_batches(pingpong: Path) -> None:
    ran = run(pingpong, "--cpus", BOTH, "--batches", "48", "--addresses", "2", "--time-cap-ms", "1000")
    assert ran.status == 0, ran.stderr
    for sample in ran.of("sample"):
        assert sample["order"] == "time" and len(sample["ns"]) == sample["batches"] <= 48
        per_message = sorted(ns * 1000 / sample["messages"] for ns in sample["ns"])
        rounding = 1000 / sample["messages"]
        assert sample["median_ps"] == pytest.approx(statistics.median(per_message), abs=rounding)
        assert sample["min_ps"] == pytest.approx(per_message[0], abs=rounding)
        assert sample["max_ps"] == pytest.approx(per_message[-1], abs=rounding)
        assert sample["p25_ps"] == pytest.approx(per_message[len(per_message) // 4], abs=rounding)


def test_bounds_enclose_what_lies_between(measured: Ran) -> None:
    for sample in measured.of("sample"):
        low, high = sample["min_ps"], sample["max_ps"]
        assert 0 < low <= sample["p25_ps"] <= sample["median_ps"] <= high
        assert 1 <= sample["effective"] <= sample["batches"] <= 256
        if sample["ci_low_ps"] is not None:
            assert low <= sample["ci_low_ps"] <= sample["median_ps"] <= sample["ci_high_ps"] <= high
        else:
            assert sample["effective"] < 6
        assert len(sample["ns"]) == min(64, sample["batches"])
        assert sample["order"] == ("sorted" if sample["batches"] > 64 else "time")
        assert sample["order"] == "time" or sample["ns"] == sorted(sample["ns"])
        assert sample["cycle_fs"] > 0 and sample["elapsed_ns"] > 0


def test_each_address_has_its_quarter(measured: Ran) -> None:
    for sample in measured.of("sample"):
        quarters = sample["address_p25_ps"]
        assert len(quarters) == sample["addresses"] == (1 if sample["method"] == "chain" else 4)
        assert all(sample["min_ps"] <= quarter <= sample["max_ps"] for quarter in quarters)


def test_a_message_is_half_a_round_trip_and_a_step_is_a_line(measured: Ran) -> None:
    for sample in measured.of("sample"):
        factor = 1 if sample["method"] == "chain" else 2
        assert sample["messages"] == factor * sample["turns"]
    assert measured.of("sample")[0]["turns"] == measured.meta["options"]["turns"] == 100


def test_what_was_checked_is_at_least_what_was_measured(measured: Ran) -> None:
    token, cas, there, back = measured.of("sample")
    exchanged = sum(sample["messages"] * sample["batches"] for sample in (token, cas))
    walked = sum(sample["turns"] * sample["batches"] for sample in (there, back))
    assert measured.end["verified_messages"] >= exchanged
    assert measured.end["verified_lines"] >= walked


@pytest.mark.parametrize("methods", [("chain",), ("cas", "token"), ("chain", "token")])
def test_methods_are_measured_in_the_order_in_which_they_are_named(methods: tuple[str, ...], pingpong: Path) -> None:
    ran = run(pingpong, "--cpus", BOTH, "--methods", ",".join(methods), *QUICK)
    assert ran.status == 0, ran.stderr
    named = [sample["method"] for sample in ran.of("sample")]
    assert list(dict.fromkeys(named)) == list(methods)
    assert named.count("chain") == 2 * methods.count("chain")


def test_memory_is_bound_and_cpus_default_to_the_mask(pingpong: Path) -> None:
    ran = run(["taskset", "-c", BOTH, str(pingpong)], "--node", "0", *QUICK)
    assert ran.status == 0, ran.stderr
    assert ran.meta["cpus"] == CPUS[:2]
    assert {sample["node"] for sample in ran.of("sample")} == {0} == {ran.meta["node"]}


def test_a_smaller_chain_has_smaller_batches(pingpong: Path) -> None:
    ran = run(pingpong, "--cpus", BOTH, "--methods", "chain", "--chain-bytes", "8191", *QUICK)
    assert ran.status == 0, ran.stderr
    assert ran.meta["chain_lines"] == 4096 // ran.meta["line_bytes"]
    assert {sample["turns"] for sample in ran.of("sample")} == {min(256, ran.meta["chain_lines"])}


@pytest.mark.parametrize(
    ("source", "tested"),
    [
        ("pingpong_property.c", ("exchange", "ring", "series", "slot")),
        ("pingpong_rounds.c", ("play", "ring", "series", "slice", "slot")),
    ],
)
def test_parts_by_property(source: str, tested: tuple[str, ...], tmp_path: Path) -> None:
    parts = [path for path in sources_of("pingpong") if path.stem in tested]
    check_program([HERE / source, *parts], tmp_path)


def test_probes_stand_before_the_samples_of_their_pair(measured: Ran) -> None:
    before, after = measured.of("probe")
    assert (before["when"], after["when"]) == ("before", "after")
    for probe in (before, after):
        assert len(probe["ns"]) + probe["dropped"] == 32
        assert all(probe["messages"] < ns < 10**9 for ns in probe["ns"])
        assert [probe["cpu_a"], probe["cpu_b"]] == CPUS[:2]


@pytest.mark.parametrize("flags", [SANITIZED, ("-g", "-fsanitize=thread")], ids=["addresses and undefined", "threads"])
def test_rounds_of_several_pairs_are_clean_under_sanitizers(flags: tuple[str, ...], tmp_path: Path) -> None:
    program = pretending(5, tmp_path, flags)
    ran = run(["setarch", "-R", str(program)], "--check-pairs", "2", *QUICK)
    assert (ran.status, ran.stderr) == (0, "")
    played = [(s["cpu_a"], s["cpu_b"]) for s in ran.of("sample") if s["phase"] == "round" and s["method"] == "token"]
    assert sorted(played) == [(a, b) for a in range(5) for b in range(a + 1, 5)]
    again = [(s["round"], s["cpu_a"], s["cpu_b"]) for s in ran.of("sample") if s["phase"] == "alone"]
    assert len({(round_, *sorted(pair)) for round_, *pair in again}) == 2
    assert ran.end["reused_slots"] == 0 and ran.end["rounds"] == 5 and ran.end["pairs"] == 10


def test_pairs_one_at_a_time_need_no_check(tmp_path: Path) -> None:
    ran = run(pretending(3, tmp_path), "--parallel", "0", "--check-pairs", "9", "--methods", "token", *QUICK)
    assert ran.status == 0, ran.stderr
    assert [(s["round"], s["cpu_a"], s["cpu_b"]) for s in ran.of("sample")] == [(0, 0, 1), (1, 0, 2), (2, 1, 2)]
    assert ran.meta["check_pairs"] == 0


def test_lines_come_back_only_when_memory_runs_short(tmp_path: Path) -> None:
    ran = run(
        pretending(4, tmp_path), "--chain-bytes", str(1 << 22), "--methods", "token", *QUICK, "--check-pairs", "0"
    )
    assert ran.status == 0, ran.stderr
    assert ran.meta["slots"] == 3 and ran.end["pairs"] == 6 and ran.end["reused_slots"] == 3

"""Visits of memory benchmarks: their steps, their number, and how their values are combined."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from asct.benchmarks.cross_numa_bandwidth import BENCHMARK
from asct.instruments.memory.combining import combined, pooled_noise
from asct.instruments.memory.kernel_flags import noise_flags
from asct.instruments.memory.visits import VISIT_FLAGS, base_name, visit_number
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.record import Measurement, Record, Stats
from asct.sdk.samples import KernelRun
from asct.sdk.step import Output, Step
from tests.benchmarks.streams import output_of
from tests.benchmarks.test_contract import host, needed, node
from tests.records import record

GIB = 1 << 30
FACTS = host(node(0, [0, 1]), node(1, [2, 3]))


def steps(done: Sequence[Output] = (), earlier: Sequence[Record] = (), **settings: Any) -> list[Step]:
    params = BENCHMARK.params_model(**settings)
    return list(BENCHMARK.steps(params, Context(FACTS, "/work", tuple(done), needed(BENCHMARK), earlier=earlier)))


def ran(found: Sequence[Step], rates: Sequence[float]) -> list[Output]:
    """Return outputs with one rate per visit."""
    return [output_of(step, lambda one, _: rates[visit_number(one.name) - 1]) for step in found]


def test_every_visit_has_all_processes_in_an_order_of_its_own() -> None:
    found = steps(visits=20)
    visits = [found[at : at + 4] for at in range(0, 80, 4)]
    once = {"node0-memory0", "node0-memory1", "node1-memory0", "node1-memory1"}
    assert [{base_name(step.name) for step in one} for one in visits] == [once] * 20
    assert [{visit_number(step.name) for step in one} for one in visits] == [{n} for n in range(1, 21)]
    assert len({tuple(base_name(step.name) for step in one) for one in visits}) > 5
    assert found == steps(visits=20), "the order is reproducible"
    assert found != steps(visits=20, seed=2)
    firsts = {tuple(step.name for step in steps(visits=20, seed=seed)[:4]) for seed in range(20)}
    assert len(firsts) > 5, "the first visit has no fixed order either"
    assert len({step.name for step in found}) == 80


def test_the_values_have_the_order_of_the_pairs_whatever_the_order_of_the_processes() -> None:
    for seed in range(5):
        params = BENCHMARK.params_model(visits=2, seed=seed)
        found = BENCHMARK.parse(params, ran(steps(visits=2, seed=seed), [30e9, 31e9]), FACTS)
        pairs = [(item.coords["run_node"], item.coords["memory_node"]) for item in found if item.metric == "bandwidth"]
        assert pairs == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_a_steady_pilot_is_enough() -> None:
    first = steps()
    assert len(first) == 6 * 4
    done = ran(first, [30e9, 30.1e9, 29.9e9, 30e9, 30.1e9, 29.9e9])
    assert steps(done) == []
    assert len(steps(done[:10])) == 14


def test_a_scattered_pilot_asks_for_more_and_no_more_after_them() -> None:
    rates = [30e9, 20e9, 40e9, 33e9, 27e9, 30e9, *[30e9] * 6]
    done = ran(steps(), rates)
    more = steps(done)
    assert [visit_number(step.name) for step in more] == [n for n in range(7, 13) for _ in range(4)]
    assert steps([*done, *ran(more, rates)]) == []


def test_a_pilot_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsing the output for hundreds of CPUs takes a long time."""
    rates = [30e9, 20e9, 40e9, 33e9, 27e9, 30e9, *[30e9] * 6]
    done = ran(steps(), rates)
    parsed = []
    real = type(BENCHMARK).pilot_of

    def counted(self: Any, params: Any, outputs: Sequence[Output], facts: HostFacts) -> Any:
        parsed.append(len(outputs))
        return real(self, params, outputs, facts)

    monkeypatch.setattr(type(BENCHMARK), "pilot_of", counted)
    more = steps(done)
    assert len(more) == 24
    assert steps([*done, *ran(more, rates)]) == []
    assert parsed == [24]


def windows(step: Step) -> int:
    return int(step.arguments[step.arguments.index("--windows") + 1])


def test_visits_behind_the_pilot_take_the_samples_that_it_requires() -> None:
    rates = [30e9, 20e9, 40e9, 33e9, 27e9, 30e9]
    first = steps()
    assert {windows(step) for step in first} == {63}
    assert {windows(step) for step in steps(ran(first, rates))} == {21}
    assert {windows(step) for step in steps(ran(steps(iterations=9), rates), iterations=9)} == {9}


def earlier_record(between: float, within: float, *flags: str) -> Record:
    stats = Stats(n=378, median=30e9, mad=1e8, min=20e9, max=40e9, visits=6, between=between**2, within=within**2)
    measured = {"benchmark": BENCHMARK.name, "version": BENCHMARK.version, "metric": "bandwidth", "unit": "B/s"}
    return record(30e9, **measured, better="higher", stats=stats, flags=list(flags))


def test_an_earlier_run_is_the_pilot() -> None:
    scattered = [earlier_record(3e9, 1e9)]
    found = steps(earlier=scattered)
    assert {visit_number(step.name) for step in found} == set(range(1, 13))
    assert {windows(step) for step in found} == {21}
    assert steps(ran(found, [30e9] * 12), scattered) == []
    assert len(steps(earlier=[earlier_record(1e7, 1e9)])) == 6 * 4
    assert len(steps(earlier=scattered, visits=2)) == 2 * 4
    assert {windows(step) for step in steps(earlier=scattered, visits=2)} == {63}


@pytest.mark.parametrize("flag", ["noisy-steal", "noisy-frequency", "moved"])
def test_an_earlier_run_that_was_disturbed_is_no_pilot(flag: str) -> None:
    scattered, other = earlier_record(3e9, 1e9), earlier_record(3e9, 1e9, flag)
    assert steps(earlier=[scattered, other]) == steps()
    assert len(steps(earlier=[earlier_record(3e9, 1e9, "noisy")])) == 12 * 4, "a wide value needs its visits"


def test_a_number_that_is_set_is_kept() -> None:
    done = ran(steps(visits=3), [30e9, 10e9, 50e9])
    assert steps(done, visits=3) == []
    params = BENCHMARK.params_model(visits=3)
    assert BENCHMARK.steps_known_ahead(params, FACTS)
    assert not BENCHMARK.steps_known_ahead(BENCHMARK.params_model(), FACTS)
    [first, *_] = [item for item in BENCHMARK.parse(params, done, FACTS) if item.metric == "bandwidth"]
    assert first.value == 30e9
    assert first.stats is not None
    assert (first.stats.visits, first.stats.ci95) == (3, None)


def test_the_estimate_counts_the_visits() -> None:
    one, six = (BENCHMARK.needs(BENCHMARK.params_model(**given), FACTS).seconds for given in ({"visits": 1}, {}))
    assert six == pytest.approx(9 * one), "between the six of the pilot and twelve"


def of_visits(values: Sequence[float], **flags: Sequence[int]) -> list[list[Measurement]]:
    """Return one value per visit. `flags` specifies the visits (from 0) that have each flag; `_` stands for `-`."""
    found = []
    for at, value in enumerate(values):
        mine = tuple(name.replace("_", "-") for name, visits in flags.items() if at in visits)
        stats = Stats(n=10, median=value, mad=value * 0.01, ci95=None, min=value * 0.9, max=value * 1.1)
        found.append([Measurement("latency", value, {"level": "L1"}, stats, mine)])
    return found


def test_the_value_is_the_median_of_the_visits_with_both_variances() -> None:
    [found] = combined(of_visits([100, 101, 99, 102, 98, 100]), 0.1)
    assert found.value == 100
    stats = found.stats
    assert stats is not None
    assert (stats.n, stats.visits, stats.min, stats.max) == (60, 6, pytest.approx(88.2), pytest.approx(112.2))
    assert stats.between == pytest.approx(2.0)
    assert stats.within == pytest.approx(1.4826**2, rel=0.01)
    assert found.flags == ()


def test_dropped_samples_of_all_visits_are_counted() -> None:
    def dropping(*counts: int | None) -> Stats:
        visits = [
            [replace(item, stats=item.stats and item.stats.model_copy(update={"dropped": count})) for item in visit]
            for visit, count in zip(of_visits([100, 101, 99]), counts, strict=True)
        ]
        [found] = combined(visits, 0.1)
        assert found.stats is not None
        return found.stats

    stats = dropping(2, None, 5)
    assert (stats.n, stats.dropped) == (30, 7)
    assert stats.scaled(2.0).dropped == 7
    assert "dropped" not in dropping(None, None, None).model_dump()


def test_dropped_samples_widen_the_interval() -> None:
    def ends(dropped: int | None) -> tuple[float, float]:
        visits = [
            [replace(item, stats=item.stats and item.stats.model_copy(update={"dropped": dropped})) for item in visit]
            for visit in of_visits([100, 101, 99, 102, 98, 100])
        ]
        [found] = combined(visits, 0.1)
        assert found.stats is not None and found.stats.ci95 is not None
        return found.stats.ci95

    (low, high), (less, more) = ends(None), ends(2)
    assert (less / low, more / high) == pytest.approx((1 - 0.4 * 0.01, 1 + 0.4 * 0.01), rel=1e-4)
    least, most = ends(9)
    assert (least / low, most / high) == pytest.approx((0.9, 1.1))


def test_a_wide_interval_is_noisy() -> None:
    [found] = combined(of_visits([100, 110, 90, 105, 95, 100]), 0.03)
    assert found.flags == ("noisy",)


def test_a_count_that_is_mostly_zero_is_not_noisy() -> None:
    [found] = combined([[Measurement("missing", float(count))] for count in (0, 0, 0, 0, 0, 1)], 0.03)
    assert (found.value, found.flags) == (0.0, ())


def test_a_flag_of_a_quarter_of_the_visits_is_the_values() -> None:
    [found] = combined(of_visits([100] * 6, noisy_steal=(1,), smaller_pages=(0, 5)), 0.03)
    assert found.flags == ("smaller-pages",)


def test_two_states_and_drift_are_flagged_with_their_values() -> None:
    [found] = combined(of_visits([55, 225, 55, 225, 55, 225]), 0.03)
    assert "two-states" in found.flags
    assert found.stats is not None and found.stats.states is not None
    assert [state.value for state in found.stats.states] == [55, 225]
    assert found.stats.ci95 is not None and found.stats.ci95[0] <= 55 and found.stats.ci95[1] >= 225
    assert "drift" in combined(of_visits([100, 101, 102, 103, 104, 105]), 0.2)[0].flags
    assert {"noisy", "drift", "two-states", "moved"} == VISIT_FLAGS.keys()


def test_what_is_the_same_in_every_visit_needs_no_statistics() -> None:
    same = [[Measurement("threads", 4.0)] for _ in range(6)]
    assert combined(same, 0.03) == [Measurement("threads", 4.0)]


def run_with(noise: dict[str, Any] | None, *cycles: int) -> KernelRun:
    samples = tuple({"t": "sample", "cycle_fs": one} for one in cycles)
    return KernelRun({}, samples, {"t": "end", "ok": True} | ({"noise": noise} if noise else {}))


def test_noise_of_short_processes_adds_up() -> None:
    runs = [run_with({"elapsed_ns": 10, "steal_ns": 3, "cpus": 2, "pressure_us": None}, 5, 5) for _ in range(2)]
    assert pooled_noise(runs)["noise"] == {
        "elapsed_ns": 20, "steal_ns": 6, "cpus": 2, "pressure_us": None, "cycle_fs_min": 5, "cycle_fs_max": 5,
    }  # fmt: skip
    assert pooled_noise([run_with(None)])["noise"] is None


def test_errors_of_ticks_cancel_out() -> None:
    noise = {"cpus": 1, "elapsed_ns": 15_000_000, "own_ns": 15_000_000}
    runs = [run_with(noise | {"others_ns": error}) for error in (5_000_000, -5_000_000) * 20]
    assert noise_flags(pooled_noise(runs)) == ()
    assert noise_flags({"noise": noise | {"others_ns": 20 * 5_000_000}}) == ("noisy-pressure",), "if cut off at zero"


@pytest.mark.parametrize(("slow", "flags"), [(2, ()), (4, ("noisy-frequency",))])
def test_the_clock_counts_if_it_is_lower_for_a_quarter_of_the_samples(slow: int, flags: tuple[str, ...]) -> None:
    noise = {"cpus": 1, "elapsed_ns": 10**9, "cycle_fs_min": 322_000, "cycle_fs_max": 380_000}
    runs = [run_with(noise, 360_000 if at < slow else 333_000) for at in range(12)]
    assert noise_flags(pooled_noise(runs)) == flags


def test_noise_that_no_visit_shows_alone_reaches_every_value() -> None:
    # 4 % of 100 ms are below three ticks of the CPU times; of 600 ms they are above
    noise = {"cpus": 2, "elapsed_ns": 100_000_000, "others_ns": 20_000_000, "involuntary_switches": 0}
    outputs = []
    for output in ran(steps(visits=6), [30e9] * 6):
        lines = [json.loads(line) for line in output.stdout.splitlines()]
        lines[-1]["noise"] = noise
        outputs.append(Output(output.step, 0, {"stdout": "\n".join(map(json.dumps, lines)) + "\n"}))
    params = BENCHMARK.params_model(visits=6)
    found = [item for item in BENCHMARK.parse(params, outputs, FACTS) if item.metric == "bandwidth"]
    assert all("noisy-pressure" in item.flags for item in found)


@pytest.mark.parametrize(
    ("after", "cycle_fs", "moved"),
    [
        ([4100, 4150, 4200, 4250], 300_000, False),
        ([9100, 9150, 9200, 9250], 300_000, True),
        ([9100, 9150, 9200, 9250], 660_000, False),  # clocks of less than half the rate
    ],
)
def test_a_virtual_cpu_that_moved_during_a_visit_is_told(after: list[int], cycle_fs: int, moved: bool) -> None:
    outputs = ran(steps(visits=6), [100.0] * 6)
    probes = [
        {"t": "probe", "when": when, "cpu_a": 0, "cpu_b": 1, "ns": ns, "cycle_fs": [cycle, cycle]}
        for when, ns, cycle in (("before", [4110, 4160, 4190, 4230], 300_000), ("after", after, cycle_fs))
    ]
    lines = outputs[2].files["stdout"].splitlines()
    texts = [*lines[:2], json.dumps(probes[0]), *lines[2:-1], json.dumps(probes[1]), lines[-1]]
    outputs[2] = Output(outputs[2].step, 0, {**outputs[2].files, "stdout": "\n".join(texts) + "\n"})
    found = BENCHMARK.parse(BENCHMARK.params_model(visits=6), outputs, FACTS)
    values = [one for one in found if one.metric == "bandwidth"]
    flagged = [one for one in values if "moved" in one.flags]
    assert len(flagged) == (4 if moved else 0), "all values of the visit"
    assert all(one.stats is not None and one.stats.moved == 1 for one in flagged)

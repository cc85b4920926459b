"""How the baseline is chosen, which runs cannot be the baseline, and what `accept` changes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from asct.analysis.baseline import Baseline, absent, acceptable, find_baseline, unfit
from asct.analysis.diff.build import opened
from asct.analysis.hardware import host_change
from asct.errors import UsageError
from asct.registry import Registry
from asct.sdk.facts import Cpu, HostFacts, Memory
from asct.store.accepted import NAME, accept, acceptance
from asct.store.folders import link_label
from asct.store.model import BaselineValue, HostEntry, JobEntry, SecondValue, Verdict
from asct.store.reader import StoredRun, read_run
from asct.store.writer import RunWriter
from tests.store.make import facts, head, record

HEX = "3f9c2a"


def run(
    results: Path, second: int, value: float = 1e-7, plan: str = "gate", flags: Sequence[str] = (), **end: Any
) -> StoredRun:
    """Return a run that started at this second and has two metrics with the same value."""
    name, started = f"20261121T0428{second:02}Z-{HEX}", f"2026-11-21T04:28:{second:02}.000Z"
    writer = RunWriter.create(results, head(run=name, plan=plan, started_at=started), "plan: 1\n", "{}")
    writer.document(writer.layout.facts("h"), facts())
    own = {"run": name, "plan": plan, "value": value, "point": {}, "flags": list(flags)}
    written = [record(metric=metric, **own) for metric in ("latency", "one_way")]
    writer.layout.records.write_text("".join(item.model_dump_json(by_alias=True) + "\n" for item in written))
    writer.finish(**{"status": "complete", "exit_code": 0, **end})
    writer.close()
    return read_run(writer.layout.root)


def found(name: str, current: StoredRun) -> Baseline:
    return find_baseline(name, current.layout.root, Registry())


def value(baseline: Baseline, metric: str = "latency") -> float:
    assert not baseline.problem, baseline.problem
    return next(group.value for key, group in baseline.groups.items() if key[2] == metric)


def spread(baseline: Baseline, metric: str = "latency") -> tuple[float, ...]:
    assert not baseline.problem, baseline.problem
    return baseline.spread(next(group for key, group in baseline.groups.items() if key[2] == metric))


FAILED = Verdict(outcome="fail", severity="fail", host="h", id="a", metric="latency")
BASE = BaselineValue(run="gate/x", chosen="", value=1e-7, change=0.2, limit=0.1)
AT = {"level": "DRAM"}
WORSE = FAILED.model_copy(update={"outcome": "unknown", "value": 1.2e-7, "baseline": BASE})
MISSING = WORSE.model_copy(update={"value": None, "baseline": BASE.model_copy(update={"change": None})})
AGAIN = SecondValue(value=1e-7, change=0.0, confirmed=False)
UNCONFIRMED = FAILED.model_copy(
    update={"outcome": "pass", "at": AT, "baseline": BASE.model_copy(update={"again": AGAIN})}
)
LACKING = JobEntry(id="a", benchmark="b", version="1", host="h", points=1, repeats=1, counts={"failed": 1})


def test_latest_is_the_newest_earlier_run_without_faults(tmp_path: Path) -> None:
    run(tmp_path, 1, 1e-7)
    good = run(tmp_path, 2, 2e-7)
    run(tmp_path, 3, 3e-7, verdicts=[FAILED], exit_code=1)
    run(tmp_path, 4, 4e-7, status="interrupted", exit_code=130)
    run(tmp_path, 5, 5e-7, jobs=[LACKING], exit_code=3)
    now = run(tmp_path, 6, 6e-7)
    baseline = found("latest", now)
    assert baseline.run == f"gate/{good.layout.root.name}"
    assert value(baseline) == 2e-7
    assert "newest" in baseline.why


def test_the_points_of_the_judged_run_are_known(tmp_path: Path) -> None:
    run(tmp_path, 1)
    now = run(tmp_path, 2)
    job = {"host": "h", "id": "a", "settings": {}, "points": [{"id": "p1", "swept": {}}, {"id": "p2", "swept": {}}]}
    now.layout.resolved.write_text(json.dumps({"jobs": [job]}))
    assert found("latest", now).planned == {("h", "a", "p1"), ("h", "a", "p2")}


def test_a_later_run_is_neither_the_baseline_nor_counts_for_the_spread(tmp_path: Path) -> None:
    """If the report of a run is rendered again, its verdicts must not change."""
    run(tmp_path, 1, 1e-7)
    run(tmp_path, 2, 2e-7)
    now = run(tmp_path, 3, 3e-7)
    run(tmp_path, 4, 4e-7)
    assert spread(found("latest", now)) == (1e-7, 2e-7)


def test_the_spread_is_that_of_the_unchanged_runs_nearest_to_the_baseline(tmp_path: Path) -> None:
    first = run(tmp_path, 1, 1e-7)
    golden = run(tmp_path, 2, 2e-7)
    run(tmp_path, 3, 3e-7, verdicts=[FAILED], exit_code=1)
    later = run(tmp_path, 4, 4e-7)
    now = run(tmp_path, 5, 5e-7)
    link_label(golden.layout.root, "golden")
    assert spread(found("golden", now)) == (1e-7, 2e-7, 4e-7)
    accept(tmp_path / "gate", acceptance(later.layout.root.name, "*.latency", "a new compiler"))
    assert spread(found("golden", now)) == (4e-7,)
    first.layout.records.write_text("{}\n")
    assert spread(found("golden", now), "one_way") == (2e-7, 4e-7)


def test_a_run_on_other_hardware_does_not_count_for_the_spread(tmp_path: Path) -> None:
    hosts = [HostEntry(name="h", transport="local", status="ok")]
    runs = [run(tmp_path, second, second * 1e-7, hosts=hosts) for second in (1, 2, 3)]
    for stored, model in zip(runs, ("Old", "New", "New"), strict=True):
        machine = facts().model_copy(update={"cpu": Cpu(model=model)})
        stored.layout.facts("h").write_text(machine.model_dump_json(by_alias=True))
    assert spread(found("latest", runs[-1])) == (2e-7,)


def test_without_an_earlier_run_there_is_no_baseline(tmp_path: Path) -> None:
    assert "no earlier run that can serve as the baseline" in found("latest", run(tmp_path, 1)).problem


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ({"verdicts": [FAILED], "exit_code": 1}, "has 1 failed expectation"),
        ({"status": "interrupted", "exit_code": 130}, "is interrupted"),
        ({"jobs": [LACKING], "exit_code": 3}, "lacks 1 measurement"),
        (
            {"verdicts": [WORSE], "exit_code": 3},
            "has 1 value that seems to have regressed but whose verdict is unknown",
        ),
        ({"verdicts": [MISSING], "exit_code": 3}, "lacks 1 value that its baseline contains"),
    ],
)
def test_a_run_with_faults_is_never_a_baseline(tmp_path: Path, end: dict[str, Any], reason: str) -> None:
    bad = run(tmp_path, 1, **end)
    assert unfit(bad) == reason
    assert reason in found(bad.layout.root.name, run(tmp_path, 2)).problem


def test_an_unknown_verdict_does_not_matter(tmp_path: Path) -> None:
    """Otherwise, the first run of a plan with a baseline could never become the baseline."""
    unknown = FAILED.model_copy(update={"outcome": "unknown"})
    allowed = MISSING.model_copy(update={"if_missing": "warn"})
    assert unfit(run(tmp_path, 1, verdicts=[unknown, allowed], exit_code=3)) == ""


@pytest.mark.parametrize("change", [{"severity": "warn"}, {"baseline": BASE.model_copy(update={"change": -0.2})}])
def test_an_unknown_verdict_matters_only_if_the_value_is_worse_and_would_fail(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    assert unfit(run(tmp_path, 1, verdicts=[WORSE.model_copy(update=change)], exit_code=3)) == ""


def test_a_higher_value_of_a_rate_with_an_unknown_verdict_is_no_regression(tmp_path: Path) -> None:
    stored = run(tmp_path, 1, verdicts=[WORSE], exit_code=3)
    stored.layout.records.write_text(stored.layout.records.read_text().replace('"lower"', '"higher"'))
    assert unfit(stored) == ""


def test_an_unconfirmed_regression_is_neither_in_the_spread_nor_the_latest_baseline(tmp_path: Path) -> None:
    good = run(tmp_path, 1, 1e-7)
    run(tmp_path, 2, 2e-7, verdicts=[UNCONFIRMED])
    baseline = found("latest", run(tmp_path, 3, 3e-7))
    assert baseline.run == f"gate/{good.layout.root.name}"
    assert spread(baseline) == (1e-7,)
    assert spread(baseline, "one_way") == (1e-7, 2e-7)


def test_reused_values_do_not_count_for_the_spread(tmp_path: Path) -> None:
    run(tmp_path, 1, 1e-7)
    run(tmp_path, 2, 1e-7, flags=["reused"])
    run(tmp_path, 3, 3e-7)
    assert spread(found("latest", run(tmp_path, 4))) == (1e-7, 3e-7)


OLD = (2.0e-7, 2.02e-7, 1.98e-7, 2.01e-7, 1.99e-7)
NEW = (1.0e-7, 1.01e-7, 0.99e-7, 1.02e-7, 1.0e-7)


@pytest.mark.parametrize(
    ("earlier", "counted"),
    [
        ((*OLD, *NEW), NEW),
        ((*NEW, *OLD), OLD),
        ((*OLD, *NEW, *OLD), (*OLD, *NEW, *OLD)),  # two states that alternate are the spread, not a new level
        ((*OLD, *NEW[:4]), (*OLD, *NEW[:4])),  # too few for a spread of their own
    ],
)
def test_the_spread_is_that_of_the_level_of_the_baseline(
    tmp_path: Path, earlier: Sequence[float], counted: Sequence[float]
) -> None:
    """Otherwise, the runs before an improvement would hide a later regression to the old value."""
    for second, measured in enumerate(earlier):
        run(tmp_path, second, measured)
    assert spread(found("latest", run(tmp_path, 30))) == tuple(counted)


def test_runs_before_an_acceptance_do_not_count_even_if_the_baseline_is_newer(tmp_path: Path) -> None:
    run(tmp_path, 1, 1e-7)
    accepted = run(tmp_path, 2, 2e-7)
    run(tmp_path, 3, 3e-7)
    accept(tmp_path / "gate", acceptance(accepted.layout.root.name, "*.latency", "a new compiler"))
    baseline = found("latest", run(tmp_path, 4))
    assert spread(baseline) == (2e-7, 3e-7)
    assert spread(baseline, "one_way") == (1e-7, 2e-7, 3e-7)


@pytest.mark.parametrize(
    ("order", "expected"),
    [(("gone", "old", "now", "later"), 2e-7), (("old", "gone", "later", "now"), 3e-7)],
    ids=["outside", "replaced"],
)
def test_an_acceptance_outside_the_compared_runs_or_replaced_by_another_is_not_read(
    tmp_path: Path, order: tuple[str, ...], expected: float
) -> None:
    """The runs that are compared are `old` and `now`."""
    runs = {name: run(tmp_path, second, second * 1e-7) for second, name in enumerate(order, 1)}
    for name in ("gone", "later"):
        accept(tmp_path / "gate", acceptance(runs[name].layout.root.name, "*.latency", "a new compiler"))
    shutil.rmtree(runs["gone"].layout.root)
    assert value(found(runs["old"].layout.root.name, runs["now"])) == expected


def test_the_last_line_that_covers_a_metric_counts(tmp_path: Path) -> None:
    old, *accepted = (run(tmp_path, second, second * 1e-7) for second in (1, 2, 3, 4))
    for stored, metric in zip(accepted, ("a.*", "a.latency", "a.*"), strict=True):
        accept(tmp_path / "gate", acceptance(stored.layout.root.name, metric, "a new compiler"))
    assert value(found(old.layout.root.name, run(tmp_path, 5))) == 4e-7


def test_two_runs_of_a_plan_are_compared_with_the_spread_of_its_unchanged_runs(tmp_path: Path) -> None:
    runs = [run(tmp_path, second, (1.0 + second / 1000) * 1e-7) for second in range(8)]
    names = [stored.layout.root.name for stored in runs]
    values = {name: stored.records()[0].value for name, stored in zip(names, runs, strict=True)}

    def counted(base: int, *others: int) -> list[list[str]]:
        _, sources, _ = opened(tmp_path, [f"gate/{names[number]}" for number in (base, *others)], None, Registry())
        found = [next(v for k, v in one.spread.items() if k[2] == "latency") for one in sources]
        return [[name for name, value in values.items() if value in spread] for spread in found]

    assert counted(0, 7) == [names[:7]]
    assert counted(7, 0) == [names[7:]], "only runs before the one that is judged count"
    assert counted(0, 6, 7) == [names[:6], names[:6]], "runs that are compared do not count"
    for number in (2, 5):
        accept(tmp_path / "gate", acceptance(names[number], "*.latency", "a new compiler"))
    assert [counted(base, 7) for base in (1, 4, 6)] == [[names[:2]], [names[2:5]], [names[5:7]]]
    assert (
        opened(tmp_path, [str(runs[0].layout.root), str(run(tmp_path / "x", 9).layout.root)], None, Registry())[1][
            0
        ].spread
        == {}
    )


def test_a_bare_label_or_id_of_another_plan_is_not_the_baseline(tmp_path: Path) -> None:
    other, now = run(tmp_path, 1, plan="other"), run(tmp_path, 2)
    link_label(other.layout.root, "golden")
    for name in ("golden", other.layout.root.name):
        problem = found(name, now).problem
        assert f"no run of this plan has the label or id `{name}`" in problem
        assert "asct results label gate/latest" in problem
    for name in ("other/golden", str(other.layout.root)):
        assert found(name, now).run == f"other/{other.layout.root.name}"


def test_a_label_of_several_other_plans_names_them(tmp_path: Path) -> None:
    for plan in ("other", "third"):
        link_label(run(tmp_path, 1, plan=plan).layout.root, "golden")
    problem = found("golden", run(tmp_path, 2)).problem
    assert problem.endswith("E506 `golden` matches several runs: other/golden, third/golden")


def test_a_label_given_at_the_start_of_runs_of_several_plans_names_the_run_of_the_plan(tmp_path: Path) -> None:
    run(tmp_path, 1, plan="other", label="golden")
    own, now = run(tmp_path, 2, label="golden"), run(tmp_path, 3)
    assert (found("golden", now).run, absent("golden", tmp_path, "gate")) == (f"gate/{own.layout.root.name}", "")
    again = run(tmp_path, 4, label="golden")
    problem = found("golden", run(tmp_path, 5)).problem
    assert problem.endswith(f"several runs: gate/{own.layout.root.name}, gate/{again.layout.root.name}")


def test_a_plan_is_warned_of_a_baseline_that_cannot_be_used(tmp_path: Path) -> None:
    assert "E505 no run in" in absent("golden", tmp_path, "gate")
    bad, good = run(tmp_path, 1, verdicts=[FAILED], exit_code=1), run(tmp_path, 2)
    assert absent(bad.layout.root.name, tmp_path, "gate").endswith("has 1 failed expectation")
    link_label(good.layout.root, "golden")
    assert absent("golden", tmp_path, "gate") == ""
    assert absent("gate/golden", tmp_path, "other") == ""
    assert absent("golden", tmp_path, "other").startswith("no run of this plan has the label or id `golden`")
    assert absent("latest", tmp_path / "nothing", "gate") == ""


def test_other_plans_are_not_listed_to_find_the_latest_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other, good, now = run(tmp_path, 1, plan="another"), run(tmp_path, 2), run(tmp_path, 3)
    read: list[Path] = []

    def noted(root: Path) -> StoredRun:
        read.append(root)
        return read_run(root)

    for module in ("asct.analysis.baseline", "asct.store.find"):
        monkeypatch.setattr(f"{module}.read_run", noted)
    assert found("latest", now).run == f"gate/{good.layout.root.name}"
    assert other.layout.root not in read
    assert len(read) == len(set(read)) == 2


def test_a_label_is_a_link_that_moves(tmp_path: Path) -> None:
    first, second, now = run(tmp_path, 1, 1e-7), run(tmp_path, 2, 2e-7), run(tmp_path, 3)
    link_label(first.layout.root, "golden")
    assert value(found("golden", now)) == 1e-7
    link_label(second.layout.root, "golden")
    assert value(found("golden", now)) == 2e-7
    assert value(found(str(tmp_path / "gate" / "golden"), now)) == 2e-7


@pytest.mark.parametrize("label", ["", "a/b", "../up", "-x", "latest", f"20261121T042801Z-{HEX}", "accepted.jsonl",
                                   "x" * 129, "notes.txt"])  # fmt: skip
def test_what_cannot_be_a_label_is_a_usage_error(tmp_path: Path, label: str) -> None:
    root = run(tmp_path, 1).layout.root
    (root.parent / "notes.txt").touch()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError) as caught:
        link_label(root, label)
    assert caught.value.diagnostics[0].code == "E520" and f"write `{label}`" not in str(
        caught.value.diagnostics[0].hint
    )
    assert sorted(tmp_path.rglob("*")) == before


def test_a_label_whose_run_is_gone_does_not_name_that_of_another_plan(tmp_path: Path) -> None:
    golden, now, other = run(tmp_path, 1), run(tmp_path, 2), run(tmp_path, 3, plan="other")
    for item in (golden, other):
        link_label(item.layout.root, "golden")
    shutil.rmtree(golden.layout.root)
    gone = f"the run {golden.layout.root.name}, which has the label `golden`, no longer exists"
    assert (found("golden", now).problem, absent("golden", tmp_path, "gate")) == (gone, gone)
    assert found("x" * 5000, now).problem


def test_a_baseline_that_is_gone_or_damaged_is_a_problem_not_an_error(tmp_path: Path) -> None:
    now = run(tmp_path, 2)
    assert "E505 no run" in found("golden", now).problem
    damaged = run(tmp_path, 1)
    damaged.layout.records.write_text('{"schema": "asct.record/9"}\n{}\n')
    assert "E509" in found(damaged.layout.root.name, now).problem
    assert "this run itself" in found(now.layout.root.name, now).problem
    unfinished = run(tmp_path, 3, status="running", exit_code=None)
    assert "this run itself" in found(unfinished.layout.root.name, unfinished).problem


def test_accepted_values_replace_those_of_an_older_baseline(tmp_path: Path) -> None:
    old, newer, now = run(tmp_path, 1, 1e-7), run(tmp_path, 2, 2e-7), run(tmp_path, 3)
    accept(tmp_path / "gate", acceptance(newer.layout.root.name, "a.latency", "slower memory"))
    baseline = found(old.layout.root.name, now)
    assert (value(baseline), value(baseline, "one_way")) == (2e-7, 1e-7)
    named, accepted = f"named `{old.layout.root.name}` in the plan", "accepted: slower memory"
    assert {key[2]: baseline.chosen(group) for key, group in baseline.groups.items()} == {
        "latency": accepted, "one_way": named
    }  # fmt: skip
    assert baseline.origin == f"{named}; 1 value is from {newer.layout.root.name} ({accepted})"
    later = run(tmp_path, 4, 4e-7)
    assert value(found(later.layout.root.name, now)) == 4e-7  # the baseline is newer than the acceptance


def test_accepted_values_are_compared_with_the_hardware_that_measured_them(tmp_path: Path) -> None:
    hosts = [HostEntry(name="h", transport="local", status="ok")]
    old, newer, now = (run(tmp_path, second, hosts=hosts) for second in (1, 2, 3))
    for stored, model in ((old, "Old"), (newer, "New"), (now, "New")):
        machine = facts().model_copy(update={"cpu": Cpu(model=model)})
        stored.layout.facts("h").write_text(machine.model_dump_json(by_alias=True))
    accept(tmp_path / "gate", acceptance(newer.layout.root.name, "a.latency", "new machine"))
    baseline = found(old.layout.root.name, now)
    changes = {key[2]: baseline.hardware_change(group) for key, group in baseline.groups.items()}
    assert changes == {"latency": "", "one_way": "different hardware: the CPU was Old and is now New"}


def test_a_damaged_list_of_acceptances_is_a_problem(tmp_path: Path) -> None:
    old, now = run(tmp_path, 1), run(tmp_path, 2)
    (tmp_path / "gate" / NAME).write_text("{\n")
    assert "E508" in found(old.layout.root.name, now).problem


def test_only_values_that_were_measured_can_be_accepted(tmp_path: Path) -> None:
    stored = run(tmp_path, 1, verdicts=[FAILED], exit_code=1)
    name = stored.layout.root.name
    assert acceptable(stored, acceptance(name, "a.*", "new firmware")) == ""
    assert "no values of `a.iops`" in acceptable(stored, acceptance(name, "a.iops", "new firmware"))


def host(**changes: Any) -> HostFacts:
    return HostFacts(host="h", collected_at="t", **changes)


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (host(cpu=Cpu(model="A", cpus=4)), host(cpu=Cpu(model="B", cpus=4)), "the CPU was A and is now B"),
        (host(cpu=Cpu(cpus=4)), host(cpu=Cpu(cpus=8)), "the number of CPUs was 4 and is now 8"),
        (
            host(memory=Memory(total_bytes=8 << 30)),
            host(memory=Memory(total_bytes=16 << 30)),
            "was 8 GiB and is now 16 GiB",
        ),
        (host(memory=Memory(total_bytes=1000)), host(memory=Memory(total_bytes=990)), ""),
        (host(), host(cpu=Cpu(model="B")), ""),
        (None, host(), "the facts of the host are missing"),
    ],
)
def test_other_hardware_is_named(before: HostFacts | None, after: HostFacts | None, change: str) -> None:
    assert change in host_change(before, after)
    assert bool(change) == bool(host_change(before, after))

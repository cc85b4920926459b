from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.diagnostics.render import render
from tests.plan.loading import HEAD, load, plan_of, where

TEXT = HEAD + (
    "vars: {runtime: 30s, disk: {size: 1}}\n"
    "hosts: {a.lab: {}, local: {}}\n"
    "benchmarks:\n"
    "  - {id: m, uses: storage-fio, repeats: 5, sweep: {iodepth: [1, 2]}}\n"
    "  - {id: m2, extends: m}\n"
    "  - {id: v1.2, uses: latency-sweep}\n"
    "expect: [{id: e, metric: m.iops, min: 3, by: {local: {min: 2}}}]\n"
)


@pytest.mark.parametrize(
    ("text", "read", "expected"),
    [
        ("vars.runtime=5s", lambda plan: plan.vars["runtime"].value, "5s"),
        ("vars.runtime=5", lambda plan: plan.vars["runtime"].value, 5),
        ("vars.runtime='5'", lambda plan: plan.vars["runtime"].value, "5"),
        ("vars.runtime=[1, 2]", lambda plan: plan.vars["runtime"].plain(), [1, 2]),
        ("vars.runtime=no", lambda plan: plan.vars["runtime"].value, "no"),
        ("vars.runtime=a=b", lambda plan: plan.vars["runtime"].value, "a=b"),
        ("vars.disk.size=2", lambda plan: plan.vars["disk"].plain(), {"size": 2}),
        ("expect.e.min=2", lambda plan: plan.expect[0].bound.min.value, 2),
        ("expect.m.iops.max=9k", lambda plan: plan.expect[0].bound.max.value, "9k"),
        ("expect.e.by.local.min=1", lambda plan: plan.expect[0].by["local"][1].min.value, 1),
        ("defaults.repeats=2", lambda plan: plan.execution.repeats, 2),
        ("defaults.retry.max=2", lambda plan: plan.execution.retry.max, 2),
        ("defaults.config.k=v", lambda plan: plan.defaults_config["k"].value, "v"),
        ("limits.points=7", lambda plan: plan.limits.points, 7),
        ("limits.duration=1h", lambda plan: plan.limits.duration_s, 3600.0),
        ("report.formats=[csv]", lambda plan: plan.report.formats, ("csv",)),
        ("baseline.run=latest", lambda plan: plan.baseline.value, "latest"),
        ("strict=true", lambda plan: plan.execution.strict, True),
        ("name=u", lambda plan: plan.name, "u"),
        ("hosts.local.user=me", lambda plan: plan.hosts["local"].user, "me"),
        ("hosts.a.lab.port=99", lambda plan: plan.hosts["a.lab"].port, 99),
        ("hosts.a.lab.vars.x=y", lambda plan: plan.hosts["a.lab"].vars["x"].value, "y"),
        ("m.repeats=1", lambda plan: [entry.execution.repeats for entry in plan.benchmarks], [1, 5, None]),
        ("storage-fio.timeout=9s", lambda plan: [e.execution.timeout_s for e in plan.benchmarks], [9.0, 9.0, None]),
        ("v1.2.tags=[x]", lambda plan: plan.benchmarks[2].tags, ("x",)),
        ("m.sweep.iodepth=[9]", lambda plan: plan.benchmarks[0].sweep.axes["iodepth"].plain(), [9]),
        ("m.iodepth=[1, 2]", lambda plan: [(p, n.plain()) for p, n in plan.overrides], [("m.config.iodepth", [1, 2])]),
        ("m.config.rw=read", lambda plan: [(p, n.value) for p, n in plan.overrides], [("m.config.rw", "read")]),
        ("v1.2.pages=4K", lambda plan: [(p, n.value) for p, n in plan.overrides], [("v1.2.config.pages", "4K")]),
        ("storage-fio.bs=4K", lambda plan: [p for p, _ in plan.overrides], ["storage-fio.config.bs"]),
        ("peak-bandwidth.data_size=4K", lambda plan: [p for p, _ in plan.overrides], ["peak-bandwidth.data_size"]),
    ],
)  # fmt: skip
def test_what_can_be_set(text: str, read: object, expected: object) -> None:
    assert read(plan_of(TEXT, sets=[text])) == expected


def test_the_last_one_wins_and_all_apply() -> None:
    plan = plan_of(TEXT, sets=["vars.runtime=1s", "defaults.warmup=3", "vars.runtime=2s"])
    assert (plan.vars["runtime"].value, plan.execution.warmup) == ("2s", 3)
    assert plan.files["--set"].splitlines()[1] == "defaults.warmup=3"


def test_it_wins_over_a_profile() -> None:
    text = TEXT + "profiles: {q: {vars: {runtime: 9s}}}\n"
    assert plan_of(text, profile="q", sets=["vars.runtime=1s"]).vars["runtime"].value == "1s"


def test_templates_in_values_read_the_plan() -> None:
    plan = plan_of(TEXT, sets=["report.title=for ${vars.runtime}"])
    assert plan.report.title == "for 30s"


@pytest.mark.parametrize(
    ("text", "place", "message", "hint"),
    [
        ("foo", "E119 --set:1:1", "is not PATH=VALUE", "write `--set"),
        ("=3", "E119 --set:1:1", "is not PATH=VALUE", "write `--set"),
        ("vars.runtime=", "E119 --set:1:1", "has no value", '""'),
        ("vars..x=1", "E119 --set:1:1", "an empty name", "write"),
        ("vars.runtme=1", "E119 --set:1:6", "no variable `runtme`", "did you mean `runtime`?"),
        ("vars=1", "E119 --set:1:1", "`vars` cannot be set as a whole", "vars.NAME"),
        ("strict.x=1", "E119 --set:1:1", "`strict` has no keys that can be set", "strict=VALUE"),
        ("var.x=1", "E119 --set:1:1", "matches nothing in the plan", "did you mean `vars`?"),
        ("runtime=5s", "E119 --set:1:1", "matches nothing in the plan", "write `--set"),
        ("hosts.a.port=1", "E119 --set:1:7", "an unknown host", "known: a.lab, local"),
        ("expect=1", "E119 --set:1:1", "`expect` cannot be set as a whole", "expect.NAME"),
        ("expect.f.min=1", "E119 --set:1:8", "an unknown expectation", "known: e, m.iops"),
        ("expect.m.iop.min=1", "E119 --set:1:8", "an unknown expectation", "did you mean `m.iops`?"),
        ("expect.e=1", "E119 --set:1:8", "does not name a bound", "min, max"),
        ("expect.e.at=1", "E119 --set:1:8", "does not name a bound", "min, max"),
        ("expect.e.severity=bad", "E112 --set:1:19", "not valid for `severity`", "one of fail"),
        ("hosts=1", "E119 --set:1:1", "an unknown host", "known: a.lab, local"),
        ("m=1", "E119 --set:1:1", "`m` cannot be set as a whole", "ID.SETTING"),
        ("m.config.a.b=1", "E119 --set:1:3", "does not name a setting", "ID.SETTING"),
        ("safety.max_written=1", "E119 --set:1:1", "`safety` cannot be changed", "in the plan"),
        ("safety.destroys=[]", "E119 --set:1:1", "`safety` cannot be changed", "in the plan"),
        ("limits.pionts=1", "E104 --set:1:8", "unknown key `pionts`", "did you mean `points`?"),
        ("defaults.timeout=60", "E112 --set:1:18", "needs a unit", "`60s`"),
        ("m.repeats=x", "E106 --set:1:11", "a whole number", ""),
        ("hosts.a.lab.prt=1", "E104 --set:1:13", "unknown key `prt`", "did you mean `port`?"),
        ("vars.runtime=[1", "E103 --set:1:15", "not valid YAML", "close the open"),
        ("vars.runtime=*a", "E108 --set:1:14", "aliases", "quote"),
        ("report.title=${vars.no}", "E121 --set:1:16", "`vars.no` is not defined", "under `vars`"),
    ],
)
def test_what_cannot_be_set(text: str, place: str, message: str, hint: str) -> None:
    found = {where(item): item for item in load(TEXT, sets=[text]).diagnostics}
    assert place in found
    assert message in found[place].message
    assert hint in found[place].hint


def test_the_place_is_in_the_option_that_is_wrong() -> None:
    loaded = load(TEXT, sets=["vars.runtime=1s", "defaults.repeats=0"])
    (item,) = loaded.diagnostics
    assert where(item) == "E112 --set:2:18"
    assert "2 │ defaults.repeats=0\n  │                  ^" in render(item, loaded.files)


@given(
    st.lists(
        st.one_of(
            st.text(),
            st.lists(
                st.sampled_from(["vars", "m", "hosts", "local", "=", ".", "[", "1", " ", "runtime", "\n", "'"])
            ).map("".join),
        ),
        max_size=3,
    )
)
def test_any_option_ends_in_a_plan_or_in_diagnostics(sets: list[str]) -> None:
    loaded = load(TEXT, sets=sets)
    assert (loaded.plan is None) is any(item.severity == "error" for item in loaded.diagnostics)
    text = "\n".join(render(item, loaded.files) for item in loaded.diagnostics)
    assert all(mark == "\n" or mark.isprintable() for mark in text)

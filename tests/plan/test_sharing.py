"""Parts that plans share: `extends` at the top level, and the files listed under `include`."""

from __future__ import annotations

from pathlib import Path

import pytest

from asct.plan.load import load_plan
from asct.plan.model import Loaded, Plan
from asct.plan.sources import plans, shipped, shipped_names
from tests.plan.loading import load_folder, where

BASE = """plan: 1
name: base
vars: {runtime: 30s, depth: 8}
defaults: {repeats: 3, timeout: 5m}
benchmarks: [latency-sweep, peak-bandwidth]
expect:
  - {metric: latency-sweep.latency, at: {level: DRAM}, max: 200 ns}
safety: {max_written: 1GiB}
"""


def whole(loaded: Loaded) -> Plan:
    assert not loaded.diagnostics, [item.message for item in loaded.diagnostics]
    assert loaded.plan is not None
    return loaded.plan


def test_maps_merge_and_lists_replace(tmp_path: Path) -> None:
    child = "plan: 1\nname: lab\nextends: base/base.yaml\nvars: {depth: 16}\nbenchmarks: [noop]\n"
    plan = whole(load_folder(tmp_path, {"p.yaml": child, "base/base.yaml": BASE}))
    assert plan.name == "lab"
    assert {name: node.value for name, node in plan.vars.items()} == {"runtime": "30s", "depth": 16}
    assert [entry.id for entry in plan.benchmarks] == ["noop"]
    assert (plan.execution.repeats, plan.execution.timeout_s) == (3, 300.0)
    assert len(plan.expect) == 1
    assert plan.safety.max_written_bytes == 1 << 30


def test_a_chain_is_followed_and_each_file_finds_its_neighbors(tmp_path: Path) -> None:
    files = {
        "p.yaml": "plan: 1\nextends: a/one.yaml\n",
        "a/one.yaml": "plan: 1\nname: one\nextends: two.yaml\nvars: {x: 1}\n",
        "a/two.yaml": "plan: 1\nname: two\nvars: {x: 2, y: 2}\nbenchmarks: [noop]\ninclude: [hosts.yaml]\n",
        "a/hosts.yaml": "hosts: {h: {transport: local}}\n",
    }
    plan = whole(load_folder(tmp_path, files))
    assert (plan.name, list(plan.hosts)) == ("one", ["h"])
    assert {name: node.value for name, node in plan.vars.items()} == {"x": 1, "y": 2}


def test_errors_in_the_extended_plan_point_into_it(tmp_path: Path) -> None:
    files = {
        "p.yaml": "plan: 1\nname: t\nextends: base.yaml\n",
        "base.yaml": "benchmarks: [noop]\nlimits: {pionts: 3}\n",
    }
    loaded = load_folder(tmp_path, files)
    assert [where(item) for item in loaded.diagnostics] == ["E104 base.yaml:2:10"]
    assert loaded.diagnostics[0].span is not None
    assert loaded.files[loaded.diagnostics[0].span.file] == files["base.yaml"]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"p.yaml": "plan: 1\nextends: no.yaml\n"}, ["E101 p.yaml:2:10"]),
        ({"p.yaml": "plan: 1\nextends: [a]\n"}, ["E106 p.yaml:2:10"]),
        ({"p.yaml": "plan: 1\nextends: p.yaml\n"}, ["E115 p.yaml:2:10"]),
        ({"p.yaml": "plan: 1\nextends: a.yaml\n", "a.yaml": "extends: p.yaml\n"}, ["E115 a.yaml:1:10"]),
        ({"p.yaml": "plan: 1\nextends: a.yaml\n", "a.yaml": "[1]\n"}, ["E106 p.yaml:2:10"]),
        ({"p.yaml": "plan: 1\nextends: a.yaml\n", "a.yaml": "\n"}, ["E106 p.yaml:2:10"]),
        ({"p.yaml": "plan: 1\nextends: /etc/passwd\n"}, ["E116 p.yaml:2:10"]),
        ({"p.yaml": "plan: 1\nextends: a.yaml\n", "a.yaml": "vars: {}\n"}, ["E107 p.yaml:1:1", "E107 p.yaml:1:1"]),
    ],
)
def test_a_wrong_extends_is_one_error_with_its_location(
    files: dict[str, str], found: list[str], tmp_path: Path
) -> None:
    assert [where(item) for item in load_folder(tmp_path, files).diagnostics] == found


@pytest.mark.parametrize("key", ["extends: other.yaml", "include: [other.yaml]"])
def test_another_file_cannot_consent(key: str, tmp_path: Path) -> None:
    consent = "safety: {max_written: 1GiB, destroys: [{host: local, device: /dev/sdz, serial: X}]}\n"
    files = {"p.yaml": f"plan: 1\nname: t\nbenchmarks: [noop]\n{key}\n", "other.yaml": consent}
    loaded = load_folder(tmp_path, files)
    assert [where(item) for item in loaded.diagnostics] == ["E126 other.yaml:1:29"]
    assert loaded.partial is not None
    assert loaded.partial.safety.destroys == ()


def test_included_benchmarks_and_expectations_come_first(tmp_path: Path) -> None:
    files = {
        "p.yaml": "plan: 1\nname: t\ninclude: [a.yaml, b.yaml]\nbenchmarks: [noop]\n",
        "a.yaml": "benchmarks: [{id: one, uses: noop}]\nexpect: [{metric: one.x, max: 1}]\n",
        "b.yaml": "benchmarks: [{id: two, extends: one}]\n",
    }
    plan = whole(load_folder(tmp_path, files))
    assert [(entry.id, entry.uses) for entry in plan.benchmarks] == [("one", "noop"), ("two", "noop"), ("noop", "noop")]
    assert [expectation.metric.value for expectation in plan.expect] == ["one.x"]


def test_a_plan_may_take_all_its_benchmarks_from_included_files(tmp_path: Path) -> None:
    files = {"p.yaml": "plan: 1\nname: t\ninclude: [a.yaml]\n", "a.yaml": "benchmarks: [noop]\n"}
    assert [entry.id for entry in whole(load_folder(tmp_path, files)).benchmarks] == ["noop"]


def test_an_id_that_two_files_define_is_an_error_at_the_second(tmp_path: Path) -> None:
    files = {"p.yaml": "plan: 1\nname: t\ninclude: [a.yaml]\nbenchmarks: [noop]\n", "a.yaml": "benchmarks: [noop]\n"}
    loaded = load_folder(tmp_path, files)
    assert [where(item) for item in loaded.diagnostics] == ["E113 p.yaml:4:14"]


@pytest.mark.parametrize(
    ("own", "limit"), [("", 2), ("safety: {max_written: 1GiB}\n", 1), ("safety: {max_written: 9GiB}\n", 2)]
)
def test_the_lowest_safety_limit_applies(own: str, limit: int, tmp_path: Path) -> None:
    files = {
        "p.yaml": f"plan: 1\nname: t\nbenchmarks: [noop]\ninclude: [a.yaml, b.yaml]\n{own}",
        "a.yaml": "safety: {max_written: 4GiB}\n",
        "b.yaml": "safety: {max_written: 2GiB}\n",
    }
    assert whole(load_folder(tmp_path, files)).safety.max_written_bytes == limit << 30


def test_a_plan_of_asct_can_be_extended_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = whole(load_folder(tmp_path, {"p.yaml": "plan: 1\nname: mine\nextends: quickstart.yaml\n"}))
    assert (plan.name, plan.benchmarks[0].id) == ("mine", "latency-sweep")
    monkeypatch.chdir(tmp_path)
    assert shipped("quickstart") == str(plans() / "quickstart.yaml")
    assert {"quickstart", "seeds/fio-matrix"} <= {*shipped_names()}
    assert shipped("seeds/fio-matrix") == str(plans() / "seeds/fio-matrix.yaml")
    [unknown] = load_plan(Path("fio-matrix")).diagnostics
    assert unknown.hint == "did you mean `seeds/fio-matrix`?"
    (tmp_path / "quickstart").touch()
    assert shipped("quickstart") == "quickstart"
    assert shipped("../plans/quickstart") == "../plans/quickstart"

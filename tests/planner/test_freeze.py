"""A frozen plan is restored unchanged, and is refused if it was modified."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asct.diagnostics.model import Diagnostic, Span
from asct.errors import PlanError
from asct.planner.freeze import freeze, thaw
from asct.planner.identity import digest
from tests.planner.building import resolved

WHOLE = """
description: All parts of the language that end in a resolved plan
vars: {n: 2}
hosts:
  a: {transport: ssh, address: a.lab, user: u, port: 2222, jump: gw, labels: {rack: r1}, vars: {f: /tmp/a}}
  b: {transport: slurm, partition: p, options: [--exclusive]}
defaults: {repeats: 3, warmup: 1, timeout: 20m, retry: {max: 1, on: [timeout]}, order: random, strict: true}
benchmarks:
  - uses: disk
    hosts: [a]
    tags: [gate]
    config: {filename: ["${host.vars.f}"], rw: randrw}
    sweep: {bs: [4K, 8K], iodepth: [1, 2], include: [{bs: 4K, iodepth: 64, direct: false}]}
  - depth
  - {uses: peak, config: {data_size: "${needs.cache.dram.optimum_size * vars.n}"}}
expect:
  - {metric: disk.iops, at: {bs: 4K}, min: 1k, by: {a: {min: 2k}}}
  - {metric: "*", versus: baseline, no_worse_than: 5%}
baseline: {run: x}
safety: {destroys: [{host: a, device: /dev/disk/by-id/nvme-X, serial: S1, reason: scratch}], max_written: 2TiB}
report: {title: T, formats: [html], features: {X: {b: 1, a: yes}, W: {}}}
"""


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(freeze(resolved(WHOLE)), allow_nan=False))
    return found


def test_a_whole_plan_comes_back_equal() -> None:
    assert thaw(document()) == resolved(WHOLE)


def test_the_whole_plan_gives_every_field_of_a_job() -> None:
    jobs = resolved(WHOLE).jobs
    left = [
        name
        for several in (jobs, [job.retry for job in jobs])
        for name, value in several[0]._field_defaults.items()
        if all(getattr(one, name) == value for one in several)
    ]
    assert left == [], "these would come back equal even if they were not written"


def test_warnings_come_back_with_all_their_parts() -> None:
    span = Span("plan.yaml", 3, 4, 5)
    warning = Diagnostic("E236", "m", span, "l", "h", "warning", (("n", span), ("o", None)))
    plan = resolved("benchmarks: [disk]")._replace(diagnostics=(warning,))
    assert thaw(json.loads(json.dumps(freeze(plan)))) == plan


@st.composite
def plans(draw: st.DrawFn) -> str:
    """Draw small plans that use every way to set a setting."""
    sweep = draw(st.dictionaries(st.sampled_from(["bs", "iodepth", "numjobs"]), _distinct(), max_size=3))
    zipped = draw(st.booleans())
    config = draw(st.dictionaries(st.sampled_from(["rwmixread", "duration"]), st.integers(1, 100), max_size=2))
    config_text = ", ".join(f"{key}: {value}{'s' if key == 'duration' else ''}" for key, value in config.items())
    axes = [f"{key}: {values}" for key, values in sweep.items()] + ["zip: [{rw: [randrw], direct: [false]}]"] * zipped
    body = f"config: {{{config_text}}}, sweep: {{{', '.join(axes)}}}" if axes else f"config: {{{config_text}}}"
    rw = "" if zipped or "rwmixread" not in config else "rw: randrw, "
    order = draw(st.sampled_from(["interleaved", "grouped", "random"]))
    body = body.replace("config: {", "config: {" + rw, 1)
    return f"benchmarks: [{{uses: disk, {body}, repeats: {draw(st.integers(1, 9))}, order: {order}}}]"


def _distinct() -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(1, 9999), min_size=1, max_size=3, unique=True)


@settings(max_examples=60)
@given(plans())
def test_any_plan_comes_back_equal(text: str) -> None:
    plan = resolved(text)
    assert thaw(json.loads(json.dumps(freeze(plan)))) == plan


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict) and value:
        return [leaf for key, item in value.items() for leaf in _leaves(item, (*path, key))]
    if isinstance(value, list) and value:
        return [leaf for index, item in enumerate(value) for leaf in _leaves(item, (*path, index))]
    return [path]


def _altered(body: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    changed = copy.deepcopy(body)
    place = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = {"other": 1}
    return changed


def test_any_value_altered_by_hand_is_refused() -> None:
    body = document()
    paths = _leaves(body)
    assert len(paths) > 200
    for path in paths:
        with pytest.raises(PlanError) as caught:
            thaw(_altered(body, path))
        assert caught.value.diagnostics[0].code in {"E260", "E261"}, path


def _resealed(body: dict[str, Any]) -> dict[str, Any]:
    content = {key: value for key, value in body.items() if key != "checksum"}
    return {**content, "checksum": digest(content)}


def test_the_hash_is_checked_even_when_the_checksum_was_made_to_fit() -> None:
    body = document()
    body["jobs"][0]["repeats"] = 99
    with pytest.raises(PlanError) as caught:
        thaw(_resealed(body))
    assert caught.value.diagnostics[0].code == "E261"


@pytest.mark.parametrize(
    "value", [None, [], "text", {}, {"schema": "asct.run/1"}, {"schema": "asct.plan/x"}, {"schema": 3}]
)
def test_something_else_is_not_a_frozen_plan(value: Any) -> None:
    with pytest.raises(PlanError) as caught:
        thaw(value)
    assert caught.value.diagnostics[0].code == "E260"


def test_a_cut_off_plan_is_refused() -> None:
    for key in [key for key in document() if key not in ("schema", "checksum", "limit_s", "confirm")]:
        body = document()
        del body[key]
        with pytest.raises(PlanError) as caught:
            thaw(_resealed(body))
        assert caught.value.diagnostics[0].code == "E260", key


def test_a_plan_frozen_before_limit_s_existed_is_accepted() -> None:
    body = document()
    del body["limit_s"]
    assert thaw(_resealed(body)).limit_s is None


def test_a_plan_frozen_when_it_had_labels_is_accepted() -> None:
    assert thaw(_resealed({**document(), "labels": []})) == resolved(WHOLE)


def test_a_plan_frozen_before_jobs_had_a_location_is_accepted() -> None:
    body = document()
    for job in body["jobs"]:
        del job["span"]
    assert {job.span for job in thaw(_resealed(body)).jobs} == {None}


def test_a_newer_version_is_refused_by_name() -> None:
    with pytest.raises(PlanError) as caught:
        thaw({**document(), "schema": "asct.plan/2"})
    assert caught.value.diagnostics[0].code == "E262" and "asct.plan/2" in caught.value.diagnostics[0].message


def test_shared_settings_are_written_once() -> None:
    body = document()["jobs"][0]
    assert body["settings"]["rw"] == "randrw"
    assert set(body["points"][0]) == {"id", "swept"}
    assert set(body["points"][0]["swept"]) == {"block_size", "iodepth", "direct"}

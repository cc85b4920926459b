"""Points and plans are identified by their content, on every host and whatever the order in the file."""

from __future__ import annotations

import hashlib
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.plan.model import HostSpec, Retry, Safety
from asct.planner.identity import PointIds, canonical_json, digest, frozen_key, plan_hash, point_id
from asct.planner.model import Job
from tests.planner.building import job, resolved

scalars = st.one_of(
    st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(), st.booleans(), st.none()
)
settings = st.dictionaries(st.text(), st.one_of(scalars, st.lists(scalars, max_size=3)), max_size=8)


@given(settings, st.randoms(use_true_random=False))
def test_an_id_does_not_depend_on_the_order_of_keys(values: dict[str, Any], shuffle: random.Random) -> None:
    items = list(values.items())
    shuffle.shuffle(items)
    found = point_id("disk", "1", values)
    assert found == point_id("disk", "1", dict(items))
    assert len(found) == 12 and set(found) <= set("0123456789abcdef")


@given(settings, settings)
def test_other_settings_have_another_id(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert (point_id("disk", "1", one) == point_id("disk", "1", other)) is (
        canonical_json(one) == canonical_json(other)
    )


@given(settings, st.lists(st.one_of(scalars, st.lists(scalars, max_size=3)), max_size=8))
def test_an_id_is_the_hash_of_the_canonical_json_however_the_settings_are_divided(
    values: dict[str, Any], others: list[Any]
) -> None:
    varying = dict(zip(values, others, strict=False))
    expected = digest(["disk", "1", {**values, **varying}])[:12]
    assert PointIds("disk", "1", values).of(varying) == expected


def test_benchmark_and_version_are_part_of_it() -> None:
    assert len({point_id("a", "1", {}), point_id("b", "1", {}), point_id("a", "2", {})}) == 3


def test_canonical_json_is_strict() -> None:
    assert canonical_json({"b": [1, 2.5], "a": "é"}) == '{"a":"é","b":[1,2.5]}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(float("nan"))
    with pytest.raises(TypeError):
        canonical_json({1, 2})


def test_truth_is_not_one() -> None:
    assert frozen_key(True) != frozen_key(1) and frozen_key(1) == frozen_key(1.0)
    assert frozen_key([1, {"a": [2]}]) == frozen_key((1, {"a": (2,)}))


def test_a_point_has_the_same_id_on_every_host_however_it_was_written() -> None:
    one = "hosts: {a: {transport: local}, b: {address: x}}\nbenchmarks: [{uses: disk, config: {bs: 8K, runtime: 2s}}]"
    other = "benchmarks: [{id: other, uses: disk, sweep: {duration: [2000ms], block_size: [8192]}}]"
    ids = {item.points[0].id for text in (one, other) for item in resolved(text).jobs}
    assert len(ids) == 1


def test_an_id_is_pinned() -> None:
    """If the id changed, new results would silently no longer match old ones."""
    text = '["levels","1",{"pages":"auto","stride":64,"time_cap":2.0}]'
    assert job("benchmarks: [levels]").points[0].id == hashlib.sha256(text.encode()).hexdigest()[:12] == "480a4ec45d65"


BASE = "benchmarks: [{uses: disk, config: {iodepth: 2}}]"


@pytest.mark.parametrize(
    "text",
    [
        "benchmarks: [{uses: disk, config: {iodepth: 3}}]",
        "benchmarks: [{id: x, uses: disk, config: {iodepth: 2}}]",
        "benchmarks: [{uses: disk, config: {iodepth: 2}, repeats: 2}]",
        "benchmarks: [{uses: disk, config: {iodepth: 2}, order: random}]",
        "benchmarks: [{uses: disk, config: {iodepth: 2}, timeout: 1m}]",
        "hosts: {local: {transport: local, sudo: true}}\n" + BASE,
        BASE + "\nexpect: [{metric: disk.iops, min: 1}]",
        BASE + "\nbaseline: {run: x}",
        BASE + "\nsafety: {max_written: 1TiB}",
    ],
)
def test_the_hash_of_a_plan_changes_with_what_is_measured_or_judged(text: str) -> None:
    assert resolved(text).hash != resolved(BASE).hash


CHANGED: dict[str, Any] = {
    "id": "x", "benchmark": "peak", "version": "9", "host": "other", "points": (), "repeats": 2, "warmup": 1,
    "timeout_s": 9.0, "retry": Retry(3), "order": "random", "strict": True, "needs": {"a": "b"},
}  # fmt: skip
NOT_HASHED = {"seed", "tags", "reason", "origins", "span"}


def test_the_hash_of_a_plan_changes_with_every_field_of_a_job_but_words() -> None:
    assert CHANGED.keys() | NOT_HASHED == set(Job._fields)
    (first,) = resolved(BASE).jobs
    for name, value in CHANGED.items():
        assert _hash_of(first._replace(**{name: value})) != _hash_of(first), name


@pytest.mark.parametrize("name", Retry._fields)
def test_the_hash_of_a_plan_changes_with_every_field_of_retry(name: str) -> None:
    (first,) = resolved(BASE).jobs
    value = getattr(first.retry, name)
    other = (*value, "noisy") if isinstance(value, tuple) else value + 1
    assert _hash_of(first._replace(retry=first.retry._replace(**{name: other}))) != _hash_of(first)


def _hash_of(job: Job) -> str:
    return plan_hash([job], {job.host: HostSpec(job.host)}, (), Safety(), None)


@pytest.mark.parametrize(
    "text",
    [
        "# a comment\n" + BASE,
        "benchmarks:\n  - {config: {iodepth: 2}, uses: disk, tags: [x]}",
        BASE + "\ndescription: words\nreport: {title: Words}",
        "hosts: {local: {transport: local, labels: {a: b}}}\n" + BASE,
    ],
)
def test_the_hash_of_a_plan_does_not_change_with_words(text: str) -> None:
    assert resolved(text).hash == resolved(BASE).hash


def test_the_seed_follows_from_the_plan_and_the_job() -> None:
    text = "benchmarks: [{id: x, uses: disk}, {id: y, uses: disk}]"
    seeds = [item.seed for item in resolved(text).jobs]
    assert len(set(seeds)) == 2 and seeds == [item.seed for item in resolved(text).jobs]

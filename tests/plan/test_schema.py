from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from asct.plan.changes import PROFILE_KEYS
from asct.plan.entries import ENTRY_KEYS
from asct.plan.hosts import HOST_KEYS
from asct.plan.load import PLAN_KEYS, load_plan
from asct.plan.schema import plan_schema
from asct.plan.sections import EXECUTION_KEYS, RETRY_KEYS
from asct.registry import installed
from asct.transports import transport
from tests.plan.loading import BODY, HEAD, node_of

ROOT = Path(__file__).parents[2]
PARTS = {"base", "common"}
"""Files in plans/platforms that are not complete plans."""
SCHEMA = plan_schema([item for item in installed().all() if not item.hidden])
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
CONFIG = HEAD + "benchmarks: [{{uses: {}, config: {{{}}}}}]"


def document(text: str) -> Any:
    return node_of(text).plain()


def test_it_is_a_schema_and_plain_json() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert json.loads(json.dumps(SCHEMA, allow_nan=False)) == SCHEMA


@pytest.mark.parametrize(
    "path",
    [path for path in sorted((ROOT / "plans").rglob("*.yaml")) if path.stem not in PARTS],
    ids=lambda one: one.name,
)
def test_the_plans_that_come_with_asct_fit(path: Path) -> None:
    VALIDATOR.validate(document(path.read_text(encoding="utf-8")))
    assert not load_plan(path).diagnostics


def test_it_has_the_keys_that_the_loader_has() -> None:
    definitions = SCHEMA["$defs"]
    assert set(SCHEMA["properties"]) == set(PLAN_KEYS)
    assert set(definitions["entry"]["properties"]) == set(ENTRY_KEYS)
    assert set(definitions["host"]["properties"]) == {
        *HOST_KEYS,
        *transport("ssh").options,
        *transport("slurm").options,
    }
    assert set(definitions["profile"]["properties"]) == set(PROFILE_KEYS)
    assert set(SCHEMA["properties"]["defaults"]["properties"]) == {*EXECUTION_KEYS, "config"}
    assert set(SCHEMA["properties"]["defaults"]["properties"]["retry"]["properties"]) == set(RETRY_KEYS)


@pytest.mark.parametrize(
    "text",
    [
        CONFIG.format("storage-fio", "block_size: 4K, duration: 30s, iodepth: 8"),
        CONFIG.format("storage-fio", "bs: 4096, runtime: 1h30m, direct: true"),
        CONFIG.format("storage-fio", "block_size: '${vars.x}', iodepth: '${vars.y * 2}'"),
        CONFIG.format("latency-sweep", "max_size: 1GiB"),
        HEAD + "benchmarks: [{uses: storage-fio, sweep: {iodepth: {from: 1, to: 8, times: 2}, where: iodepth < 3}}]",
        HEAD + "benchmarks: [{id: a, extends: b, config: {anything: 1}}]",
        BODY.replace("noop", "latency-sweep") + "hosts: {local: , 'n[1:2]': {labels: {a: 1}}}",
        BODY.replace("noop", "latency-sweep") + "groups: {g: 'n*', h: [g], i: {hosts: h, config: {}}}",
    ],
)
def test_what_fits(text: str) -> None:
    VALIDATOR.validate(document(text))


@pytest.mark.parametrize(
    "text",
    [
        CONFIG.format("storage-fio", "blok_size: 4K"),
        CONFIG.format("storage-fio", "block_size: 4q"),
        CONFIG.format("storage-fio", "block_size: 4k"),
        CONFIG.format("storage-fio", "duration: 30"),
        CONFIG.format("storage-fio", "direct: 7"),
        CONFIG.format("sotrage-fio", ""),
        HEAD + "benchmarks: [{uses: storage-fio, sweep: {iodpth: [1]}}]",
        HEAD + "benchmarks: [{uses: storage-fio, sweep: {iodepth: 3}}]",
        HEAD + "benchmarks: [sotrage-fio]",
        HEAD + "benchmarks: []",
        "plan: 2\nname: t\nbenchmarks: [storage-fio]",
        "plan: 1\nbenchmarks: [storage-fio]",
        BODY.replace("noop", "latency-sweep") + "repeets: 3",
        BODY.replace("noop", "latency-sweep") + "defaults: {timeout: 60}",
        BODY.replace("noop", "latency-sweep") + "report: {formats: [htlm]}",
        BODY.replace("noop", "latency-sweep") + "hosts: {a: {adress: b}}",
    ],
)
def test_what_does_not_fit(text: str) -> None:
    assert list(VALIDATOR.iter_errors(document(text)))


def test_without_benchmarks_it_is_still_a_schema() -> None:
    bare = plan_schema([])
    jsonschema.Draft202012Validator.check_schema(bare)
    jsonschema.Draft202012Validator(bare).validate(document(BODY))


def test_the_whole_language_fits_but_for_benchmarks_that_are_not_there() -> None:
    whole = document((Path(__file__).parent / "data" / "whole.yaml").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(plan_schema([])).validate(whole)

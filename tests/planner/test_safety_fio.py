"""fio can never write to a device without a check for consent."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from asct.instruments.fio.params import Pattern
from asct.planner.resolve import resolve
from asct.registry import installed
from tests.planner.building import load

READING = ("read", "randread")


def codes(config: str, name: str = "storage-fio") -> list[str]:
    plan = load(f"benchmarks: [{{uses: {name}, config: {{file_names: [/dev/loop7], {config}}}}}]")
    return [item.code for item in resolve(plan, installed()).diagnostics]


@pytest.mark.parametrize("pattern", get_args(Pattern))
def test_every_pattern_that_changes_its_target(pattern: str) -> None:
    wanted: list[str] = [] if pattern in READING else ["E251"]
    assert codes(f"rw: {pattern}") == wanted


def test_a_mix_of_reads_only_is_opened_for_writing() -> None:
    assert codes("rw: randrw, rwmixread: 100") == ["E251"]


def test_a_section_of_a_job_file() -> None:
    assert codes('rw: randread, job_file: "[a]\\nrw=randread\\n[b]\\nrw=write\\n"') == ["E251"]
    assert codes('rw: randread, job_file: "[a]\\nrw=randread\\n[b]\\nstonewall\\nrw=write\\n"') == ["E251"]
    assert codes('rw: randread, job_file: "[a]\\nrw=randread\\n"') == []


def test_a_sweep_over_patterns() -> None:
    plan = load(
        "benchmarks: [{uses: storage-fio, config: {file_names: [/dev/loop7]}, sweep: {rw: [randread, randwrite]}}]"
    )
    assert [item.code for item in resolve(plan, installed()).diagnostics] == ["E251"]


def _fields(name: str) -> Any:
    benchmark = installed().get(name)
    return benchmark.params_model.model_fields if benchmark is not None else {}


@pytest.mark.parametrize("name", [name for name in installed().names() if "file_names" in _fields(name)])
def test_no_benchmark_writes_unasked(name: str) -> None:
    """With its default settings, a benchmark either only reads or requires consent."""
    found = set(codes("", name))
    assert found <= {"E251"}
    rw = _fields(name).get("rw")
    assert found == {"E251"} or (rw is not None and rw.default in READING)

"""The caret of an error in a job file."""

from __future__ import annotations

import pytest

from asct.plan.model import Plan
from asct.planner.resolve import resolve
from asct.registry import installed
from tests.planner.building import at, load

BLOCK = """|
      # common
      [global]

        exec_prerun=id
      [a]
"""


def check_place(plan: Plan, place: str) -> None:
    [error] = resolve(plan, installed()).diagnostics
    assert error.code == "E209" and error.span is not None
    assert (error.span.line, error.span.column) == at(plan.text, place)


@pytest.mark.parametrize(
    ("written", "place"),
    [
        (BLOCK, "exec_prerun=id"),
        (BLOCK.replace("|", ">"), ">"),
        (BLOCK.replace("=id", "=${vars.name}"), "|"),
        ('"[a]\\nexec_prerun=id"', '"[a]\\nexec_prerun=id"'),
    ],
)
def test_an_error_points_to_a_line_that_is_a_line_of_the_plan(written: str, place: str) -> None:
    plan = load(f"vars: {{name: a}}\nbenchmarks:\n- uses: storage-fio\n  config:\n    job_file: {written}")
    check_place(plan, place)


@pytest.mark.parametrize("key", ["job_file:\n    - ", "include:\n    - job_file: "])
def test_an_error_in_a_swept_job_file_points_to_its_line(key: str) -> None:
    files = f"{key}|\n        [a]\n{key.rpartition(chr(10))[2]}|\n        [b]\n        foo=1\n"
    config = "  config:\n    job_file: |\n      [c]\n"
    check_place(load(f"benchmarks:\n- uses: storage-fio\n{config}  sweep:\n    {files}"), "foo=1")

"""The exit code of a run (contract, section 2)."""

from __future__ import annotations

from typing import Any

import pytest

from asct.engine.run import exit_code
from asct.store.model import JobEntry, Verdict


def entry(counts: dict[str, int], points: int = 2, **fields: Any) -> JobEntry:
    return JobEntry(id="a", benchmark="b", version="1", host="h", points=points, repeats=1, counts=counts, **fields)


def verdict(outcome: str, severity: str = "fail", if_missing: str = "fail") -> Verdict:
    body = {"outcome": outcome, "severity": severity, "host": "h", "id": "a", "metric": "m", "if_missing": if_missing}
    return Verdict.model_validate(body)


GOOD = entry({"ok": 2})


@pytest.mark.parametrize(
    ("jobs", "verdicts", "code"),
    [
        ([GOOD], [], 0),
        ([GOOD], [verdict("pass")], 0),
        ([entry({"ok": 1, "noisy": 1})], [], 0),
        ([GOOD], [verdict("fail")], 1),
        ([GOOD], [verdict("fail", "warn"), verdict("fail", "info")], 0),
        ([GOOD], [verdict("unknown")], 3),
        ([GOOD], [verdict("unknown", if_missing="warn"), verdict("unknown", if_missing="pass")], 0),
        ([GOOD], [verdict("fail"), verdict("unknown")], 3),
        ([entry({"ok": 1, "failed": 1})], [], 3),
        ([entry({"ok": 1, "failed": 1})], [verdict("fail")], 3),
        ([entry({"ok": 1, "skipped": 1})], [], 3),
        ([entry({"ok": 1, "invalid": 1})], [], 3),
        ([entry({"ok": 1, "invalid": 1})], [verdict("unknown", if_missing="warn")], 3),
        ([entry({"ok": 1})], [], 3),
        ([entry({"skipped": 2}, refused=True), GOOD], [verdict("unknown")], 4),
        ([], [], 0),
    ],
)
def test_the_highest_that_applies(jobs: list[JobEntry], verdicts: list[Verdict], code: int) -> None:
    assert exit_code(jobs, verdicts) == code


def test_strict_jobs_need_quiet_values() -> None:
    assert exit_code([entry({"ok": 1, "noisy": 1}, strict=True)], []) == 3
    assert exit_code([entry({"ok": 2}, strict=True)], []) == 0


def test_signals_and_findings() -> None:
    assert exit_code([entry({"failed": 2}, refused=True)], [], signal=2) == 130
    assert exit_code([GOOD], [], signal=15) == 143
    assert exit_code([GOOD], [], findings=True) == 3

"""The first cause of a failure, in the order in which the verdict lists problems."""

from __future__ import annotations

from pathlib import Path

import pytest

from asct.analysis.cause import Cause, first_cause
from asct.store.model import HostEntry
from tests.export.fakes import sample_view


def test_a_failed_expectation_names_its_place_value_and_bound(tmp_path: Path) -> None:
    assert first_cause(sample_view(tmp_path)) == Cause(
        "storage-io-depth-sweep.read_iops at iodepth 32 on local", "measured 57.9k ops/s, expected at least 60k ops/s",
        id="storage-io-depth-sweep",
    )  # fmt: skip


def test_a_failed_repeat_names_its_cause_and_fix(tmp_path: Path) -> None:
    view = sample_view(tmp_path, verdicts=False, fail_depth=8)
    cause = "E601 fio ended with exit status 1: no space left"
    failed = view.run.jobs[1].model_copy(update={"note": cause})
    object.__setattr__(view.jobs[1], "entry", failed)
    view.run.jobs[1] = failed
    assert first_cause(view) == Cause(
        "storage-io-depth-sweep on local", cause, "free some space in the work folder", "storage-io-depth-sweep"
    )
    view.run.hosts.insert(0, HostEntry(name="n2", transport="ssh", status="unreachable", reason="no route to host"))
    assert first_cause(view) == Cause("n2", "no route to host"), "a host comes before its consequences"


def test_a_refusal_comes_first_and_a_run_without_failures_has_no_cause(tmp_path: Path) -> None:
    view = sample_view(tmp_path)
    refused = view.run.jobs[0].model_copy(update={"counts": {}, "refused": True, "note": "E430 /dev/sdb is mounted"})
    view.run.jobs[0] = refused
    assert first_cause(view) == Cause("latency-sweep on local", "E430 /dev/sdb is mounted", id="latency-sweep")


def test_a_cause_that_names_its_host_is_not_preceded_by_it_and_has_the_fix_of_its_finding(tmp_path: Path) -> None:
    view = sample_view(tmp_path, verdicts=False)
    told = {"code": "E424", "message": "local: /dev/sdb is mounted", "hint": "unmount it", "severity": "error"}
    view.run.findings.append(told)
    note = "E424 local: /dev/sdb is mounted"
    view.run.jobs[0] = view.run.jobs[0].model_copy(update={"counts": {}, "refused": True, "note": note})
    assert first_cause(view) == Cause("latency-sweep", note, "unmount it", "latency-sweep")
    view.run.jobs[0] = view.run.jobs[0].model_copy(update={"refused": False})
    reason = "E301 n2 (192.0.2.7): connection refused; E424 n2: /dev/sdb is mounted"
    view.run.hosts.insert(0, HostEntry(name="n2", transport="ssh", status="unreachable", reason=reason))
    view.run.findings.insert(0, {"code": "E424", "message": "n2: /dev/sdb is mounted", "hint": "unmount it"})
    view.run.findings.insert(0, {"code": "E301", "message": "n2 (192.0.2.7): connection refused", "hint": "start sshd"})
    assert first_cause(view) == Cause("", reason, "start sshd")
    view.run.hosts[0].name = "n"
    assert first_cause(view) == Cause("n", reason, "start sshd"), "only a whole name is the same"


@pytest.mark.parametrize("code", [0, 3])
def test_a_diagnostic_is_the_cause_of_a_run_that_failed_outside_its_points(tmp_path: Path, code: int) -> None:
    view = sample_view(tmp_path, verdicts=False)
    view.run.exit_code = code
    view.run.findings.append({"severity": "error", "message": "no space left on device", "hint": "free some"})
    assert first_cause(view) == (Cause("", "no space left on device", "free some") if code else None)

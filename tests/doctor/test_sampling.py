"""The two readings of the doctor: over a real connection, and with hosts that do not provide them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from asct.diagnostics.model import Diagnostic
from asct.doctor.examine import examine, read_activity
from asct.errors import HostError, HostLost
from asct.hosts.base import CommandResult
from asct.hosts.factory import make_host
from asct.plan.model import HostSpec
from tests.doctor.stub import ports
from tests.sshd import Sshd


class Speaking:
    def __init__(self, answer: str | Exception) -> None:
        self.text = answer

    def execute(self, *_: object, **__: object) -> CommandResult:
        if isinstance(self.text, Exception):
            raise self.text
        return CommandResult(0, self.text, "")


def test_a_real_host(tmp_path: Path) -> None:
    with closing(make_host(HostSpec("here", workdir=str(tmp_path)), folder=tmp_path)) as host:
        host.open()
        sample, missed = read_activity(host)
    assert missed == ()
    assert sample is not None and sample.busy and sample.steal_share is not None and sample.running is not None


def test_over_ssh(sshd: Sshd, tmp_path: Path) -> None:
    report = examine(sshd.spec(), ports(), tmp_path / "raw", tmp_path)
    assert (report.status, report.collected_at != "") == ("ok", True)
    assert not [item for item in report.unseen if "stolen" in item.what]


@pytest.mark.parametrize("text", ["", "sh: awk: not found", "look 1\nlook 2\n"])
def test_what_is_not_given_is_told(text: str) -> None:
    sample, (missed,) = read_activity(Speaking(text))  # type: ignore[arg-type]
    assert sample is None and "two samples" in missed.why


def test_looks_without_cpus() -> None:
    sample, (missed,) = read_activity(Speaking("look 1\nuptime:1.00\nlook 2\nuptime:2.00\n"))  # type: ignore[arg-type]
    assert sample is not None and "does not list" in missed.why


def test_a_host_that_fails_and_one_that_is_gone() -> None:
    failed: Any = Speaking(HostError("h", Diagnostic("E328", "h: it printed too much")))
    assert read_activity(failed)[1][0].why == "h: it printed too much"
    with pytest.raises(HostLost):
        read_activity(Speaking(HostLost("h", Diagnostic("E320", "gone"))))  # type: ignore[arg-type]

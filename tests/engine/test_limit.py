"""The limit on written bytes with the real kernel guard and a loop device: a benchmark writes more than it
announced."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from asct.facts.reading import collect
from asct.sdk.benchmark import Context
from asct.sdk.guard import Target, guarded, handle_path
from asct.sdk.step import Step, Tool
from asct.store.documents import load
from asct.store.model import Audit
from asct.toolchain.provide import provide
from tests.disks.loop import loop_device, throttle
from tests.engine import plant
from tests.engine.guarding import Writer, WriterParams, consented
from tests.engine.plant import job, point

pytestmark = [pytest.mark.disks, pytest.mark.kernels]
MIB = 1 << 20


class Copier(Writer):
    """A benchmark that announces 10 bytes and writes 48 MiB."""

    name = "copier"

    def steps(self, params: WriterParams, context: Context) -> Sequence[Step]:
        if context.done:
            return ()
        consent = context.consents[params.device]
        target = Target(params.device, "write", consent.serial, dirty=params.device in context.written_paths)
        arguments = ("if=/dev/zero", f"of={handle_path(0)}", "bs=64K", "count=768", "oflag=direct")
        return (guarded(Step("copy", Tool("dd"), arguments), "/bin/dd", [target]),)


def test_a_job_that_writes_more_than_it_said_is_stopped(tmp_path: Path) -> None:
    """The throttle gives guard time for several samples before the limit is reached."""
    ports = plant.collaborators(catalog=plant.Shelf((Copier(),)), provide=provide, collect_facts=collect)
    with loop_device(tmp_path, 64) as loop, throttle(loop, wbps=24 * MIB):
        points = [point("copier", device=str(loop.path), index=number) for number in range(3)]
        safety = consented(12 * MIB, device=str(loop.path), serial=str(loop.backing))
        plan = plant.plan(job(*points, benchmark="copier"), workdir=tmp_path / "work")._replace(safety=safety)
        done = plant.run(tmp_path / "results", plan, ports)
    assert (done.code, done.stored.run.counts) == (4, {"refused": 3}), done.outcome.events.findings
    assert done.status().diagnostic["code"] == "E446"
    (target,) = load(Audit, "audit", done.outcome.writer.layout.audit("local", "a")).targets
    assert 12 * MIB <= target.written_bytes < 36 * MIB, "stopped by the limit, and long before its end"

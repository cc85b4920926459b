"""All jobs of one host, one measurement at a time, in the thread that belongs to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from asct.diagnostics.model import Diagnostic
from asct.disturbances import assess
from asct.engine.job import JobRunner, JobState
from asct.engine.preflight import notice, wanted
from asct.engine.shared import Shared
from asct.engine.site import Site, reasons
from asct.errors import AsctError, ConnectError, HostLocked, HostLost, NotMeasured
from asct.facts.describe import describe
from asct.plan.model import HostSpec
from asct.planner.model import Job
from asct.sdk.benchmark import Benchmark
from asct.sdk.disturbance import subjects
from asct.sdk.record import Scalar
from asct.store.model import HostEntry


class HostSession:
    """One host of a run. `entry` and `states` are what run.json says of it, also while it still runs."""

    def __init__(self, shared: Shared, spec: HostSpec, jobs: Sequence[Job]) -> None:
        self._shared = shared
        self._site = Site(shared, spec)
        self.states = [JobState(job, _benchmark(shared, job)) for job in jobs]
        self.entry = HostEntry(
            name=spec.name, transport=spec.transport, address=spec.address, status="skipped", reason="not begun"
        )

    def run(self) -> None:
        """Open, look, build, measure, close. Every trouble of the host is noted; raises StoreError only."""
        if self._shared.stop.requested:
            return
        try:
            self._measure()
        except HostLost as error:
            self._trouble(error, "lost")
        except HostLocked as error:
            self._trouble(error, "locked")
            for state in self.states:
                state.refused = True
        except ConnectError as error:
            self._trouble(error, "unreachable")
        except NotMeasured as error:
            self._trouble(error, "unfit")
        finally:
            self._site.close()

    def _measure(self) -> None:
        self._open()
        runners = [JobRunner(self._shared, self._site, state, last=state is self.states[-1]) for state in self.states]
        for runner in runners:
            runner.preflight()
        self._tell_disturbances()
        self._site.connection.plan_jobs([brief for runner in runners if (brief := runner.brief()) is not None])
        for runner in runners:
            runner.run(self._exports())
            if self._site.host is None:
                self._lost("it did not answer again after the connection broke")
                break

    def _tell_disturbances(self) -> None:
        """What disturbs the jobs from the start: kept, and told in a line when it touches them. Raises HostLost."""
        host, facts = self._site.connection, self._site.facts
        found = assess(facts, wanted=wanted(host, (state.demand for state in self.states)))
        self._shared.writer.disturbances(self.entry.name, found)
        line = notice(found, {word for state in self.states for word in subjects(state.benchmark)})
        if line is not None:
            self._shared.bus.notice(self.entry.name, line)

    def interrupt(self) -> None:
        """From another thread: end what runs now."""
        self._site.interrupt()

    def _open(self) -> None:
        self._site.open()
        self._say("ok", "", describe(self._site.facts))

    def _exports(self) -> Mapping[str, Mapping[str, Scalar] | None]:
        return {state.job.id: state.exports for state in self.states}

    def _trouble(self, error: AsctError, status: str) -> None:
        if self._shared.stop.requested:
            self._say("skipped", "the run was stopped")
            return
        for diagnostic in error.diagnostics:
            self._shared.bus.notice(self.entry.name, diagnostic)
        self._say(status, reasons(error))
        for state in self.states:
            state.note = state.note or f"host {self.entry.name}: {status}"

    def _lost(self, reason: str) -> None:
        diagnostic = Diagnostic("E610", f"host {self.entry.name}: {reason}; its other measurements are skipped",
                                hint="`asct resume` measures them when the host answers again")  # fmt: skip
        self._shared.bus.notice(self.entry.name, diagnostic)
        self._say("lost", reason)
        for state in self.states:
            if not state.counts:
                state.note = state.note or f"host {self.entry.name} was lost"

    def _say(self, status: str, reason: str, description: str | None = None) -> None:
        body = self.entry.model_dump()
        body.update(status=status, reason=reason)
        if description is not None:
            body["description"] = description
        self.entry = HostEntry.model_validate(body)


def _benchmark(shared: Shared, job: Job) -> Benchmark[Any]:
    benchmark = shared.ports.catalog.get(job.benchmark)
    if benchmark is None:
        raise LookupError(job.benchmark)
    return benchmark

"""Locate the ports through which CPUs enter the meshes on a host, using the `cmnwatch` kernel. See facts/cmn/detect.py
for the method."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from asct.diagnostics.model import Diagnostic
from asct.doctor.kernels import HostKernels
from asct.engine.stop import StopRequest
from asct.errors import HostError, NotMeasured
from asct.facts.cmn.cpumap import CachedCpuMap, cached_text, file_name, holds_for
from asct.facts.cmn.detect import (
    EVENTS_FILE,
    KERNEL,
    PortMatch,
    RequestCounts,
    WatchedPort,
    counted,
    decide,
    places,
    watches,
)
from asct.facts.cmn.model import Mesh
from asct.facts.cmn.sysfs import Pmu
from asct.facts.snapshot import Snapshot
from asct.sdk.facts import HostFacts
from asct.values.strict_json import json_object

Progress = Callable[[int, int, int], None]
"""A progress callback. Its arguments are the number of finished CPUs, the total number of CPUs, and the number of
watched ports."""

BATCH: Final = 4
"""Number of watchpoints used at a time. A domain has eight counters, some of which other programs may use."""
AT_A_CROSSPOINT: Final = 2
"""Number of watchpoints per crosspoint and direction (drivers/perf/arm-cmn.c, `arm_cmn_find_free_wp_idx`)."""
WINDOW_US: Final = 10_000
PATIENT: Final = 5
"""Factor by which the second pass watches each CPU longer than the first pass does. The second pass covers the CPUs
that the first one did not locate."""
_SPARE_S: Final = 60.0
_MOST_WORDS: Final = 100
_WHY: Final = "counts mesh traffic"


@dataclass(frozen=True, slots=True)
class Detection:
    """The result of a detection. `total` is the number of CPUs searched for, and `located` the number found.

    `cached` is the text stored in the host's cache; `stopped` is true if the user stopped the detection.
    """

    total: int
    located: int
    cached: str
    stopped: bool
    problems: tuple[Diagnostic, ...] = ()


def detect(
    instruments: HostKernels,
    snapshot: Snapshot,
    meshes: Sequence[tuple[Mesh, Pmu | None]],
    progress: Progress,
    stop: StopRequest,
    when: str,
) -> Detection:
    """Locate the CPUs in all meshes and cache the result on the host. Raises NotMeasured (E462) or HostError."""
    watched = _watched(meshes)
    cpus = _cpus(instruments.facts)
    session = _CmnwatchRun(instruments, watched, progress, stop, len(cpus))
    progress(0, len(cpus), len(watched))
    verdicts = session.run(cpus, WINDOW_US)
    unsure = [cpu for cpu, verdict in verdicts.items() if verdict.watch is None]
    if unsure and not stop.requested:
        session.total += len(unsure)
        verdicts |= session.run(unsure, WINDOW_US * PATIENT)
    unknown = {f"cpus.{cpu}": verdict.why for cpu, verdict in verdicts.items() if verdict.watch is None}
    if len(verdicts) < len(cpus):
        unknown["cpus"] = f"detection was stopped after {len(verdicts)} of {len(cpus)} CPUs"
    text = cached_text(
        CachedCpuMap(
            detected_at=when,
            holds_for=holds_for(snapshot, [mesh for mesh, _ in meshes]),
            places=places(verdicts, [mesh.instance for mesh, _ in meshes]),
            unknown=unknown,
        )
    )
    instruments.undisturbed = True
    located = sum(verdict.watch is not None for verdict in verdicts.values())
    problems: tuple[Diagnostic, ...] = ()
    if located:
        try:
            instruments.keep(file_name(snapshot), text)
        except HostError as error:  # the result is shown even if it cannot be cached
            problems = error.diagnostics
    return Detection(len(cpus), located, text, stop.requested, problems)


def _watched(meshes: Sequence[tuple[Mesh, Pmu | None]]) -> list[WatchedPort]:
    watched: list[WatchedPort] = []
    reasons: list[str] = []
    for mesh, pmu in meshes:
        try:
            if pmu is None:
                raise ValueError("it has no PMU; load the driver (`modprobe arm-cmn`)")
            watched += watches(mesh, pmu)
        except ValueError as error:
            reasons.append(f"mesh {mesh.instance}: {error}")
    if reasons:
        raise NotMeasured(_cannot("; ".join(reasons)))
    return watched


def _cannot(why: str) -> Diagnostic:
    hint = (
        "this requires the arm_cmn driver, the driver's map or the mesh registers, and root access (or a "
        "kernel.perf_event_paranoid value of 0 or below)"
    )
    return Diagnostic("E462", f"cannot detect the CPU locations in the mesh: {why}", hint=hint)


def _cpus(facts: HostFacts) -> list[int]:
    """Return the online CPUs that the account may use. Raises NotMeasured if none are known."""
    allowed = facts.cpu.allowed or facts.cpu.online
    cpus = [cpu for cpu in facts.cpu.online if cpu in allowed]
    if not cpus:
        raise NotMeasured(_cannot("the host does not report which CPUs are online"))
    return cpus


@dataclass(slots=True)
class _CmnwatchRun:
    """A run of cmnwatch. If it is stopped, it keeps the output collected so far."""

    instruments: HostKernels
    watched: Sequence[WatchedPort]
    progress: Progress
    stop: StopRequest
    total: int
    _done: int = 0
    _rows: dict[int, RequestCounts] = field(default_factory=dict)
    _refused: set[str] = field(default_factory=set)

    def run(self, cpus: Sequence[int], window_us: int) -> dict[int, PortMatch]:
        """Return the port of each CPU for which cmnwatch reported counts before it ended."""
        self._rows.clear()
        batch = min(BATCH, AT_A_CROSSPOINT * len({(watch.mesh, watch.x, watch.y) for watch in self.watched}))
        arguments = (
            *("--events", EVENTS_FILE, "--cpus", ",".join(map(str, cpus))),
            *("--window-us", str(window_us), "--batch", str(batch)),
        )
        seconds = 2e-6 * window_us * len(cpus) * math.ceil(len(self.watched) / batch)
        self._run(arguments, _SPARE_S + 4 * seconds)
        verdicts = {cpu: decide(row, self.watched) for cpu, row in self._rows.items()}
        if self._refused and verdicts and all(verdict.watch is None for verdict in verdicts.values()):
            raise NotMeasured(_cannot(f"the driver refuses watchpoints ({', '.join(sorted(self._refused))})"))
        return verdicts

    def _run(self, arguments: tuple[str, ...], timeout_s: float) -> None:
        files = {EVENTS_FILE: "".join(f"{watch.line}\n" for watch in self.watched)}
        try:
            result = self.instruments.run(KERNEL, arguments, _WHY, files=files, on_line=self._hear, timeout_s=timeout_s)
        except HostError:
            if not self.stop.requested:
                raise
            return
        if result.status != 0 and not self.stop.requested:
            raise NotMeasured(_cannot(result.last_lines))

    def _hear(self, text: str) -> None:
        line = json_object(text)
        if line is None or line.get("t") != "sample":
            return
        if "event" in line:
            self._refused.add(str(line.get("error"))[:_MOST_WORDS])
        row = counted(line, len(self.watched))
        if row is not None:
            self._rows[row.cpu] = row
            self._done += 1
            self.progress(self._done, self.total, len(self.watched))

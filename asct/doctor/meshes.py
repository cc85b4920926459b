"""Read the coherent meshes of a host: first the data that every account can read, then the registers, which require
root."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from asct.diagnostics.model import Diagnostic
from asct.doctor.cpu_detection import Detection, Progress, detect
from asct.doctor.kernels import HostKernels
from asct.engine.services import Services
from asct.engine.stop import StopRequest
from asct.errors import HostError, HostLocked, Interrupted, NotMeasured
from asct.facts.cmn.detect import KERNEL as WATCH
from asct.facts.cmn.discover import REGISTERS, MeshSources, mesh_of, mesh_sources, report
from asct.facts.cmn.kernel_output import KERNEL as READER
from asct.facts.cmn.kernel_output import register_list
from asct.facts.cmn.mesh import mesh_of_dump
from asct.facts.cmn.model import CmnReport
from asct.facts.reading import facts_of, probe
from asct.facts.snapshot import CommandOutput, Snapshot
from asct.hosts.base import Host
from asct.plan.model import HostSpec
from asct.values.strict_json import json_object
from asct.values.timestamp import stamp

_TURN_S: Final = 0.1
_UNREAD: Final = 3
_WHY: Final = "reads the mesh registers"
_WAY_OUT: Final = "run asct as root on the host, or allow sudo (`--sudo`)"


@dataclass(frozen=True, slots=True)
class MeshQuery:
    """The optional data to read: all known registers, and the ports through which CPUs enter the mesh."""

    every_register: bool = False
    detect: bool = False


@dataclass(frozen=True, slots=True)
class MeshReading:
    """The report on the meshes of a machine. `problems` lists the data that could not be read."""

    report: CmnReport
    problems: tuple[Diagnostic, ...] = ()
    detection: Detection | None = None


def read_meshes(
    spec: HostSpec, ports: Services, folder: Path, query: MeshQuery, progress: Progress, stop: StopRequest
) -> MeshReading:
    """Read the meshes of a host and write raw files to `folder`.

    `stop` ends a detection immediately; the result then contains the CPUs located so far. Raises HostError if the host
    is unreachable, NotMeasured if a requested detection is impossible, HostLocked if a run is measuring on the host,
    and Interrupted if the user stops the command before there is a result.
    """
    with closing(ports.make_host(spec, folder)) as host, ThreadPoolExecutor(1) as pool:
        reader = _MeshProbe(host, spec, ports, folder, query, progress, stop)
        future = pool.submit(reader.run)
        while not wait([future], _TURN_S).done:
            if stop.requested and not reader.undisturbed:
                host.interrupt()
        try:
            return future.result()
        except HostError as error:
            if stop.signal is not None:
                raise Interrupted(stop.signal) from error
            raise


@dataclass(slots=True)
class _MeshProbe:
    """A thread that reads the meshes, so that the main thread can handle signals in the meantime."""

    host: Host
    spec: HostSpec
    ports: Services
    folder: Path
    query: MeshQuery
    progress: Progress
    stop: StopRequest
    instruments: HostKernels | None = None

    @property
    def undisturbed(self) -> bool:
        """Whether the probe must not be interrupted."""
        return self.instruments is not None and self.instruments.undisturbed

    def run(self) -> MeshReading:
        snapshot = probe(self.host, self.spec.workdir)
        now = datetime.now(UTC)
        when = stamp(now)
        if not mesh_sources(snapshot):
            return MeshReading(report(snapshot, self.spec.name, when))
        facts = facts_of(snapshot, self.spec.name, now)
        self.instruments = HostKernels(self.host, self.spec, self.ports, self.folder, facts)
        snapshot, problems = _registers(self.instruments, snapshot, self.query)
        detection = None
        if self.query.detect:
            meshes = [(mesh_of(item), item.pmu) for item in mesh_sources(snapshot)]
            detection = detect(self.instruments, snapshot, meshes, self.progress, self.stop, when)
            snapshot = _with_commands(snapshot, {"cmn-cpus": CommandOutput(0, detection.cached)})
        return MeshReading(report(snapshot, self.spec.name, when), problems, detection)


def _registers(
    instruments: HostKernels, snapshot: Snapshot, query: MeshQuery
) -> tuple[Snapshot, tuple[Diagnostic, ...]]:
    """Return the snapshot with the registers of each mesh added, and the problems encountered while reading them."""
    if not instruments.as_root:
        note = Diagnostic(
            "E461", "reading the mesh registers requires root; the report omits them", hint=_WAY_OUT, severity="note"
        )
        return snapshot, (note,)
    try:
        if not instruments.root:
            snapshot = _as_root_sees(instruments, snapshot)
        return _dumped(instruments, snapshot, query)
    except (NotMeasured, HostLocked) as error:
        if query.detect or isinstance(error, HostError):
            raise
        return snapshot, tuple(replace(item, severity="warning") for item in error.diagnostics)


def _as_root_sees(instruments: HostKernels, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot, extended with the files that only root can read. The `cmnwatch` kernel reads these files,
    because asct runs only measurement kernels through sudo."""
    result = instruments.run(WATCH, ("--look", "1"), _WHY)
    lines: dict[str, list[str]] = {}
    for line in result.stdout.splitlines():
        match json_object(line):
            case {"path": str(path), "text": str(text)}:
                lines.setdefault(path, []).append(text)
    return replace(snapshot, files={**snapshot.files, **{path: "\n".join(texts) for path, texts in lines.items()}})


def _dumped(instruments: HostKernels, snapshot: Snapshot, query: MeshQuery) -> tuple[Snapshot, tuple[Diagnostic, ...]]:
    problems: list[Diagnostic] = []
    dumps: dict[str, CommandOutput] = {}
    hint = "the report shows data from the driver and the firmware instead"
    for item in mesh_sources(snapshot):
        output = dumps[f"{REGISTERS}{item.instance}"] = _dump(instruments, item, query)
        if output.status != 0:
            message = f"cannot read the registers of mesh {item.instance}: {output.text}"
            problems.append(Diagnostic("E461", message, severity="warning", hint=hint))
    return _with_commands(snapshot, dumps), tuple(problems)


def _dump(instruments: HostKernels, item: MeshSources, query: MeshQuery) -> CommandOutput:
    """Return the output of the `cmn` kernel for a mesh. If the exit status is not 0, the text is the reason for the
    failure."""
    region = item.region
    if region is None or region.base is None or region.size is None:
        return CommandOutput(_UNREAD, "their address is unknown (/proc/iomem)")
    place = ("--base", str(region.base), "--size", str(region.size), "--root", str(region.root))
    result = instruments.run(READER, (*place, "--registers", register_list()), _WHY)
    if result.status != 0:
        return CommandOutput(_UNREAD, result.last_lines)
    if query.every_register:
        mesh = mesh_of_dump(result.stdout, item.instance)
        again = instruments.run(READER, (*place, "--registers", register_list(mesh)), _WHY)
        result = again if again.status == 0 else result
    return CommandOutput(0, result.stdout)


def _with_commands(snapshot: Snapshot, more: dict[str, CommandOutput]) -> Snapshot:
    return replace(snapshot, commands={**snapshot.commands, **more})

"""`asct cmn`."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from asct.cli.asked import ReportAsked, report_options
from asct.cli.options import Settings, shared_options

if TYPE_CHECKING:
    from asct.cli.console import Console
    from asct.diagnostics.model import Diagnostic
    from asct.doctor.cpu_detection import Progress
    from asct.doctor.meshes import MeshReading
    from asct.engine.stop import StopRequest
    from asct.facts.cmn.model import CmnReport

_NOTHING = 3


@click.command("cmn", short_help="Show the coherent mesh (Arm CMN) between cores and memory.")
@report_options("cmn.csv", "report.json")
@click.option("--standard", is_flag=True, help="Draw the mesh.")
@click.option("--detect", is_flag=True, help="Find where CPUs enter the mesh, by loading one after the other.")
@click.option("--sudo", is_flag=True, help="Read registers and count through `sudo -n` there.")
@shared_options
def command(settings: Settings, asked: ReportAsked, standard: bool, detect: bool, sudo: bool) -> int:
    """Show the coherent mesh of a machine (Arm CMN-600, CMN-650, CMN-700, CMN S3, CI-700): its size, the nodes on its
    crosspoints, and the CPUs of each once `--detect` found them; with `--verbose` the registers.

    Root sees most: from the configuration registers, else from the map of the arm_cmn driver, else from what driver and
    firmware say of it. `--detect` takes a minute, can be stopped (Ctrl-C) and is kept on the host for the next time.
    Exit code 3 when there is no mesh.
    """
    from asct.engine.stop import StopRequest, signals

    asked.check()
    stop = StopRequest()
    if asked.origin is not None:
        if asked.host or detect or sudo:
            raise click.UsageError("--from reads what was kept of a machine: leave out --host, --detect and --sudo")
        seen = _kept(asked.origin)
    else:
        with signals(stop):
            seen = _looked(settings, asked.host, detect=detect, sudo=sudo, stop=stop)
    _show(settings, seen.report, asked.form, standard=standard)
    if not settings.json:
        settings.console.diagnostics(seen.problems)
    if seen.report.meshes and (folder := asked.folder()) is not None:
        _write(settings.console, seen.report, folder)
    return _ended(settings, seen, stop)


def _kept(origin: str) -> MeshReading:
    from asct.diagnostics.model import Diagnostic
    from asct.doctor.meshes import MeshReading
    from asct.facts.cmn.discover import report
    from asct.facts.files_snapshot import load

    snapshot = load(Path(origin))
    found = report(snapshot)
    odd = tuple(Diagnostic("E921", f"{origin}: {note}", severity="warning") for note in found.notes)
    return MeshReading(snapshot, found, odd)


def _looked(settings: Settings, host: str | None, *, detect: bool, sudo: bool, stop: StopRequest) -> MeshReading:
    from asct.cli.targets import host_of
    from asct.doctor.meshes import MeshQuery, read_meshes
    from asct.engine.services import default_services

    spec = replace(host_of(host), sudo=sudo)
    asked = MeshQuery(every_register=settings.verbosity > 0 or settings.json, detect=detect)
    console = settings.console
    with tempfile.TemporaryDirectory(prefix="asct-cmn-") as raw:
        try:
            return read_meshes(spec, default_services(), Path(raw), asked, _progress(console), stop)
        finally:
            if console.interactive:
                console.over("")


def _progress(console: Console) -> Progress:
    """Says how far a detection is: a line that is written over on a terminal, else one line at the beginning."""
    from asct.cli.words import counted

    told = False

    def tell(done: int, total: int, ports: int) -> None:
        nonlocal told
        if console.interactive:
            console.over(f"{done} of {counted(total, 'CPU')} watched at {counted(ports, 'port')}")
        elif not told:
            console.line(f"loading {counted(total, 'CPU')}, watching {counted(ports, 'port')} of the mesh")
        told = True

    return tell


def _show(settings: Settings, report: CmnReport, form: str, *, standard: bool) -> None:
    if settings.json or form == "json":
        settings.console.document(report.model_dump(mode="json", by_alias=True))
    elif form == "csv":
        settings.console.result(_csv(report).rstrip("\n"))
    else:
        _print(settings, report, standard=standard)


def _ended(settings: Settings, seen: MeshReading, stop: StopRequest) -> int:
    """A detection that was stopped keeps what it had found, and ends as stopped."""
    detection = seen.detection
    if detection is not None:
        stopped = " before it was stopped" if detection.stopped else ""
        settings.console.line(f"{detection.found} of {detection.asked} CPUs found{stopped}")
        if not settings.json:
            settings.console.diagnostics(detection.problems)
    if stop.signal is not None:
        return 128 + stop.signal
    if not seen.report.meshes and not settings.json:
        settings.console.diagnostics([_no_mesh(seen.report)])
    return _NOTHING if not seen.report.meshes or (detection is not None and not detection.found) else 0


def _csv(report: CmnReport) -> str:
    from asct.cli.files import csv_text
    from asct.cli.meshtext import COLUMNS, rows

    return csv_text(COLUMNS, rows(report))


def _write(console: Console, report: CmnReport, folder: Path) -> None:
    from asct.cli.files import write_text

    text = report.model_dump_json(by_alias=True, indent=1) + "\n"
    for name, content in (("cmn.csv", _csv(report)), ("report.json", text)):
        write_text(folder / name, content)
        console.line(str(folder / name))


def _print(settings: Settings, report: CmnReport, *, standard: bool) -> None:
    from asct.cli.meshtext import mesh_lines

    width = settings.console.out.width
    registers = settings.verbosity > 0
    for number, mesh in enumerate(report.meshes):
        if number:
            settings.console.result("")
        for line in mesh_lines(mesh, len(report.meshes), width, drawn=standard, registers=registers):
            settings.console.result(line)


def _no_mesh(report: CmnReport) -> Diagnostic:
    from asct.diagnostics.model import Diagnostic

    hint = "as root `modprobe arm-cmn`, mount debugfs, and look again, if the machine has one"
    return Diagnostic("E460", f"no coherent mesh was found: {report.unknown['meshes']}", hint=hint)

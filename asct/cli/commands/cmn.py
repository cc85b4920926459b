"""The command `asct cmn`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from asct.cli.options import GlobalOptions, ReportRequest, report_options, shared_options

if TYPE_CHECKING:
    from asct.cli.console import Console
    from asct.doctor.cpu_detection import Progress
    from asct.doctor.meshes import MeshReading
    from asct.engine.stop import StopRequest
    from asct.facts.cmn.model import CmnReport

_NO_MESH = 3


@click.command("cmn", short_help="Show the coherent mesh (Arm CMN) of a machine.")
@report_options("cmn.csv", "report.json")
@click.option("--standard", is_flag=True, help="Draw the mesh.")
@click.option("--detect", is_flag=True, help="Locate the CPUs in the mesh by putting load on one CPU after another.")
@click.option("--sudo", is_flag=True, help="Read registers and count events through `sudo -n` on the host.")
@shared_options
def command(options: GlobalOptions, request: ReportRequest, standard: bool, detect: bool, sudo: bool) -> int:
    """Show the coherent mesh of a machine (Arm CMN-600, CMN-650, CMN-700, CMN S3, CI-700): its size, the nodes at its
    crosspoints, the CPUs (once `--detect` has located them) and, with `--verbose`, the registers.

    asct reads the best available source: the configuration registers (root), the arm_cmn driver's map (root), the
    driver's PMU, or the firmware. `--detect` takes about a minute and can be stopped with Ctrl-C; its result is cached
    on the host. The exit code is 3 if there is no mesh.
    """
    from asct.engine.stop import StopRequest, signals

    request.check()
    stop = StopRequest()
    if request.origin is not None:
        if request.host or detect or sudo:
            raise click.UsageError("--from reads a snapshot; remove --host, --detect and --sudo")
        reading = _from_snapshot(request.origin)
    else:
        with signals(stop):
            reading = _from_host(options, request.host, detect=detect, sudo=sudo, stop=stop)
    _show(options, reading.report, request, standard=standard)
    if not options.json:
        options.console.diagnostics(reading.problems)
    if reading.report.meshes and (folder := request.folder()) is not None:
        _write(options.console, reading.report, folder, request)
    return _ended(options, reading, stop)


def _from_snapshot(origin: str) -> MeshReading:
    from asct.diagnostics.model import Diagnostic
    from asct.doctor.meshes import MeshReading
    from asct.facts.cmn.discover import report
    from asct.facts.files_snapshot import load

    found = report(load(Path(origin)))
    odd = tuple(Diagnostic("E921", f"{origin}: {note}", severity="warning") for note in found.notes)
    return MeshReading(found, odd)


def _from_host(options: GlobalOptions, host: str | None, *, detect: bool, sudo: bool, stop: StopRequest) -> MeshReading:
    from asct.cli.targets import host_of
    from asct.doctor.meshes import MeshQuery, read_meshes
    from asct.engine.services import default_services

    spec = host_of(host)._replace(sudo=sudo)
    query = MeshQuery(every_register=options.verbosity > 0 or options.json, detect=detect)
    console = options.console
    with tempfile.TemporaryDirectory(prefix="asct-cmn-") as raw:
        try:
            return read_meshes(spec, default_services(), Path(raw), query, _progress(console), stop)
        finally:
            if console.interactive:
                console.over("")


def _progress(console: Console) -> Progress:
    """Return a function that shows detection progress: on a terminal, in one line that it keeps updating; otherwise, in
    a single line at the start."""
    from asct.values.text import counted

    announced = False

    def show(done: int, total: int, ports: int) -> None:
        nonlocal announced
        if console.interactive:
            console.over(f"{done} of {counted(total, 'CPU')} loaded, {counted(ports, 'port')} watched")
        elif not announced:
            console.line(f"loading {counted(total, 'CPU')} one after another, watching {counted(ports, 'mesh port')}")
        announced = True

    return show


def _show(options: GlobalOptions, report: CmnReport, request: ReportRequest, *, standard: bool) -> None:
    from asct.cli.files import csv_text, print_report
    from asct.cli.mesh_text import COLUMNS, report_lines, rows

    lines = report_lines(report, options.console.width, drawn=standard, registers=options.verbosity > 0)
    document, table = report.model_dump(mode="json", by_alias=True), csv_text(COLUMNS, rows(report))
    to_files = bool(report.meshes) and request.output_dir is not None
    print_report(options.console, request.form, document, table, lines, to_files=to_files)


def _ended(options: GlobalOptions, reading: MeshReading, stop: StopRequest) -> int:
    """Print the detection result and return the exit code, which indicates whether the user interrupted the
    detection."""
    from asct.diagnostics.model import Diagnostic

    detection = reading.detection
    if detection is not None:
        stopped = " before detection was stopped" if detection.stopped else ""
        options.console.line(f"{detection.located} of {detection.total} CPUs located{stopped}")
        if not options.json:
            options.console.diagnostics(detection.problems)
    if stop.signal is not None:
        return 128 + stop.signal
    if not reading.report.meshes and not options.json:
        hint = "if the machine has a mesh, run `modprobe arm-cmn` and mount debugfs as root, then try again"
        message = f"no coherent mesh found: {reading.report.unknown['meshes']}"
        options.console.diagnostics([Diagnostic("E460", message, hint=hint)])
    return _NO_MESH if not reading.report.meshes or (detection is not None and not detection.located) else 0


def _write(console: Console, report: CmnReport, folder: Path, request: ReportRequest) -> None:
    from asct.cli.files import csv_text, write_texts
    from asct.cli.mesh_text import COLUMNS, rows

    text = report.model_dump_json(by_alias=True, indent=1) + "\n"
    files = {"cmn.csv": csv_text(COLUMNS, rows(report)), "report.json": text}
    write_texts(console, folder, files, request.form, force=request.force)

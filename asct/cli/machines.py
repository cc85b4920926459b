"""Facts about machines (this one, hosts over ssh, or a snapshot) and the differences between two machines, as text, CSV
and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from asct import __version__
from asct.analysis.fields import Difference, by_title, differences, flat, folded, whole_line
from asct.analysis.grid import plain
from asct.analysis.machine import network_sections, sections, unknown
from asct.analysis.topology.latency import CoreLatency, core_latencies
from asct.analysis.topology.svg import drawing
from asct.analysis.topology.text import lines
from asct.cli.files import csv_text, print_report, write_texts
from asct.cli.options import GlobalOptions, ReportRequest
from asct.cli.targets import host_of
from asct.cli.text import section_lines, wrapped
from asct.diagnostics.model import Diagnostic
from asct.engine.options import FORKS
from asct.errors import HostError, NoSuchRun, StoreError, UsageError
from asct.export.csv import machine_text
from asct.facts.bounds import bounded
from asct.facts.describe import describe
from asct.facts.files_snapshot import load as load_files
from asct.facts.reading import facts_of, probe
from asct.facts.snapshot import KEPT
from asct.hosts.base import Host
from asct.hosts.factory import make_host
from asct.plan.model import HostSpec
from asct.sdk.facts import HostFacts
from asct.store.documents import load as load_document
from asct.store.find import holds_run
from asct.values.text import counted

_ARCHIVE = re.compile(r"\.(tar(\.\w+)?|tgz|tbz2?|txz)\Z")


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """Facts about all machines that could be read, and diagnostics for the others."""

    facts: tuple[HostFacts, ...]
    problems: tuple[Diagnostic, ...] = ()

    @property
    def exit_code(self) -> int:
        """The exit code: 3 if a host could not be read, else 0."""
        return HostError.exit_code if self.problems else 0


def read_machines(options: GlobalOptions, request: ReportRequest) -> MachineFacts:
    """Read the facts of the requested machines in parallel. Raises UsageError or StoreError."""
    if request.origin is not None:
        if request.hosts:
            raise click.UsageError("--from reads a snapshot; remove --host")
        return MachineFacts((read_snapshot(options, Path(request.origin)),))
    specs = list({spec.name: spec for spec in (host_of(name) for name in request.hosts or (None,))}.values())
    hosts = [make_host(spec) for spec in specs]
    with ThreadPoolExecutor(min(FORKS, len(specs))) as pool:
        try:
            answers = list(pool.map(_read_host, hosts, specs))
        except BaseException:  # the pool waits for its threads, so stop their hosts first
            for host in hosts:
                host.interrupt()
            raise
    problems = tuple(item for answer in answers if isinstance(answer, HostError) for item in answer.diagnostics)
    if not options.json:
        options.console.diagnostics(problems)
    return MachineFacts(tuple(answer for answer in answers if isinstance(answer, HostFacts)), problems)


def _read_host(host: Host, spec: HostSpec) -> HostFacts | HostError:
    try:
        found = probe(host, spec.workdir)
    except HostError as error:
        return error
    return facts_of(found, spec.name, datetime.now(UTC))


def read_snapshot(options: GlobalOptions, path: Path, host: str = "") -> HostFacts:
    """Read facts from disk: an asct.facts/1 file, a run (`host` selects one of several), or a snapshot.

    Also print the `notes` in the facts, which list what is missing from a snapshot. Raises UsageError or StoreError.
    """
    found = _facts_from(path, host)
    if not options.quiet and not options.json:
        options.console.diagnostics(Diagnostic("E921", f"{path}: {note}", severity="warning") for note in found.notes)
    return found


def _facts_from(path: Path, host: str) -> HostFacts:
    run = path.parent if path.name == "run.json" else path
    if holds_run(run):
        return _of_run(run, host)
    if path.suffix == ".json":
        try:
            return bounded(load_document(HostFacts, "facts", path))
        except StoreError as error:  # the argument is not a facts document
            raise UsageError(*error.diagnostics) from error
    found = load_files(path)
    when = found.taken_at or datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return facts_of(found, _host_name(path), when, dated_by_file=found.taken_at is None)


def _of_run(path: Path, host: str) -> HostFacts:
    from asct.store.reader import read_run

    found = read_run(path).facts()
    if host in found or len(found) == 1:
        return found.get(host) or next(iter(found.values()))
    if not found:
        raise NoSuchRun(Diagnostic("E505", f"{path} contains no host facts", hint="choose another run"))
    names = sorted(found)
    known = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
    message = f"{path} contains the facts of several hosts: {known}"
    raise UsageError(Diagnostic("E910", message, hint=f"choose one, e.g. {path}/facts/{names[0]}.json"))


def _latencies(origin: str | None) -> dict[str, CoreLatency]:
    """Return the core-to-core latencies of each host if the facts come from a run. Raises StoreError."""
    from asct.store.reader import read_run

    path = Path(origin or "")
    run = next((one for one in (path, path.parent, path.parent.parent) if origin and holds_run(one)), None)
    return {} if run is None else core_latencies(read_run(run).looks()[0])


def _host_name(path: Path) -> str:
    """Return the host name: `altra` for altra.tar.gz and for facts/altra/snapshot.txt."""
    resolved = path.resolve()
    return resolved.parent.name if resolved.name == KEPT else _ARCHIVE.sub("", resolved.name) or "machine"


SEVERAL = "asct.machines/1"


def print_facts(
    options: GlobalOptions, request: ReportRequest, read: MachineFacts, *, network: bool = False, topology: bool = False
) -> None:
    """Print the facts in the requested format, and write them to the output directory if there is one.

    With `network`, only network facts are included. With `topology`, diagrams of the machines are printed instead.
    """
    found, latencies = read.facts, _latencies(request.origin) if topology else {}
    documents = [_network(facts) if network else facts.model_dump(mode="json", by_alias=True) for facts in found]
    problems = [item.to_json() for item in read.problems]
    alone = len(documents) == 1 and not problems
    whole = documents[0] if alone else {"schema": SEVERAL, "hosts": documents, "problems": problems}
    folder = request.folder() if found else None
    if folder is not None:
        texts = {"report.json": json.dumps(whole, indent=1, allow_nan=False) + "\n"}
        for facts, document in zip(found, documents, strict=True):
            suffix = f".{facts.host}" if len(found) > 1 else ""
            texts[f"{'network' if network else 'system'}_info{suffix}.csv"] = machine_text(flat(document))
            if topology:
                texts[f"topology{suffix}.svg"] = drawing(facts, latencies.get(facts.host)) + "\n"
        write_texts(options.console, folder, texts, request.form, force=request.force)
    width = options.console.width
    blocks = (
        lines(facts, width, latencies.get(facts.host)) if topology else _facts_lines(facts, width, network)
        for facts in found
    )
    text = (line for number, one in enumerate(blocks) for line in (*[""][:number], *one))
    print_report(options.console, request.form, whole, _csv(documents), text, to_files=folder is not None)


def _network(facts: HostFacts) -> dict[str, Any]:
    """Return the network facts as a document with its own schema."""
    body = facts.model_dump(mode="json", include={"host", "collected_at", "network", "unknown", "notes"})
    unknown = {name: why for name, why in body.pop("unknown").items() if name.partition(".")[0] == "network"}
    return {"schema": "asct.network/1", **body, "unknown": unknown}


def _csv(documents: Sequence[dict[str, Any]]) -> str:
    """Return CSV with one line per field. If there are several machines, each field name is prefixed with the machine
    name."""
    if len(documents) == 1:
        return machine_text(flat(documents[0]))
    return machine_text({f"{one['host']}.{field}": value for one in documents for field, value in flat(one).items()})


def _facts_lines(facts: HostFacts, width: int, network: bool) -> list[str]:
    account = {None: "an unknown account", 0: "root"}.get(facts.system.uid, f"uid {facts.system.uid}")
    parts = network_sections(facts) if network else sections(facts)
    found = wrapped(f"{facts.host}: {describe(facts)}", width, "")
    of_file = " (file modification time)" if facts.dated_by_file else ""
    found += wrapped(f"As of {facts.collected_at}{of_file}, read by {account} with asct {__version__}", width)
    found += section_lines(parts, width)
    if facts.contradictions and not network:
        contradictions = (line for text in facts.contradictions for line in wrapped(plain(text), width))
        found += ["", "Contradictions", *contradictions]
    gaps = unknown(facts, "network" if network else "")
    missing = [line for reason, names in gaps for line in wrapped(f"{names}: {reason}", width)]
    return [*found, *(["", "Unknown", *missing] if missing else [])]


SCHEMA = "asct.facts_comparison/1"
_COLUMNS = ("field", "base", "other", "moves")


def print_comparison(options: GlobalOptions, request: ReportRequest, base: HostFacts, other: HostFacts) -> None:
    """Print the differences between `other` and `base`, and write them to the output directory if there is one."""
    found = differences(base, other)
    rows = [{name: getattr(one, name) for name in _COLUMNS} for one in found]
    sides = {
        name: {"host": one.host, "collected_at": one.collected_at, "notes": one.notes}
        for name, one in (("base", base), ("other", other))
    }
    document: dict[str, Any] = {"schema": SCHEMA, **sides, "differences": rows}
    table = csv_text(_COLUMNS, rows)
    folder = request.folder()
    if folder is not None:
        text = json.dumps(document, indent=1, allow_nan=False) + "\n"
        files = {"system_info.csv": table, "report.json": text}
        write_texts(options.console, folder, files, request.form, force=request.force)
    compared = _comparison_lines(base, other, found, options)
    print_report(options.console, request.form, document, table, compared, to_files=folder is not None)


def _comparison_lines(
    base: HostFacts, other: HostFacts, found: Sequence[Difference], options: GlobalOptions
) -> list[str]:
    width, all_of_them = options.console.width, options.verbosity > 0
    visible = [one for one in found if all_of_them or not one.moves]
    hidden = len(found) - len(visible)
    lines = wrapped(f"{_named_at(base)} -> {_named_at(other)}: {counted(len(visible), 'difference')}", width, "")
    each = ((title, [whole_line(one, title) for one in group]) for title, group in by_title(visible).items())
    for title, texts in each if all_of_them else folded(visible, base, other):
        lines += ["", plain(title), *(line for text in texts for line in wrapped(plain(text), width))]
    if hidden:
        note = (
            f"{counted(hidden, 'difference')} in values that always change (temperatures, free memory); -v lists them"
        )
        lines += ["", *wrapped(note, width, "")]
    return lines


def _named_at(facts: HostFacts) -> str:
    return plain(f"{facts.host} ({facts.collected_at})")

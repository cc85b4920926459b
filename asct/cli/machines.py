"""The machines that a report is of: this one, hosts over ssh, or what was kept of one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click

from asct.cli.asked import ReportAsked
from asct.cli.options import Settings
from asct.cli.targets import host_of
from asct.diagnostics.model import Diagnostic
from asct.engine.options import FORKS
from asct.errors import HostError, NoSuchRun, StoreError, UsageError
from asct.facts.bounds import bounded
from asct.facts.files_snapshot import load as load_dump
from asct.facts.reading import facts_of, probe
from asct.facts.snapshot import KEPT
from asct.hosts.base import Host
from asct.hosts.opening import make_host
from asct.plan.model import HostSpec
from asct.sdk.facts import HostFacts
from asct.store.documents import load as load_document
from asct.store.find import holds_run

_ARCHIVE = re.compile(r"\.(tar(\.\w+)?|tgz|tbz2?|txz)\Z")


@dataclass(frozen=True, slots=True)
class Found:
    """The facts of each machine that answered, and why the others did not."""

    facts: tuple[HostFacts, ...]
    problems: tuple[Diagnostic, ...] = ()

    @property
    def exit_code(self) -> int:
        """3 when a host could not be looked at."""
        return HostError.exit_code if self.problems else 0


def machines(settings: Settings, asked: ReportAsked) -> Found:
    """Look at the machines that are asked for, side by side. Raises UsageError, StoreError."""
    if asked.origin is not None:
        if asked.hosts:
            raise click.UsageError("--from reads what was kept of a machine: leave out --host")
        return Found((kept_machine(settings, Path(asked.origin)),))
    specs = list({spec.name: spec for spec in (host_of(name) for name in asked.hosts or (None,))}.values())
    hosts = [make_host(spec) for spec in specs]
    with ThreadPoolExecutor(min(FORKS, len(specs))) as pool:
        try:
            answers = list(pool.map(_looked_at, hosts, specs))
        except BaseException:  # of a signal: nobody waits for the answers any more
            for host in hosts:
                host.interrupt()
            raise
    problems = tuple(item for answer in answers if isinstance(answer, HostError) for item in answer.diagnostics)
    if not settings.json:
        settings.console.diagnostics(problems)
    return Found(tuple(answer for answer in answers if isinstance(answer, HostFacts)), problems)


def _looked_at(host: Host, spec: HostSpec) -> HostFacts | HostError:
    try:
        found = probe(host, spec.workdir)
    except HostError as error:
        return error
    return facts_of(found, spec.name, datetime.now(UTC))


def kept_machine(settings: Settings, place: Path, host: str = "") -> HostFacts:
    """What was kept of a machine: asct.facts/1 in a file, those of a run (of `host`, if it has several), or a snapshot.

    That a dump is not whole is told at once, and stands in the `notes` of the facts. Raises UsageError, StoreError.
    """
    found = _kept(place, host)
    if not settings.quiet and not settings.json:
        settings.console.diagnostics(Diagnostic("E921", f"{place}: {note}", severity="warning") for note in found.notes)
    return found


def _kept(place: Path, host: str) -> HostFacts:
    run = place.parent if place.name == "run.json" else place
    if holds_run(run):
        return _of_run(run, host)
    if place.suffix == ".json":
        try:
            return bounded(load_document(HostFacts, "facts", place))
        except StoreError as error:  # what is asked for is no document of facts
            raise UsageError(*error.diagnostics) from error
    found = load_dump(place)
    when = found.taken or datetime.fromtimestamp(place.stat().st_mtime, UTC)
    return facts_of(found, _named(place), when, dated_by_file=found.taken is None)


def _of_run(place: Path, host: str) -> HostFacts:
    from asct.store.reader import read_run

    found = read_run(place).facts()
    if host in found:
        return found[host]
    if len(found) == 1:
        return next(iter(found.values()))
    if not found:
        raise NoSuchRun(Diagnostic("E505", f"{place} keeps no facts of a host", hint="name another run"))
    raise UsageError(_several(place, sorted(found)))


def _several(place: Path, names: Sequence[str]) -> Diagnostic:
    known = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
    return Diagnostic(
        "E910",
        f"{place} has the facts of several hosts: {known}",
        hint=f"name one of them: {place}/facts/{names[0]}.json",
    )


def _named(place: Path) -> str:
    """`altra` for altra.tar.gz, and for facts/altra/snapshot.txt."""
    whole = place.resolve()
    return whole.parent.name if whole.name == KEPT else _ARCHIVE.sub("", whole.name) or "machine"

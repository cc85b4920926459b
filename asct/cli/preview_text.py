"""The preview of a plan as text, for `asct plan` and for `--dry-run` of `asct apply` and `asct run`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from asct.cli.options import GlobalOptions
from asct.cli.text import say, short_time
from asct.values.grouping import grouped
from asct.values.text import counted

if TYPE_CHECKING:
    from asct.cli.console import Console
    from asct.planner.model import Job, ResolvedPlan
    from asct.planner.preview import Destroyed, HostPreview, Preview
    from asct.sdk.needs import JobNeeds

_MOST_VALUES = 8


def preview_of(resolved: ResolvedPlan, reusable: Mapping[str, int] | None = None) -> Preview:
    """Return the preview of a plan, based on the installed benchmarks; see `asct.planner.preview`."""
    from asct.planner.preview import preview
    from asct.registry import installed

    return preview(resolved, installed(), reusable=reusable)


def show_preview(options: GlobalOptions, resolved: ResolvedPlan, preview: Preview) -> None:
    """Print a preview as text or, with --json, as a single JSON document. Warn if the run requires `--yes`."""
    from asct.planner.budget import unconfirmed

    questions = unconfirmed(resolved, preview)
    if options.json:
        document = preview.to_json()
        document["warnings"] += [item.message for item in questions]
        options.console.document(document)
        return
    _print(options.console, preview, resolved)
    options.console.diagnostics([replace(item, severity="warning") for item in questions])


def dry_run(options: GlobalOptions, plans: Sequence[ResolvedPlan], commands: bool) -> int:
    """Print the preview of each plan, or its shell commands. Return the exit code."""
    from asct.cli.dryrun import print_commands

    for plan in plans:
        if commands:
            print_commands(options, plan)
        else:
            show_preview(options, plan, preview_of(plan))
    return 0


def require_confirmation(plans: Sequence[ResolvedPlan]) -> None:
    """Raise SafetyError if one of the plans requires `--yes`. asct never waits for an answer."""
    from asct.errors import SafetyError
    from asct.planner.budget import unconfirmed

    questions = [item for plan in plans for item in unconfirmed(plan, preview_of(plan))]
    if questions:
        raise SafetyError(*questions)


def _print(console: Console, preview: Preview, resolved: ResolvedPlan) -> None:
    say(
        console,
        f"plan {preview.name} ({preview.hash[:12]}): {counted(preview.jobs, 'job')}, {counted(preview.points, 'point')}"
        f", {counted(preview.measurements, 'measurement')} on {counted(len(preview.hosts), 'host')}, {_time(preview)}",
    )
    if preview.reusable is not None:
        say(console, f"of these, at most {counted(preview.reusable, 'point')} can be reused from earlier runs")
    for host in preview.hosts:
        _print_host(console, host)
    _print_privileges(console, preview)
    ordered = sorted(resolved.checks, key=lambda check: not check.bounded)
    for noun, checks in grouped(ordered, lambda check: "expectation" if check.bounded else "reference").items():
        say(console, "")
        say(console, f"{counted(len(checks), noun)}:")
        for check in checks:
            say(console, f"  {check.text}" + (f" (not planned: {check.unplanned})" if check.unplanned else ""))

    if resolved.confirm and (number := _suspectable(resolved)):
        say(console, f"  at most {counted(number, 'point')} may be measured again to confirm regressions")


def _time(part: Preview | HostPreview | JobNeeds) -> str:
    """Return the estimated time and, if it differs, the maximum time: `about 4h43m, at most 47h39m`."""
    about, most = short_time(part.seconds), short_time(part.longest_s)
    usual = "less than 1s" if about == "0s" else f"about {about}"
    return usual if most == about else f"{usual}, at most {most}"


def _suspectable(resolved: ResolvedPlan) -> int:
    """Return the number of points where a regression can make the run fail."""
    from fnmatch import fnmatchcase

    checks = [check for check in resolved.checks if check.versus and not check.unplanned and check.severity == "fail"]
    return len(
        {
            (job.key, point.id)
            for check in checks
            for job in resolved.jobs
            if fnmatchcase(job.id, check.job_id) and (check.hosts is None or job.host in check.hosts)
            for point in job.points
            if all(point.swept[key] == value for key, value in check.at.items() if key in point.swept)
        }
    )


def _print_host(console: Console, host: HostPreview) -> None:
    address = f" ({host.transport} {host.address})" if host.address else f" ({host.transport})"
    say(console, "")
    say(console, f"{host.name}{address}: {_time(host)}")
    for item in host.jobs:
        job = item.job
        reusable = f"; at most {item.reusable} reusable" if item.reusable else ""
        say(console, f"  {job.id}: {_size_of(job)}, {_time(item.cost)}; {job.reason}{reusable}")
        for name, values in item.swept.items():
            say(console, f"      {name}: {_values(job, name, values)}")
    for line in _effects(host):
        say(console, f"  {line}")


def _size_of(job: Job) -> str:
    repeats = f" x {counted(job.repeats, 'repeat')}" if job.repeats > 1 else ""
    warmup = f" + {counted(job.warmup, 'warm-up')} each" if job.warmup else ""
    return f"{counted(len(job.points), 'point')}{repeats}{warmup}"


def _values(job: Job, name: str, values: tuple[object, ...]) -> str:
    texts = [_notation(job.benchmark, name, value) for value in values]
    if len(texts) > _MOST_VALUES:
        texts = [*texts[: _MOST_VALUES - 2], "...", texts[-1]]
    return ", ".join(texts)


def _notation(benchmark: str, setting: str, value: object) -> str:
    """Return the value of a setting in plan notation."""
    from asct.registry import installed

    found = installed().info(benchmark)
    known = found.setting(setting) if found is not None else None
    return str(value) if known is None else known.format_value(value)


def _effects(host: HostPreview) -> list[str]:
    """Return what the run uses and changes on the host: memory, disk space, bytes written."""
    from asct.values.quantity import format_alike, format_quantity
    from asct.values.size import format_size

    lines = []
    memory = max((item.cost.memory_bytes for item in host.jobs), default=0)
    scratch = max((size for item in host.jobs for size in item.cost.scratch.values()), default=0)
    if memory:
        lines.append(f"memory: about {format_quantity(memory, 'B')}")
    if scratch:
        lines.append(f"temporary file: {format_size(scratch)} ({scratch:,} bytes), removed at the end")
    likely = host.likely_writes
    for target, number in host.writes.items():
        about, most = format_alike((likely.get(target, 0), number))
        lines.append(f"writes: about {about}, at most {most}, to {target or 'the temporary file'}")
    for item in host.destroys:
        lines += _destroyed(item)
    return lines


def _print_privileges(console: Console, preview: Preview) -> None:
    """Print each operation that requires root once, with its jobs and, unless all hosts require it, its hosts."""
    from asct.analysis.outcomes import short_names

    if preview.privileges:
        say(console, "")
    for item in preview.privileges:
        where = "" if len(item.hosts) == len(preview.hosts) else f" on {short_names(item.hosts)}"
        say(console, f"privileges: {item}{where}")


def _destroyed(item: Destroyed) -> list[str]:
    """Describe what asct does to a device that the plan allows it to overwrite."""
    if not item.written:
        return [f"{item.device} may be overwritten, but no job writes to it"]
    lines = [f"DESTROYS the content of {item.device}", f"  serial {item.serial}, checked on the host before each job"]
    if item.reason:
        lines.append(f"  reason: {item.reason}")
    if item.purged:
        lines.append("  purged before it is measured")
    if item.overwrite:
        lines.append("  even if it contains a file system, a partition table or other known content")
    return lines


def print_origins(console: Console, resolved: ResolvedPlan) -> None:
    """Print the value, layer and location of every setting in every job."""
    for job in resolved.jobs:
        console.result("")
        console.result(f"{job.key}:")
        for name, value, origin in _origins(job):
            console.result(f"  {name} = {value}  <- {origin}")


def _origins(job: Job) -> list[tuple[str, str, str]]:
    """Return the name, value, and layer with location of every setting in a job, in order."""
    from asct.plan.model import PendingValue

    rows = []
    for name, value in job.points[0].settings.items():
        origin = job.origins.get(name)
        location = f" {origin.span.file}:{origin.span.line}" if origin and origin.span else ""
        text = value.text if isinstance(value, PendingValue) else _notation(job.benchmark, name, value)
        if name in job.points[0].swept and len(job.points) > 1:
            text = f"{counted(len({json.dumps(point.swept.get(name)) for point in job.points}), 'value')}"
        rows.append((name, text, f"{origin.layer if origin else 'default'}{location}"))
    return rows

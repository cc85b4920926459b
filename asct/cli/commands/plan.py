"""`asct plan PLAN`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asct.cli.durations import Duration
from asct.cli.loading import Choice, choice_options, load
from asct.cli.options import Settings, shared_options
from asct.cli.progress import short_time
from asct.cli.words import counted

if TYPE_CHECKING:
    from asct.cli.console import Console
    from asct.planner.model import Job, ResolvedPlan
    from asct.planner.preview import Destroyed, HostPreview, Preview

_MOST_VALUES = 8


@click.command("plan", short_help="Show what a plan would do; touches no host.")
@click.argument("plan", metavar="PLAN", type=click.Path())
@click.option("--show-commands", is_flag=True, help="The commands that would be run, as one could type them.")
@click.option("--origin", is_flag=True, help="Where each setting comes from.")
@click.option(
    "--reuse", type=Duration(), metavar="AGE", help="How many points `apply --reuse AGE` may take from earlier runs."
)
@click.option("--results", type=click.Path(), default="results", show_default=True, help="Where earlier runs lie.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Freeze the plan into this file for `apply`.")
@shared_options
@choice_options
def command(
    settings: Settings, plan: str, show_commands: bool, origin: bool, output: str | None, choice: Choice, **before: Any
) -> int:
    """Show what a plan would do: points, repeats, time per host, bytes written, privileges. Touches no host."""
    from asct.planner.preview import preview
    from asct.registry import installed

    resolved = load(settings, plan, choice)
    if output is not None:
        _freeze(settings, resolved, output)
    shown = preview(resolved, installed(), reusable=_reusable(resolved, **before))
    if show_commands:
        from asct.cli.dryrun import dry_run

        return dry_run(settings, resolved)
    if settings.json:
        settings.console.document(shown.to_json())
        return 0
    _print(settings.console, shown, resolved)
    if origin:
        _print_origins(settings.console, resolved)
    if output is None:
        settings.console.line(f"next: asct apply {plan}")
    return 0


def _reusable(resolved: ResolvedPlan, reuse: float | None, results: str) -> Mapping[str, int] | None:
    """At most how many points of each job could be taken from earlier runs; None when that was not asked."""
    if reuse is None:
        return None
    from asct.engine.reuse import earlier_runs, reusable
    from asct.registry import installed

    return reusable(resolved, installed(), earlier_runs(Path(results), reuse))


def _freeze(settings: Settings, resolved: ResolvedPlan, output: str) -> None:
    from asct.cli.files import write_text
    from asct.planner.freeze import freeze

    write_text(Path(output), json.dumps(freeze(resolved), indent=1, allow_nan=False) + "\n")
    settings.console.line(f"frozen as {output}; next: asct apply {output} --approve {resolved.hash[:12]}")


def _print(console: Console, shown: Preview, resolved: ResolvedPlan) -> None:
    about = short_time(shown.seconds)
    console.result(
        f"plan {shown.name} ({shown.hash[:12]}): {counted(shown.jobs, 'job')}, {counted(shown.points, 'point')}, "
        f"{counted(shown.measurements, 'measurement')} on {counted(len(shown.hosts), 'host')}, about {about}"
    )
    if shown.reusable is not None:
        console.result(f"of these, up to {counted(shown.reusable, 'point')} may be taken from earlier runs")
    for host in shown.hosts:
        _print_host(console, host)
    if resolved.checks:
        console.result("")
        console.result(f"{counted(len(resolved.checks), 'expectation')}:")
        for check in resolved.checks:
            console.result(f"  {check.text}")


def _print_host(console: Console, host: HostPreview) -> None:
    place = f" ({host.transport} {host.address})" if host.address else f" ({host.transport})"
    console.result("")
    console.result(f"{host.name}{place}: about {short_time(host.seconds)}")
    for item in host.jobs:
        job = item.job
        before = f"; up to {item.reusable} measured before" if item.reusable else ""
        console.result(f"  {job.id}: {_size_of(job)}, about {short_time(item.cost.seconds)}; {job.reason}{before}")
        for name, values in item.swept.items():
            console.result(f"      {name}: {_values(job, name, values)}")
    for line in _effects(host):
        console.result(f"  {line}")


def _size_of(job: Job) -> str:
    repeats = f" x {job.repeats}" if job.repeats > 1 else ""
    warmup = f" + {counted(job.warmup, 'warm-up')} each" if job.warmup else ""
    return f"{counted(len(job.points), 'point')}{repeats}{warmup}"


def _values(job: Job, name: str, values: tuple[object, ...]) -> str:
    from asct.cli.lookup import show_value

    texts = [show_value(job.benchmark, name, value) for value in values]
    if len(texts) > _MOST_VALUES:
        texts = [*texts[: _MOST_VALUES - 2], "...", texts[-1]]
    return ", ".join(texts)


def _effects(host: HostPreview) -> list[str]:
    """What the host gives: memory, disk, files written, privileges that are missed."""
    from asct.values.size import format_size

    lines = []
    memory = max((item.cost.memory_bytes for item in host.jobs), default=0)
    scratch = max((item.cost.scratch_bytes for item in host.jobs), default=0)
    if memory:
        lines.append(f"memory: up to {_bytes(memory)}")
    if scratch:
        lines.append(f"temporary file: {format_size(scratch)} ({scratch:,} bytes), removed at the end")
    for target, number in host.writes.items():
        lines.append(f"writes: at most about {_bytes(number)} to {target or 'the temporary file'}")
    for item in host.destroys:
        lines += _destroyed(item)
    lines += [f"privileges: {text}" for text in host.privileges]
    return lines


def _destroyed(item: Destroyed) -> list[str]:
    """What becomes of a device whose content the plan gives up."""
    if not item.written:
        return [f"may be destroyed, but no job writes to it: {item.device}"]
    lines = [f"DESTROYS the content of {item.device}", f"  serial {item.serial}, checked on the host before each job"]
    if item.reason:
        lines.append(f"  reason: {item.reason}")
    if item.purged:
        lines.append("  wiped whole before it is measured")
    if item.overwrite:
        lines.append("  also if a file system, partition table or other known content is found")
    return lines


def _bytes(number: int) -> str:
    from asct.values.quantity import format_quantity

    return format_quantity(number, "B")


def _print_origins(console: Console, resolved: ResolvedPlan) -> None:
    for job in resolved.jobs:
        console.result("")
        console.result(f"{job.key}:")
        for name, value, origin in _origins(job):
            console.result(f"  {name} = {value}  <- {origin}")


def _origins(job: Job) -> list[tuple[str, str, str]]:
    """(setting, value, layer and place) of every setting of a job, in order."""
    from asct.cli.lookup import show_value
    from asct.plan.model import PendingValue

    rows = []
    for name, value in job.points[0].settings.items():
        origin = job.origins.get(name)
        place = f" {origin.span.file}:{origin.span.line}" if origin and origin.span else ""
        text = value.text if isinstance(value, PendingValue) else show_value(job.benchmark, name, value)
        if name in job.points[0].swept and len(job.points) > 1:
            text = f"{counted(len({json.dumps(point.swept.get(name)) for point in job.points}), 'value')}"
        rows.append((name, text, f"{origin.layer if origin else 'default'}{place}"))
    return rows

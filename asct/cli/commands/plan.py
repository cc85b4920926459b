"""The command `asct plan PLAN`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asct.cli.loading import load
from asct.cli.options import Duration, GlobalOptions, PlanSelection, plan_options, results_option, shared_options
from asct.cli.text import counted, short_time

if TYPE_CHECKING:
    from asct.cli.console import Console
    from asct.planner.model import Job, ResolvedPlan
    from asct.planner.preview import Destroyed, HostPreview, Preview

_MOST_VALUES = 8


@click.command("plan", short_help="Preview a plan without contacting a host.")
@click.argument("plan", metavar="PLAN", type=click.Path())
@click.option("--show-commands", is_flag=True, help="Print the shell commands.")
@click.option("--origin", is_flag=True, help="Show the origin of each setting.")
@click.option("--reuse", type=Duration(), metavar="AGE", help="Show how many points `apply --reuse AGE` could reuse.")
@results_option()
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write the frozen plan to FILE, for `apply`.")
@click.option("--force", is_flag=True, help="Overwrite an existing FILE.")
@plan_options
@shared_options
def command(
    options: GlobalOptions,
    plan: str,
    show_commands: bool,
    origin: bool,
    output: str | None,
    force: bool,
    selection: PlanSelection,
    **before: Any,
) -> int:
    """Preview a plan: points, repeats, time per host, bytes written and privileges. Contacts no host."""
    from asct.planner.preview import preview
    from asct.registry import installed

    resolved = load(options, plan, selection)
    if output is not None:
        _freeze(options, resolved, output, force)
    shown = preview(resolved, installed(), reusable=_reusable(resolved, **before))
    if show_commands:
        from asct.cli.dryrun import dry_run

        return dry_run(options, resolved)
    if options.json:
        options.console.document(shown.to_json())
        return 0
    _print(options.console, shown, resolved)
    if origin:
        _print_origins(options.console, resolved)
    if output is None:
        options.console.line(f"next: asct apply {plan}")
    return 0


def _reusable(resolved: ResolvedPlan, reuse: float | None, results: str) -> Mapping[str, int] | None:
    """Return how many points of each job can be reused from earlier runs at most; None without --reuse."""
    if reuse is None:
        return None
    from asct.engine.reuse import earlier_runs, reusable
    from asct.registry import installed

    return reusable(resolved, installed(), earlier_runs(Path(results), reuse))


def _freeze(options: GlobalOptions, resolved: ResolvedPlan, output: str, force: bool) -> None:
    from asct.planner.freeze import freeze
    from asct.store.outputs import write_output

    write_output(Path(output), json.dumps(freeze(resolved), indent=1, allow_nan=False) + "\n", force=force)
    options.console.line(f"frozen plan written to {output}; next: asct apply {output} --approve {resolved.hash[:12]}")


def _print(console: Console, shown: Preview, resolved: ResolvedPlan) -> None:
    about = short_time(shown.seconds)
    console.result(
        f"plan {shown.name} ({shown.hash[:12]}): {counted(shown.jobs, 'job')}, {counted(shown.points, 'point')}, "
        f"{counted(shown.measurements, 'measurement')} on {counted(len(shown.hosts), 'host')}, about {about}"
    )
    if shown.reusable is not None:
        console.result(f"of these, up to {counted(shown.reusable, 'point')} can be reused from earlier runs")
    for host in shown.hosts:
        _print_host(console, host)
    if resolved.checks:
        console.result("")
        console.result(f"{counted(len(resolved.checks), 'expectation')}:")
        for check in resolved.checks:
            console.result(f"  {check.text}")


def _print_host(console: Console, host: HostPreview) -> None:
    address = f" ({host.transport} {host.address})" if host.address else f" ({host.transport})"
    console.result("")
    console.result(f"{host.name}{address}: about {short_time(host.seconds)}")
    for item in host.jobs:
        job = item.job
        reusable = f"; up to {item.reusable} reusable" if item.reusable else ""
        console.result(f"  {job.id}: {_size_of(job)}, about {short_time(item.cost.seconds)}; {job.reason}{reusable}")
        for name, values in item.swept.items():
            console.result(f"      {name}: {_values(job, name, values)}")
    for line in _effects(host):
        console.result(f"  {line}")


def _size_of(job: Job) -> str:
    repeats = f" x {job.repeats}" if job.repeats > 1 else ""
    warmup = f" + {counted(job.warmup, 'warm-up')} each" if job.warmup else ""
    return f"{counted(len(job.points), 'point')}{repeats}{warmup}"


def _values(job: Job, name: str, values: tuple[object, ...]) -> str:
    texts = [_written(job.benchmark, name, value) for value in values]
    if len(texts) > _MOST_VALUES:
        texts = [*texts[: _MOST_VALUES - 2], "...", texts[-1]]
    return ", ".join(texts)


def _written(benchmark: str, setting: str, value: object) -> str:
    """Return the value of a setting in plan notation."""
    from asct.registry import installed

    found = installed().info(benchmark)
    known = found.setting(setting) if found is not None else None
    return str(value) if known is None else known.written(value)


def _effects(host: HostPreview) -> list[str]:
    """Return what the run uses and changes on the host: memory, disk space, bytes written, privileges."""
    from asct.values.quantity import format_quantity
    from asct.values.size import format_size

    lines = []
    memory = max((item.cost.memory_bytes for item in host.jobs), default=0)
    scratch = max((item.cost.scratch_bytes for item in host.jobs), default=0)
    if memory:
        lines.append(f"memory: up to {format_quantity(memory, 'B')}")
    if scratch:
        lines.append(f"temporary file: {format_size(scratch)} ({scratch:,} bytes), removed at the end")
    for target, number in host.writes.items():
        lines.append(f"writes: up to about {format_quantity(number, 'B')} to {target or 'the temporary file'}")
    for item in host.destroys:
        lines += _destroyed(item)
    lines += [f"privileges: {text}" for text in host.privileges]
    return lines


def _destroyed(item: Destroyed) -> list[str]:
    """Describe what happens to a device that the plan consents to overwrite."""
    if not item.written:
        return [f"may be overwritten, but no job writes to it: {item.device}"]
    lines = [f"DESTROYS the content of {item.device}", f"  serial {item.serial}, checked on the host before each job"]
    if item.reason:
        lines.append(f"  reason: {item.reason}")
    if item.purged:
        lines.append("  purged before it is measured")
    if item.overwrite:
        lines.append("  even if it contains a file system, a partition table or other known content")
    return lines


def _print_origins(console: Console, resolved: ResolvedPlan) -> None:
    for job in resolved.jobs:
        console.result("")
        console.result(f"{job.key}:")
        for name, value, origin in _origins(job):
            console.result(f"  {name} = {value}  <- {origin}")


def _origins(job: Job) -> list[tuple[str, str, str]]:
    """Return the name, the value, and the layer with its location for every setting of a job, in order."""
    from asct.plan.model import PendingValue

    rows = []
    for name, value in job.points[0].settings.items():
        origin = job.origins.get(name)
        location = f" {origin.span.file}:{origin.span.line}" if origin and origin.span else ""
        text = value.text if isinstance(value, PendingValue) else _written(job.benchmark, name, value)
        if name in job.points[0].swept and len(job.points) > 1:
            text = f"{counted(len({json.dumps(point.swept.get(name)) for point in job.points}), 'value')}"
        rows.append((name, text, f"{origin.layer if origin else 'default'}{location}"))
    return rows

"""`--show-commands`: the commands of a plan as text for a POSIX shell. No host is contacted.

Placeholders stand for values that are known only on a host: bare names replace program paths, and examples replace
results from other jobs. If a benchmark's next step depends on earlier output, only the first step is shown.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asct.cli.options import GlobalOptions
from asct.values.text import counted

if TYPE_CHECKING:
    from asct.hosts.base import Process, Task
    from asct.planner.model import Job, ResolvedPlan
    from asct.sdk.benchmark import Catalog
    from asct.sdk.record import Scalar
    from asct.sdk.step import Step


def print_commands(options: GlobalOptions, resolved: ResolvedPlan) -> None:
    """Print the commands for every job or, with --json, a single JSON document that contains them."""
    from asct.registry import installed

    found: list[dict[str, Any]] = []
    for job in resolved.jobs:
        texts = [shell_text(task) for task in tasks_of(job, resolved, installed())]
        found.append({"host": job.host, "job": job.id, "commands": texts})
    if options.json:
        options.console.document({"schema": "asct.commands/1", "plan": resolved.name, "jobs": found})
        return
    for item in found:
        options.console.result(f"# {item['host']}/{item['job']}: {counted(len(item['commands']), 'step')}")
        for text in item["commands"]:
            options.console.result(text)
            options.console.result("")


def tasks_of(job: Job, resolved: ResolvedPlan, catalog: Catalog) -> Iterable[Task]:
    """Yield the tasks that prepare a job, followed by the tasks for the first steps of every point."""
    from asct.engine.points import bind
    from asct.planner.safety import consents_of
    from asct.sdk.benchmark import Context

    benchmark = catalog.get(job.benchmark)
    if benchmark is None:
        return
    examples = _examples(job, resolved, catalog)
    work = f"{resolved.hosts[job.host].workdir}/run/{job.id}"
    consents = consents_of(resolved.safety, job.host)
    context = Context(facts=_facts(job.host), work=work, needs=examples, consents=consents)
    bound = [benchmark.params_model.model_validate(bind(point.settings, examples)) for point in job.points]
    points = benchmark.settle(bound, context.facts)
    steps = [*benchmark.prepare(points, context)]
    for params in points:
        steps += benchmark.steps(params, context)
    for step in steps:
        yield _task(step, work, resolved.hosts[job.host].uses_sudo)


def _examples(job: Job, resolved: ResolvedPlan, catalog: Catalog) -> dict[str, Scalar]:
    values: dict[str, Scalar] = {}
    for alias, needed in job.needs.items():
        other = next(item for item in resolved.jobs if item.host == job.host and item.id == needed)
        benchmark = catalog.get(other.benchmark)
        for field in benchmark.results if benchmark else ():
            values[f"{alias}.{field.path}"] = field.example
    return values


def _facts(host: str) -> Any:
    """Return the facts of a host that has all tools. Nothing else is known about the host."""
    from asct.sdk.facts import HostFacts, ToolFact

    tools = {name: ToolFact(path=name, features=["io_uring", "libaio", "psync"]) for name in ("fio", "mpstat")}
    return HostFacts(host=host, collected_at="", tools=tools, io_uring=True)


def _task(step: Step, work: str, sudo: bool) -> Task:
    from dataclasses import replace

    from asct.engine.programs import process_of
    from asct.hosts.base import Task

    folder = f"{work}/step"
    companions = tuple(process_of(one, one.program.name, folder) for one in step.companions)
    main = process_of(step, step.program.name, folder)
    if sudo and step.as_root:
        main = replace(main, argv=("sudo", "-n", "--", *main.argv))
    return Task(main, Path(), step.files, companions, step.collect)


def shell_text(task: Task) -> str:
    """Return a task as lines for a POSIX shell: the folder, the files, the companions in the background, and the
    program."""
    folder = shlex.quote(task.main.cwd)
    lines = [f"mkdir -p {folder} && cd {folder}"]
    for name, text in task.files.items():
        lines.append(f"printf %s {shlex.quote(text)} >{shlex.quote(name)}")
    lines += [f'{_command(one)} & companions="$companions $!"' for one in task.companions]
    lines.append(_command(task.main))
    if task.companions:
        lines.append("kill -INT $companions; sleep 1; kill $companions 2>/dev/null; wait")
    return "\n".join(lines)


def _command(process: Process) -> str:
    variables = "".join(f"{name}={shlex.quote(value)} " for name, value in process.env.items())
    outputs = f">{shlex.quote(process.stdout_file)} 2>{shlex.quote(process.stderr_file)}"
    return f"{variables}{shlex.join(process.argv)} {outputs}"

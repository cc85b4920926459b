"""Options that several commands take, and the objects in which commands receive them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import click

from asct.cli.console import Console, OutputStyle
from asct.engine.options import FORKS as DEFAULT_FORKS

PROGRAM = "asct"
F = TypeVar("F", bound=Callable[..., Any])

FORMAT = click.option(
    "-f", "--format", "form", type=click.Choice(["stdout", "csv", "json"]), default="stdout", show_default=True,
    help="Output format.",
)  # fmt: skip
CI = click.option("--ci", is_flag=True, help="Plain output, junit.xml, and annotations under GitHub Actions.")
FORKS = click.option(
    "--forks",
    type=click.IntRange(1, 1024),
    default=DEFAULT_FORKS,
    show_default=True,
    help="Hosts to measure at a time.",
)


@dataclass
class GlobalOptions(OutputStyle):
    """The values of the shared options. Only `console` prints."""

    log_file: str | None = None
    log_level: str = "info"

    @cached_property
    def console(self) -> Console:
        """The console for these options, made on first use: options are still read until then."""
        return Console(self)


_LEVELS = click.Choice(["debug", "info", "warning", "error", "critical"], case_sensitive=False)
_SHARED: tuple[Callable[[F], F], ...] = (
    click.option("-v", "--verbose", "verbosity", count=True, help="Print more; -vv for debugging."),
    click.option("-q", "--quiet", is_flag=True, help="Print results and errors only."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text."),
    click.option(
        "--color", "colour", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True,
        help="When to use color.",
    ),
    click.option("--no-progress", "--no-progress-bar", "no_progress", is_flag=True, help="Do not show progress."),
    click.option("--log-file", type=click.Path(dir_okay=False), metavar="FILE", help="Append a log to FILE."),
    click.option(
        "-L", "--log-level", type=_LEVELS, default="info", show_default=True, help="Lowest level that is logged."
    ),
)  # fmt: skip


def shared_options(command: F) -> F:
    """Add the shared options to `command`, which receives them as its first argument, a `GlobalOptions`."""

    @functools.wraps(command)
    def with_settings(**values: Any) -> Any:
        options = click.get_current_context().find_object(GlobalOptions) or GlobalOptions()
        options.verbosity = values.pop("verbosity")
        options.quiet = values.pop("quiet")
        options.json = values.pop("as_json")
        options.colour = values.pop("colour")
        options.progress = not values.pop("no_progress")
        options.log_file = values.pop("log_file")
        level = values.pop("log_level")
        options.log_level = "debug" if options.verbosity > 1 else level
        _start_log(options)
        return command(options, **values)

    return decorated(with_settings, _SHARED)


def results_option(file_okay: bool = True) -> Callable[[F], F]:
    """`--results`; with `file_okay` a file there is an error of the results tree, otherwise one of usage."""
    return click.option(
        "--results", type=click.Path(file_okay=file_okay), metavar="DIRECTORY", default="results", show_default=True,
        help="Results tree.",
    )  # fmt: skip


def decorated(command: Any, options: tuple[Callable[[F], F], ...]) -> F:
    """`command` with options, which `--help` shows in the given order."""
    for option in reversed(options):
        command = option(command)
    result: F = command
    return result


def _start_log(options: GlobalOptions) -> None:
    """Log to `--log-file`, if one is given. Raises BadParameter when it cannot be written."""
    if options.log_file is None:
        return
    import logging

    try:
        handler = logging.FileHandler(options.log_file, encoding="utf-8")
    except OSError as problem:
        raise click.BadParameter(
            f"cannot write {options.log_file}: {problem.strerror}", param_hint="--log-file"
        ) from problem
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    log = logging.getLogger(PROGRAM)
    log.addHandler(handler)
    log.setLevel(options.log_level.upper())


@dataclass(frozen=True)
class ReportRequest:
    """The options of the reports on machines. `hosts` are [USER@]ADDRESS[:PORT], none for this machine; `origin` is a
    snapshot to read instead of a machine."""

    hosts: tuple[str, ...]
    origin: str | None
    form: str
    output_dir: str | None
    force: bool

    @property
    def host(self) -> str | None:
        """The one host of a report that takes no more."""
        return next(iter(self.hosts), None)

    def check(self) -> None:
        """Refuse an existing output directory before any host is read. Raises UsageError."""
        from asct.cli.files import refuse_existing

        if self.output_dir is not None and not self.force:
            refuse_existing(self.output_dir)

    def folder(self) -> Path | None:
        """Make the output directory; None when none is given. Raises UsageError, StoreError."""
        from asct.cli.files import output_folder

        return None if self.output_dir is None else output_folder(self.output_dir, self.force)


def report_options(*files: str, several: bool = False) -> Callable[[F], F]:
    """Add `--host --from --format --output-dir --force`, which a command receives as `request`, a `ReportRequest`.
    `files` are the names of the files it writes; with `several`, `--host` can be given more than once."""
    again = " Can be repeated." if several else ""
    options: tuple[Callable[[F], F], ...] = (
        click.option(
            "--host", "hosts", metavar="H", multiple=several,
            help=f"Report on the host [USER@]ADDRESS[:PORT] instead of this machine.{again}",
        ),
        click.option(
            "--from", "origin", metavar="SNAPSHOT", type=click.Path(),
            help="Read a snapshot instead: a directory or tar of /proc and /sys, a run, or its facts/HOST.json or "
            "snapshot.txt.",
        ),
        FORMAT,
        click.option(
            "-o", "--output-dir", type=click.Path(file_okay=False), help=f"Write {' and '.join(files)} to DIRECTORY."
        ),
        click.option("--force", is_flag=True, help="Allow an existing output directory."),
    )  # fmt: skip

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def with_options(*arguments: Any, **values: Any) -> Any:
            given = {name: values.pop(name) for name in ("hosts", "origin", "form", "output_dir", "force")}
            if not several:
                given["hosts"] = () if given["hosts"] is None else (given["hosts"],)
            return command(*arguments, request=ReportRequest(**given), **values)

        return decorated(with_options, options)

    return decorate


@dataclass(frozen=True)
class PlanSelection:
    """The part of a plan to use, and the changes to it."""

    hosts: tuple[str, ...] = ()
    benchmarks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    profile: str | None = None
    sets: tuple[str, ...] = ()


_PLAN: tuple[Callable[[F], F], ...] = (
    click.option(
        "--host", "hosts", multiple=True, metavar="H",
        help="Use only this host, group, range or pattern. Can be repeated or comma-separated.",
    ),
    click.option("--benchmark", "benchmarks", multiple=True, metavar="ID", help="Use only the benchmark with this id."),
    click.option("--tag", "tags", multiple=True, metavar="T", help="Use only benchmarks with this tag."),
    click.option("--profile", metavar="P", help="Apply this profile of the plan."),
    click.option("--set", "sets", multiple=True, metavar="PATH=VALUE", help="Override a value, e.g. vars.runtime=5s."),
)  # fmt: skip


def plan_options(command: F) -> F:
    """Add `--host --benchmark --tag --profile --set`, which `command` receives as `selection`, a `PlanSelection`."""

    @functools.wraps(command)
    def with_options(*arguments: Any, **values: Any) -> Any:
        given = {name: values.pop(name) for name in ("hosts", "benchmarks", "tags", "profile", "sets")}
        return command(*arguments, selection=PlanSelection(**given), **values)

    return decorated(with_options, _PLAN)


class Duration(click.ParamType):  # type: ignore[type-arg]  # is generic for type checkers only
    """`30s`, `2h`, `7d`: seconds. A number needs its unit."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds from text; fails with a message that says how to write it."""
        from asct.values.duration import parse_duration, require_unit

        number = value
        for kind in (float, int):  # a bare number has no unit, which `require_unit` refuses
            with suppress(ValueError, TypeError):
                number = kind(value)
        try:
            require_unit(number)
            return parse_duration(value)
        except ValueError as problem:
            self.fail(str(problem), param, ctx)

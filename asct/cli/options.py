"""Options shared by several commands, and the objects that pass them to the commands."""

from __future__ import annotations

import functools
import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from asct import __version__
from asct.cli.completion import assignments, entries, hosts, profiles, tags
from asct.cli.console import Console, OutputStyle, harmless
from asct.engine.options import FORKS as DEFAULT_FORKS

PROGRAM = "asct"
INTERRUPTED: Final = 128
"""Exit codes above this number mean that a signal interrupted the run."""
F = TypeVar("F", bound=Callable[..., Any])

FORMAT = click.option(
    "-f", "--format", "form", type=click.Choice(["stdout", "csv", "json"]), default="stdout", show_default=True,
    help="Output format.",
)  # fmt: skip
FORCE_HELP = "Write to the output directory even if it is not empty."
CI = click.option(
    "--ci",
    is_flag=True,
    help="For CI: print plain output, and write junit.xml and summary.md. Also write annotations and a job summary for "
    "GitHub Actions, or a Code Quality report for GitLab.",
)
YES = click.option(
    "--yes",
    is_flag=True,
    help="Start even if the run is estimated to take more than 8 hours or to write more than 1 TiB.",
)
SHOW_COMMANDS = click.option("--show-commands", is_flag=True, help="Print the shell commands and measure nothing.")
FORKS = click.option(
    "--forks",
    type=click.IntRange(1, 1024),
    default=DEFAULT_FORKS,
    show_default=True,
    help="Maximum number of hosts to measure at the same time.",
)


@dataclass
class GlobalOptions(OutputStyle):
    """The values of the shared options. All output goes through `console`."""

    log_file: str | None = None
    run_code: int | None = None
    """The highest exit code of the runs that ended, or None if there are none. Their results and exit codes are in the
    results tree, so the exit code does not change if output is lost or a signal arrives."""
    runs_left: int = 1
    """The number of runs that a command that measures has not ended yet."""

    def end_run(self, code: int) -> None:
        """Note that run.json contains the exit code `code`. After an interrupted run, no further run starts."""
        self.run_code = max(code, self.run_code or 0)
        self.runs_left = 0 if code > INTERRUPTED else self.runs_left - 1

    @cached_property
    def console(self) -> Console:
        """The console for these options, created on first use because all options must have been parsed."""
        return Console(self)


_LEVELS = click.Choice(["debug", "info", "warning", "error", "critical"], case_sensitive=False)
_SHARED: tuple[Callable[[F], F], ...] = (
    click.option("-v", "--verbose", "verbosity", count=True, help="Print more details; -vv implies --log-level debug."),
    click.option("-q", "--quiet", is_flag=True, help="Print only errors and output that is not written to files."),
    click.option("--json", is_flag=True, help="Print JSON instead of text."),
    click.option(
        "--color", "colour", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True,
        help="When to use color.",
    ),
    click.option("--no-progress", "--no-progress-bar", "no_progress", is_flag=True, help="Do not show progress."),
    click.option("--log-file", type=click.Path(dir_okay=False), metavar="FILE", help="Append a log to FILE."),
    click.option(
        "-L", "--log-level", type=_LEVELS, default="info", show_default=True,
        help="Minimum level of messages on stderr and in the log. Errors are always printed.",
    ),
)  # fmt: skip


def shared_options(command: F) -> F:
    """Add the shared options to `command`, which receives them as its first argument, a `GlobalOptions`."""

    @functools.wraps(command)
    def with_settings(**values: Any) -> Any:
        options = click.get_current_context().find_object(GlobalOptions) or GlobalOptions()
        options.progress = not values.pop("no_progress")
        for name in ("verbosity", "quiet", "json", "colour", "log_file", "log_level"):
            setattr(options, name, values.pop(name))
        if options.verbosity > 1:
            options.log_level = "debug"
        _start_log(options, click.get_current_context().params.get("output_dir"))
        return command(options, **values)

    return decorated(with_settings, _SHARED)


def decorated(command: Any, options: tuple[Callable[[F], F], ...]) -> F:
    """Add `options` to `command`; `--help` lists them in this order."""
    for option in reversed(options):
        command = option(command)
    result: F = command
    return result


def _gathered(name: str, kind: Callable[..., Any], options: tuple[Callable[[F], F], ...]) -> Callable[[F], F]:
    """Return a decorator that adds options to a command and passes their values as one argument `name` of type
    `kind`."""

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def with_options(*arguments: Any, **values: Any) -> Any:
            group = {field.name: values.pop(field.name) for field in fields(kind)}  # type: ignore[arg-type]  # a dataclass
            return command(*arguments, **{name: kind(**group)}, **values)

        return decorated(with_options, options)

    return decorate


RESULTS: Final = "results"
"""Default directory of the results tree."""


def results_option(file_okay: bool = True) -> Callable[[F], F]:
    """Return the option `--results`.

    If the path refers to a file, the option reports a usage error. With `file_okay`, the error is reported only when
    the results tree is opened.
    """
    return click.option(
        "--results", type=click.Path(file_okay=file_okay), metavar="DIRECTORY", default=RESULTS, show_default=True,
        help="Directory of the results tree.",
    )  # fmt: skip


def _start_log(options: GlobalOptions, output_dir: str | None) -> None:
    """Log to `--log-file` if it is set. If the file is in the output directory, create that directory first.

    Raises BadParameter if the file cannot be written, and UsageError if it is a device or not a log.
    """
    if options.log_file is None:
        return
    import logging

    from asct.errors import StoreError
    from asct.store.outputs import LogFile, check_log

    def lost(problem: StoreError) -> None:
        options.console.diagnostics(replace(item, severity="warning") for item in problem.diagnostics)

    check_log(Path(options.log_file))
    parent = Path(options.log_file).parent
    try:
        if output_dir is not None and parent.resolve().is_relative_to(Path(output_dir).resolve()):
            parent.mkdir(parents=True, exist_ok=True)
        handler = LogFile(Path(options.log_file), lost)
    except OSError as problem:
        raise click.BadParameter(
            f"cannot write {options.log_file}: {problem.strerror}", param_hint="--log-file"
        ) from problem
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    log = logging.getLogger(PROGRAM)
    log.addHandler(handler)
    log.setLevel(options.log_level.upper())
    log.info("asct %s: %s", __version__, harmless(shlex.join(sys.argv[1:])))


@dataclass(frozen=True)
class ReportRequest:
    """The options for machine reports.

    `hosts` contains strings in the form [USER@]ADDRESS[:PORT]; it is empty for this machine. `origin` is a snapshot to
    read instead of a machine.
    """

    hosts: tuple[str, ...]
    origin: str | None
    form: str
    output_dir: str | None
    force: bool

    @property
    def host(self) -> str | None:
        """The host for a report on a single machine, or None for this machine."""
        return next(iter(self.hosts), None)

    def check(self) -> None:
        """Reject an unusable output directory before a host is contacted. Raises UsageError and StoreError."""
        from asct.cli.files import check_folder

        if self.output_dir is not None:
            check_folder(self.output_dir, self.force)

    def folder(self) -> Path | None:
        """Create and return the output directory, or return None if none is requested. Raises UsageError or
        StoreError."""
        from asct.cli.files import output_folder

        return None if self.output_dir is None else output_folder(self.output_dir, self.force)


def _hosts(_ctx: click.Context, _param: click.Parameter, value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """Return an option's values as a tuple, even if the option cannot be repeated."""
    if isinstance(value, tuple):
        return value
    return () if value is None else (value,)


def report_options(*files: str, several: bool = False) -> Callable[[F], F]:
    """Return a decorator that adds `--host --from --format --output-dir --force` to a command.

    The command receives the values of these options as `request`, a `ReportRequest`. `files` lists the names of the
    files that the command writes. With `several`, `--host` can be repeated.
    """
    again = " Can be repeated." if several else ""
    options: tuple[Callable[[F], F], ...] = (
        click.option(
            "--host", "hosts", metavar="H", multiple=several, callback=_hosts,
            help=f"Report on the host [USER@]ADDRESS[:PORT] instead of this machine.{again}",
        ),
        click.option(
            "--from", "origin", metavar="SNAPSHOT", type=click.Path(),
            help="Read a snapshot instead: a directory or tar archive of /proc and /sys, a run, or its "
                 "facts/HOST.json or snapshot.txt.",
        ),
        FORMAT,
        click.option(
            "-o", "--output-dir", type=click.Path(file_okay=False), help=f"Write {' and '.join(files)} to DIRECTORY."
        ),
        click.option("--force", is_flag=True, help=FORCE_HELP),
    )  # fmt: skip
    return _gathered("request", ReportRequest, options)


@dataclass(frozen=True)
class PlanSelection:
    """The selected part of a plan, and the changes to it."""

    hosts: tuple[str, ...] = ()
    benchmarks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    profile: str | None = None
    sets: tuple[str, ...] = ()

    @property
    def arguments(self) -> list[str]:
        """The options that make this selection on a command line."""
        profiles = (self.profile,) if self.profile is not None else ()
        options = {
            "--host": self.hosts, "--benchmark": self.benchmarks, "--tag": self.tags,
            "--profile": profiles, "--set": self.sets,
        }  # fmt: skip
        return [part for option, values in options.items() for value in values for part in (option, value)]


plan_options: Callable[[F], F] = _gathered("selection", PlanSelection, (
    click.option(
        "--host", "hosts", multiple=True, metavar="H",
        help="Use only this host, group, range or pattern. Can be repeated or comma-separated.",
        shell_complete=hosts,
    ),
    click.option(
        "--benchmark", "benchmarks", multiple=True, metavar="ID", help="Use only the benchmark with this id.",
        shell_complete=entries,
    ),
    click.option(
        "--tag", "tags", multiple=True, metavar="T", help="Use only benchmarks with this tag.",
        shell_complete=tags,
    ),
    click.option(
        "--profile", metavar="P", help="Apply this profile from the plan.", shell_complete=profiles
    ),
    click.option(
        "--set", "sets", multiple=True, metavar="PATH=VALUE", shell_complete=assignments,
        help="Override a value in the plan, e.g. vars.runtime=5s.",
    ),
))  # fmt: skip
"""A decorator that adds `--host --benchmark --tag --profile --set` to a command, which receives them as `selection`, a
`PlanSelection`."""


class Duration(click.ParamType):  # type: ignore[type-arg]  # is generic for type checkers only
    """An option type that converts a duration with a unit (`30s`, `2h`, `7d`) to seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the duration in seconds. A number without a unit, or any other invalid value, is a usage error."""
        from asct.values.duration import parse_duration, require_unit

        number = value
        for kind in (float, int):  # `require_unit` then rejects a bare number
            with suppress(ValueError, TypeError):
                number = kind(value)
        try:
            require_unit(number)
            return parse_duration(value)
        except ValueError as problem:
            self.fail(str(problem), param, ctx)


WAIT = click.option(
    "--wait",
    type=Duration(),
    metavar="DURATION",
    default=None,
    help="Wait up to DURATION (e.g. 30m) for a host that another run has locked.",
)


def _label(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    from asct.store.folders import check_label

    if value is not None:
        check_label(value)
    return value


LABEL = click.option("--label", metavar="L", callback=_label, help="Label for the run.")

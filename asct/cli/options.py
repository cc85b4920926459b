"""The options every command takes, gathered in one object that commands receive."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import click

from asct.cli.look import Look

if TYPE_CHECKING:
    from asct.cli.console import Console

PROGRAM = "asct"
F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Settings(Look):
    """What the shared options say. `console` is the only thing that prints."""

    log_file: str | None = None
    log_level: str = "info"
    _console: Console | None = field(default=None, repr=False)

    @property
    def console(self) -> Console:
        """The console that fits these options; made when first needed because rich is not free."""
        if self._console is None:
            from asct.cli.console import Console

            self._console = Console(self)
        return self._console


_LEVELS = click.Choice(["debug", "info", "warning", "error", "critical"], case_sensitive=False)
_OPTIONS: tuple[Callable[[F], F], ...] = (
    click.option("-v", "--verbose", "verbosity", count=True, help="Say more; twice for debugging."),
    click.option("-q", "--quiet", is_flag=True, help="Print results and errors only."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text."),
    click.option(
        "--color", "colour", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True
    ),
    click.option("--no-progress", "--no-progress-bar", "no_progress", is_flag=True, help="No progress display."),
    click.option("--log-file", type=click.Path(dir_okay=False), help="Write a log to this file."),
    click.option("-L", "--log-level", type=_LEVELS, default="info", show_default=True, help="Of the log file."),
)


def shared_options(command: F) -> F:
    """Give `command` the shared options; it receives them as its first argument, a `Settings`."""

    @functools.wraps(command)
    def with_settings(**values: Any) -> Any:
        settings = click.get_current_context().find_object(Settings) or Settings()
        settings.verbosity = values.pop("verbosity")
        settings.quiet = values.pop("quiet")
        settings.json = values.pop("as_json")
        settings.colour = values.pop("colour")
        settings.progress = not values.pop("no_progress")
        settings.log_file = values.pop("log_file")
        settings.log_level = "debug" if settings.verbosity > 1 else values.pop("log_level", "info")
        values.pop("log_level", None)
        start_log(settings)
        return command(settings, **values)

    wrapped: Any = with_settings
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    result: F = wrapped
    return result


def start_log(settings: Settings) -> None:
    """Send the log of the package to `--log-file`, if one is named."""
    if settings.log_file is None:
        return
    import logging

    try:
        handler = logging.FileHandler(settings.log_file, encoding="utf-8")
    except OSError as problem:
        raise click.BadParameter(
            f"cannot write {settings.log_file}: {problem.strerror}", param_hint="--log-file"
        ) from problem
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    log = logging.getLogger(PROGRAM)
    log.addHandler(handler)
    log.setLevel(settings.log_level.upper())

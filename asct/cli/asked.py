"""What every report of a machine is asked: which machine, in which form, into which folder."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from asct.cli.files import output_folder, refuse_existing

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class ReportAsked:
    """`hosts` are [USER@]ADDRESS[:PORT], none for this machine; `origin` a snapshot to read instead of a machine."""

    hosts: tuple[str, ...]
    origin: str | None
    form: str
    output_dir: str | None
    force: bool

    @property
    def host(self) -> str | None:
        """The one machine of a report that takes no more."""
        return next(iter(self.hosts), None)

    def check(self) -> None:
        """Refuse a folder that exists before anything is looked at. Raises UsageError."""
        if self.output_dir is not None and not self.force:
            refuse_existing(self.output_dir)

    def folder(self) -> Path | None:
        """The folder for files, made; None when none is asked for. Raises UsageError, StoreError."""
        return None if self.output_dir is None else output_folder(self.output_dir, self.force)


def report_options(*files: str, several: bool = False) -> Callable[[F], F]:
    """Give a command `--host --from --format --output-dir --force`; it receives them as `asked`, a `ReportAsked`.
    `files` are the names of what it writes; `several` hosts may be given."""
    again = " May be given again." if several else ""
    options: tuple[Callable[[F], F], ...] = (
        click.option(
            "--host",
            "hosts",
            metavar="H",
            multiple=several,
            help=f"[USER@]ADDRESS[:PORT] instead of this machine.{again}",
        ),
        click.option(
            "--from",
            "origin",
            metavar="SNAPSHOT",
            type=click.Path(),
            help="What was kept: a folder or tar of /proc and /sys, a run, its facts/HOST.json or snapshot.txt.",
        ),
        click.option(
            "-f", "--format", "form", type=click.Choice(["stdout", "csv", "json"]), default="stdout", show_default=True
        ),
        click.option("-o", "--output-dir", type=click.Path(file_okay=False), help=f"Write {', '.join(files)} there."),
        click.option("--force", is_flag=True, help="Use an output folder that exists."),
    )

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def with_asked(*arguments: Any, **values: Any) -> Any:
            given = {name: values.pop(name) for name in ("hosts", "origin", "form", "output_dir", "force")}
            if not several:
                given["hosts"] = () if given["hosts"] is None else (given["hosts"],)
            return command(*arguments, asked=ReportAsked(**given), **values)

        wrapped: Any = with_asked
        for option in reversed(options):
            wrapped = option(wrapped)
        result: F = wrapped
        return result

    return decorate

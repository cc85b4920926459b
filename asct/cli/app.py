"""The command line: finds one file per command in cli/commands/, and turns exceptions into exit codes.

Nothing heavy is imported here: `asct version` must cost little more than a bare interpreter.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence

import click

from asct.cli import commands
from asct.cli.options import PROGRAM, Settings
from asct.diagnostics.model import Diagnostic
from asct.errors import AsctError, Interrupted

BROKEN_PIPE = 141
"""What a shell reports of a program ended by SIGPIPE."""


class Commands(click.Group):
    """Commands by file name; a file is imported when its command is used or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(info.name.replace("_", "-") for info in pkgutil.iter_modules(commands.__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"{commands.__name__}.{cmd_name.replace('-', '_')}")
        found: click.Command = module.command
        return found


@click.group(
    cls=Commands,
    invoke_without_command=True,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "ASCT", "max_content_width": 100},
)
@click.version_option(None, "--version", package_name="asct", message="%(version)s", is_eager=True, hidden=True)
@click.pass_context
def root(ctx: click.Context) -> None:
    """Characterize the memory, storage and topology of servers, as a plan says.

    Start with `asct apply plans/quickstart.yaml`, or `asct init` for a plan of your own.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; the one place where exceptions end."""
    settings = Settings()
    try:
        result = root.main(list(arguments), prog_name=PROGRAM, standalone_mode=False, obj=settings)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as exit_request:
        return exit_request.exit_code
    except click.ClickException as problem:
        return _usage(problem, settings)
    except (KeyboardInterrupt, click.Abort):
        settings.console.line("interrupted")
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except AsctError as problem:
        return _expected(problem, settings)
    except Exception as problem:  # noqa: BLE001 - the last resort: a bug ends in a short message and a log
        return _bug(problem, settings)


def _usage(problem: click.ClickException, settings: Settings) -> int:
    message = problem.format_message().rstrip(".")
    hint = ""
    if isinstance(problem, click.UsageError) and problem.ctx is not None:
        hint = f"`{problem.ctx.command_path} --help` shows what it takes"
    settings.console.diagnostics([Diagnostic("E910", message[:1].lower() + message[1:], hint=hint)])
    return 2


def _expected(problem: AsctError, settings: Settings) -> int:
    settings.console.diagnostics(problem.diagnostics)
    return 128 + problem.signal_number if isinstance(problem, Interrupted) else problem.exit_code


def _bug(problem: Exception, settings: Settings) -> int:
    import tempfile
    import traceback

    text = "".join(traceback.format_exception(problem))
    if settings.log_file:
        place = settings.log_file
        with open(place, "a", encoding="utf-8") as log:  # noqa: PTH123 - a name given by the user
            log.write(text)
    else:
        with tempfile.NamedTemporaryFile("w", prefix="asct-bug-", suffix=".log", delete=False) as log_file:
            log_file.write(text)
            place = log_file.name
    message = f"a bug in asct: {type(problem).__name__}: {str(problem).splitlines()[0] if str(problem) else ''}"
    settings.console.diagnostics([Diagnostic("E970", message, hint=f"report it with the log in {place}")])
    return 70

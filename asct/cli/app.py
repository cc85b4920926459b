"""The command line: finds commands (one file each in cli/commands/) and converts exceptions to exit codes.

`asct version` must start almost as fast as a bare interpreter, and `asct --help` imports every command. Therefore,
neither this module nor any command module imports anything slow at module level.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

import click

from asct import __version__
from asct.cli import commands
from asct.cli.options import PROGRAM, GlobalOptions
from asct.cli.streams import lost_output
from asct.diagnostics.model import Diagnostic
from asct.errors import AsctError, Interrupted, StoreError, exhausted

BROKEN_PIPE = 141
"""The exit code that a shell reports for a program terminated by SIGPIPE (128 + 13)."""


class Terminated(KeyboardInterrupt):
    """Raised on SIGTERM, which stops a command in the same way as Ctrl-C, including cleanup."""


def on_terminate(number: int, _frame: FrameType | None) -> NoReturn:
    """Raise Terminated on SIGTERM. A second SIGTERM does not interrupt the cleanup."""
    signal.signal(number, lambda *_: None)
    raise Terminated


ASCT_REPORTS: Final = {
    "system-info": "system-info", "sysinfo": "system-info", "cmn": "cmn", "network-info": "network-info",
    "netinfo": "network-info",
}  # fmt: skip
"""Maps subcommands of `report` in Arm's ASCT 0.6 to the asct commands that replace them."""
ASCT_OPTIONS: Final = dict.fromkeys(
    ("--no-cache", "--clear-cache"), "remove it: results are reused only with `asct apply --reuse AGE`"
) | dict.fromkeys(("--log-level-console", "--log-level-file"), "`--log-level` applies to both stderr and the log file")
"""Options from Arm's ASCT 0.6 that have no equivalent in asct, and what to do instead."""


def own_words(args: list[str]) -> list[str]:
    """Replace commands from Arm's ASCT 0.6 that have a different name in asct: the subcommands of `report`, and `view`,
    which becomes `report` (with `--format stdout` unless a format is given)."""
    if args[:1] in (["report"], ["run"]) and args[1:2] and args[1] in ASCT_REPORTS:
        return [ASCT_REPORTS[args[1]], *args[2:]]
    if args[:1] == ["view"]:
        has_format = any(word.startswith(("-f", "--format")) for word in args)
        return ["report", *(() if has_format else ("--format", "stdout")), *args[1:]]
    return args


class Commands(click.Group):
    """A group of commands, one per file. A file is imported only if its command is used or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(info.name.replace("_", "-") for info in pkgutil.iter_modules(commands.__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"{commands.__name__}.{cmd_name.replace('-', '_')}")
        found: click.Command = module.command
        name_variables(found, f"{PROGRAM}_{cmd_name}")
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        args = own_words(args)
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand:
            raise click.exceptions.NoSuchCommand(args[0], possibilities=self.list_commands(ctx), ctx=ctx) from None


@click.group(
    cls=Commands,
    invoke_without_command=True,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "ASCT", "max_content_width": 100},
)
@click.version_option(__version__, "--version", message="%(version)s", is_eager=True, hidden=True)
@click.pass_context
def root(ctx: click.Context) -> None:
    """Characterize the memory, storage and topology of servers with declarative plans.

    Start with `asct init`, which writes a plan for this machine, and run it with `asct apply plan.yaml`. Environment
    variables named ASCT_<COMMAND>_<OPTION> set options, e.g. ASCT_APPLY_RESULTS.

    \b
    Exit codes:
      0   everything was measured and every expectation was met
      1   an expectation failed, or a value regressed (diff --fail-on)
      2   incorrect usage, an invalid plan, or a selection that matches nothing
      3   something was not measured
      4   refused for safety, or a host is locked
      70  a bug in asct
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def name_variables(command: click.Command, prefix: str) -> None:
    """Let environment variables named `ASCT_<COMMAND>_<OPTION>` set the options of a command. Each long spelling of an
    option has its own variable."""
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            name_variables(inner, f"{prefix}_{name}")
    for option in command.params:
        if isinstance(option, click.Option):
            spellings = [text.removeprefix("--") for text in option.opts if text.startswith("--")]
            option.envvar = [f"{prefix}_{text}".upper().replace("-", "_") for text in spellings]


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    # `--json` is recognized even before the arguments are parsed, so that usage errors are printed as JSON as well.
    options = GlobalOptions(json="--json" in arguments)
    code = _run(arguments, options)
    lost = lost_output() if code != BROKEN_PIPE else None
    if lost is None:
        return code
    options.json = False  # JSON would go to stdout, but only stderr is still usable
    stored = options.run_code is not None
    hint = "the run folder contains all results" if stored else "free some space, or write elsewhere"
    message = f"cannot write to stdout: {lost.strerror}; the output is incomplete"
    options.console.diagnostics([Diagnostic("E912", message, hint=hint)])
    return code or (0 if stored else StoreError.exit_code)


def _run(arguments: Sequence[str], options: GlobalOptions) -> int:
    """Run one command and return its exit code. This is the only function that handles every exception."""
    try:
        result = root.main(list(arguments), prog_name=PROGRAM, standalone_mode=False, obj=options)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as exit_request:
        return exit_request.exit_code
    except click.exceptions.NoArgsIsHelpError as problem:
        click.echo(problem.format_message(), err=True)
        return 2
    except click.ClickException as problem:
        return _usage(problem, options)
    except (KeyboardInterrupt, click.Abort) as problem:  # click converts KeyboardInterrupt to Abort
        return _interrupted(problem, options)
    except BrokenPipeError:
        return _closed_pipe()
    except SystemExit as end:
        # click and rich exit with 1 if the pipe is closed, but in asct, 1 means a failed expectation.
        return _closed_pipe() if end.code else 0
    except AsctError as problem:
        _report(options, problem.diagnostics)
        return 128 + problem.signal_number if isinstance(problem, Interrupted) else problem.exit_code
    except Exception as problem:  # noqa: BLE001 - a bug ends in a short message and a log
        known = exhausted(problem)
        if known is None:
            return _bug(problem, options)
        _report(options, known.diagnostics)
        return known.exit_code


def _interrupted(problem: KeyboardInterrupt | click.Abort, options: GlobalOptions) -> int:
    """Return the exit code of a command that a signal ended. After all its runs have ended, this is still their exit
    code, which run.json contains."""
    options.console.line("interrupted")
    if options.run_code is not None and not options.runs_left:
        return options.run_code
    terminated = isinstance(problem, Terminated) or isinstance(problem.__cause__, Terminated)
    return 128 + (signal.SIGTERM if terminated else signal.SIGINT)


def _report(options: GlobalOptions, diagnostics: Sequence[Diagnostic]) -> None:
    """Print the errors that stopped a command, and log them to `--log-file`."""
    options.console.diagnostics(diagnostics)
    if options.log_file is not None:
        import logging

        from asct.diagnostics.render import one_line

        log = logging.getLogger(PROGRAM)
        for item in diagnostics if log.handlers else ():  # without a handler, `logging` would print to stderr
            log.error("%s", one_line(item))


def _closed_pipe() -> int:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE


def _usage(problem: click.ClickException, options: GlobalOptions) -> int:
    if isinstance(problem, click.BadParameter) and problem.param is not None:
        argument = isinstance(problem.param, click.Argument) and isinstance(problem.param.type, click.Choice)
        problem.param_hint = f"`{problem.param.name}`" if argument else problem.param_hint
    message, hint = " ".join(problem.format_message().split()).rstrip("."), ""
    if isinstance(problem, click.UsageError) and problem.ctx is not None:
        hint = f"`{problem.ctx.command_path} --help` shows the usage"
    if isinstance(problem, click.exceptions.NoSuchOption | click.exceptions.NoSuchCommand):
        message = problem.message.rstrip(".").replace("'", "`")
        if isinstance(problem, click.exceptions.NoSuchOption) and (having := _commands_with(problem.option_name)):
            hint = f"commands with this option: {', '.join(f'`{PROGRAM} {name}`' for name in having)}"
        if problem.possibilities:
            hint = f"did you mean {' or '.join(f'`{name}`' for name in problem.possibilities)}?"
    if isinstance(problem, click.exceptions.NoSuchOption):
        hint = ASCT_OPTIONS.get(problem.option_name) or _as_setting(problem) or hint
    if isinstance(problem, click.BadParameter):
        hint = _near(problem) or hint
    sentence, _, advice = message.partition("; ")
    if advice.startswith(("write ", "did you mean ")):
        message, hint = sentence, advice
    if isinstance(problem, click.BadParameter):
        message += _variable(problem)
    _report(options, [Diagnostic("E910", message[:1].lower() + message[1:], hint=hint)])
    return 2


def _near(problem: click.BadParameter) -> str:
    """Return a hint with the choice or file that was probably meant, or an empty string if there is none."""
    from asct.plan.sources import meant_file
    from asct.values.suggest import nearest

    found = re.search(r"'([^']*)' (?:is not one of|does not exist)", problem.message)
    kind = problem.param.type if problem.param is not None else None
    if found is None or not isinstance(kind, click.Choice | click.Path):
        return ""
    if isinstance(kind, click.Choice):
        near = nearest(found[1], map(str, kind.choices))
        return f"did you mean `{near}`?" if near else ""
    near = meant_file(found[1], Path(found[1]))
    return f"did you mean `{near}`?" if near else "check the path"


def _commands_with(option: str) -> list[str]:
    """Return the commands that have this option."""
    ctx = click.Context(root)
    commands = {name: root.get_command(ctx, name) for name in root.list_commands(ctx)}
    return [name for name, one in commands.items() if one and any(option in param.opts for param in one.params)]


def _as_setting(problem: click.exceptions.NoSuchOption) -> str:
    """Return a hint that shows how to change the setting with the name of this option, or an empty string if no setting
    has this name or the command changes no settings."""
    from asct.registry import installed

    name = problem.option_name.lstrip("-").replace("-", "_")
    known = {spelling for info in installed().infos for one in info.settings for spelling in (one.name, *one.aliases)}
    own = [option for param in (problem.ctx.command.params if problem.ctx else ()) for option in param.opts]
    option = next((option for option in own if option in ("--set", "--user-config")), None)
    return f"to change a setting, write `{option} BENCHMARK.{name}=VALUE`" if option and name in known else ""


def _variable(problem: click.BadParameter) -> str:
    """Return ` (set by ASCT_APPLY_FORKS)` if the invalid value comes from the environment, else an empty string."""
    ctx, option = problem.ctx, problem.param
    if ctx is None or option is None or not option.name or not option.envvar:
        return ""
    if ctx.get_parameter_source(option.name) is not click.core.ParameterSource.ENVIRONMENT:
        return ""
    names = [option.envvar] if isinstance(option.envvar, str) else option.envvar
    return "".join(f" (set by {name})" for name in names if os.environ.get(name))[:200]


def _bug(problem: Exception, options: GlobalOptions) -> int:
    import traceback

    text = "".join(traceback.format_exception(problem))
    message = f"a bug in asct: {type(problem).__name__}: {str(problem).splitlines()[0] if str(problem) else ''}"
    try:
        hint = f"report this problem, and attach the log {_write_log(text, options.log_file)}"
    except (OSError, AsctError):
        hint = f"report this problem with the following text:\n{text}"
    options.console.diagnostics([Diagnostic("E970", message, hint=hint)])
    return 70


def _write_log(text: str, path: str | None) -> str:
    """Append `text` to the file at `path`, or to a new temporary file. Return its path. Raises OSError or AsctError."""
    import tempfile

    if path is not None:
        from asct.store.outputs import open_output

        with open_output(Path(path), append=True) as log:
            log.write(text)
        return path
    with tempfile.NamedTemporaryFile("w", prefix="asct-bug-", suffix=".log", delete=False) as file:
        file.write(text)
        return file.name

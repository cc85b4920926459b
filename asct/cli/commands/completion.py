"""The command `asct completion SHELL`."""

from __future__ import annotations

import click

from asct.cli.options import PROGRAM, GlobalOptions, shared_options


@click.command("completion")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@shared_options
def command(options: GlobalOptions, shell: str) -> None:
    """Print the completion script for a shell.

    \b
    For bash:
      asct completion bash > ~/.local/share/bash-completion/completions/asct
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # click supports every shell that the option accepts
    group = click.get_current_context().find_root().command
    script = kind(group, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source()
    if options.json:
        options.console.document({"schema": "asct.completion/1", "shell": shell, "script": script})
    else:
        click.echo(script)

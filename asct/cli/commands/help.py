"""The command `asct help [COMMAND]`."""

from __future__ import annotations

import click

from asct.cli.options import PROGRAM, GlobalOptions, shared_options


@click.command("help", short_help="Show the help of asct or of a command.")
@click.argument("names", metavar="[COMMAND...]", nargs=-1, required=False)
@shared_options
def command(options: GlobalOptions, names: tuple[str, ...]) -> None:
    """Show the help of asct or of a command, e.g. `asct help results list`."""
    text = _help(names)
    if options.json:
        options.console.document({"schema": "asct.help/1", "command": " ".join([PROGRAM, *names]), "text": text})
    else:
        click.echo(text)


def _help(names: tuple[str, ...]) -> str:
    context = click.get_current_context().find_root()
    for name in names:
        group = context.command
        if not isinstance(group, click.Group):
            raise click.UsageError(f"`{context.command_path}` has no command `{name}`")
        found = group.get_command(context, name)
        if found is None:
            raise click.exceptions.NoSuchCommand(name, possibilities=group.list_commands(context), ctx=context)
        context = click.Context(found, info_name=name, parent=context)
    return context.get_help()

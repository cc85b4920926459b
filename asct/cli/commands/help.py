"""`asct help [COMMAND]`."""

from __future__ import annotations

import click

from asct.cli.options import PROGRAM, Settings, shared_options


@click.command("help", short_help="Show what asct or one of its commands does.")
@click.argument("names", metavar="[COMMAND...]", nargs=-1, required=False)
@shared_options
def command(settings: Settings, names: tuple[str, ...]) -> None:
    """Show what asct or one of its commands does: `asct help results list`."""
    text = _help(names)
    if settings.json:
        settings.console.document({"schema": "asct.help/1", "command": " ".join([PROGRAM, *names]), "text": text})
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
            raise unknown_command(name, group.list_commands(context))
        context = click.Context(found, info_name=name, parent=context)
    return context.get_help()


def unknown_command(name: str, known: list[str]) -> click.UsageError:
    """The error for a command that is not there, with the nearest one."""
    from asct.diagnostics.suggest import nearest

    close = nearest(name, known)
    advice = f"; did you mean `{close}`?" if close else f"; `{PROGRAM} help` lists them"
    return click.UsageError(f"no such command `{name}`{advice}")

"""`asct help [COMMAND]`."""

from __future__ import annotations

import click

from asct.cli.options import PROGRAM, Settings, shared_options


@click.command("help")
@click.argument("name", metavar="[COMMAND]", required=False)
@shared_options
def command(settings: Settings, name: str | None) -> None:
    """Show what asct or one of its commands does."""
    context = click.get_current_context().find_root()
    group = context.command
    if name is None or not isinstance(group, click.Group):
        click.echo(context.get_help())
        return
    found = group.get_command(context, name)
    if found is None:
        raise unknown_command(name, group.list_commands(context))
    with click.Context(found, info_name=name, parent=context) as inner:
        click.echo(found.get_help(inner))


def unknown_command(name: str, known: list[str]) -> click.UsageError:
    """The error for a command that is not there, with the nearest one."""
    from asct.diagnostics.suggest import nearest

    close = nearest(name, known)
    advice = f"; did you mean `{close}`?" if close else f"; `{PROGRAM} help` lists them"
    return click.UsageError(f"no such command `{name}`{advice}")

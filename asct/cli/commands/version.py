"""The command `asct version`."""

from __future__ import annotations

import json

import click

from asct import __version__
from asct.cli.options import GlobalOptions, shared_options


@click.command("version")
@shared_options
def command(options: GlobalOptions) -> None:
    """Print the version of asct."""
    if options.json:
        click.echo(json.dumps({"schema": "asct.version/1", "version": __version__}))
    else:
        click.echo(f"asct {__version__}")

"""The command `asct schema [KIND]`."""

from __future__ import annotations

import click

from asct.cli.options import GlobalOptions, shared_options

_KINDS = ("plan", "record", "run", "facts", "disturbances", "telemetry", "cmn", "kernel")


@click.command("schema", short_help="Print the JSON Schema for plans or results.")
@click.argument("kind", type=click.Choice(_KINDS), default="plan")
@shared_options
def command(options: GlobalOptions, kind: str) -> None:
    """Print the JSON Schema for plans (for use in editors) or for a document in the results tree.

    For completion in an editor, run `asct schema plan > plan.schema.json` and begin the plan with this line:

    \b
      # yaml-language-server: $schema=plan.schema.json
    """
    import json

    if kind == "plan":
        from asct.plan.schema import plan_schema
        from asct.registry import installed

        schema = plan_schema([item for item in installed().all() if not item.hidden])
    else:
        from asct.store.schemas import schema_of

        schema = schema_of(kind)
    click.echo(json.dumps(schema, indent=2, allow_nan=False))

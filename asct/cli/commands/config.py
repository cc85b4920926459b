"""`asct config save|check`: the settings file of `asct run --config-file`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asct.cli.options import Settings, shared_options
from asct.cli.words import counted

if TYPE_CHECKING:
    from asct.sdk.benchmark import Benchmark


@click.group("config", short_help="Write or check a settings file of `asct run`.")
def command() -> None:
    """Write or check a file of settings for `asct run --config-file`."""


@command.command("save", short_help="Write the default settings of benchmarks as JSON.")
@click.argument("words", nargs=-1, metavar="[SELECT...]")
@click.option("--config-file", default="config.json", type=click.Path(dir_okay=False), show_default=True)
@click.option("--force", is_flag=True, help="Write over a file that exists.")
@shared_options
def save(settings: Settings, words: tuple[str, ...], config_file: str, force: bool) -> None:
    """Write the default settings of the benchmarks selected (default: all) as JSON."""
    from asct.cli.adhoc import select
    from asct.cli.files import write_text
    from asct.registry import installed

    target = Path(config_file)
    if target.exists() and not force:
        raise click.UsageError(f"{config_file} exists; name another file, or add `--force` to write over it")
    chosen = select(words or ("all",), installed().all())
    document = {item.name: _defaults(item) for item in chosen}
    write_text(target, json.dumps(document, indent=2, allow_nan=False) + "\n")
    settings.console.line(f"wrote the settings of {counted(len(chosen), 'benchmark')} to {config_file}")


def _defaults(benchmark: Benchmark[Any]) -> dict[str, Any]:
    """Every setting that has a value of its own, as one would write it in a plan."""
    from asct.cli.lookup import written_value

    values = {}
    listed = set(benchmark.params_model.step_settings.values())  # the list says it already
    for name, info in benchmark.params_model.model_fields.items():
        default = info.get_default(call_default_factory=True, validated_data={})
        if default is not None and name not in listed:
            values[name] = written_value(benchmark, name, default)
    return values


@command.command("check")
@click.argument("file", default="config.json", type=click.Path(dir_okay=False))
@shared_options
def check(settings: Settings, file: str) -> None:
    """Say everything that is wrong with a settings file."""
    from asct.cli import adhoc
    from asct.cli.loading import Choice, load
    from asct.registry import installed

    benchmarks = installed().all()
    values = adhoc.file_settings(file, benchmarks)
    chosen = [item for item in benchmarks if item.name in values]
    if chosen:
        load(settings, file, Choice(), text=adhoc.plan_text(chosen, values, None))
    settings.console.result(f"{file}: ok, settings of {counted(len(chosen), 'benchmark')}")

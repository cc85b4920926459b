"""The commands `asct config save` and `asct config check`, for the settings file of `asct run --config-file`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asct.cli.options import GlobalOptions, PlanSelection, shared_options
from asct.values.text import counted

if TYPE_CHECKING:
    from asct.registry import BenchmarkInfo, SettingInfo
    from asct.sdk.benchmark import Benchmark


@click.group("config", short_help="Write or check a settings file for `asct run`.")
def command() -> None:
    """Write or check a settings file for `asct run --config-file`."""


@command.command("save", short_help="Write default benchmark settings as JSON.")
@click.argument("words", nargs=-1, metavar="[SELECT...]")
@click.option(
    "--config-file", default="config.json", type=click.Path(dir_okay=False), show_default=True, help="File to write."
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@shared_options
def save(options: GlobalOptions, words: tuple[str, ...], config_file: str, force: bool) -> None:
    """Write the default settings for the selected benchmarks (default: all) as JSON."""
    from asct.cli.places import words_text
    from asct.plan.findings import Findings
    from asct.planner.keywords import chosen_by
    from asct.registry import installed
    from asct.store.outputs import check_output, write_output

    target = Path(config_file)
    check_output(target, force=force)
    findings = Findings()
    chosen = chosen_by(words_text(words or ("all",))[1], installed().infos, findings)
    findings.require()
    benchmarks = ((installed().get(info.name), info) for info, _ in chosen)
    document = {info.name: _defaults(benchmark, info) for benchmark, info in benchmarks if benchmark is not None}
    write_output(target, json.dumps(document, indent=2, allow_nan=False) + "\n", force=force)
    if options.json:
        options.console.document(_summary(config_file, document))
    else:
        options.console.line(f"wrote the settings for {counted(len(chosen), 'benchmark')} to {config_file}")


def _summary(file: str, benchmarks: Iterable[str]) -> dict[str, Any]:
    """Return the document for --json: the settings file, and the benchmarks for which it contains settings."""
    return {"schema": "asct.config/1", "file": file, "benchmarks": list(benchmarks)}


def _defaults(benchmark: Benchmark[Any], info: BenchmarkInfo) -> dict[str, Any]:
    """Return every setting that has a default, in plan notation.

    A swept setting is represented by its list of values.
    """
    swept = set(benchmark.params_model.step_settings.values())
    values = {}
    for setting in info.settings:
        if setting.name not in swept:
            field = benchmark.params_model.model_fields[setting.name]
            default = field.get_default(call_default_factory=True, validated_data={})
            if default is not None:
                values[setting.name] = _in_plan(setting, default)
    return values


def _in_plan(setting: SettingInfo, value: Any) -> Any:
    """Return sizes and durations as text with their unit, and other values unchanged."""
    if isinstance(value, list | tuple):
        return [_in_plan(setting, item) for item in value]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    with_unit = number and any(kind in setting.type for kind in ("size", "duration"))
    return setting.format_value(value) if with_unit else value


@command.command("check", short_help="Check a settings file.")
@click.argument("file", default="config.json", type=click.Path(dir_okay=False))
@shared_options
def check(options: GlobalOptions, file: str) -> None:
    """Check a settings file and print every error."""
    from asct.cli import adhoc
    from asct.cli.loading import beside, load
    from asct.cli.places import moving
    from asct.diagnostics.wording import WITHOUT_PLAN
    from asct.plan.findings import Findings
    from asct.registry import installed

    findings = Findings()
    settings = adhoc.file_settings(file, installed(), options.console.files, findings)
    chosen = sorted(settings)
    if chosen:
        text = adhoc.plan_text(chosen, adhoc.plain(settings), None)
        with beside(findings):
            load(options, WITHOUT_PLAN, PlanSelection(), text=text, move=moving(settings, WITHOUT_PLAN, text))
    findings.require()
    if options.json:
        options.console.document(_summary(file, chosen))
    else:
        options.console.result(f"{file}: ok, settings for {counted(len(chosen), 'benchmark')}")

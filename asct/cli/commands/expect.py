"""The command `asct expect RUN...`."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from asct.cli.completion import run_names
from asct.cli.options import GlobalOptions, results_option, shared_options
from asct.diagnostics.model import Diagnostic
from asct.errors import StoreError, UsageError
from asct.values.grouping import shortened
from asct.values.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from asct.analysis.proposals import Proposal

_MOST_NAMED: Final = 6


@click.command("expect", short_help="Propose expectations based on measured values.")
@click.argument("runs", nargs=-1, metavar="[RUN...]", shell_complete=run_names)
@click.option(
    "--metric", "metrics", multiple=True, metavar="PATTERN",
    help="Propose bounds for the values of these metrics (`ID.METRIC`, `matrix.*`) instead of for the key results; "
    "can be repeated.",
)  # fmt: skip
@click.option(
    "--margin", default="5%", show_default=True, metavar="PERCENT",
    help="Margin by which a value may be worse than the worst measured value.",
)  # fmt: skip
@click.option("-o", "--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write to FILE.")
@click.option("--force", is_flag=True, help="Overwrite an existing FILE.")
@results_option(file_okay=False)
@shared_options
def command(
    options: GlobalOptions,
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    margin: str,
    output: str | None,
    force: bool,
    results: str,
) -> None:
    """Propose expectations based on the values measured in a plan's runs (default: the latest run).

    The output is an `expect` section to copy into the plan. For each bound, asct takes the worst interval endpoint
    across all runs and hosts, and adds a margin. Measure several runs first, because one run does not show how much
    values vary between runs.
    """
    from asct.analysis.proposals import metrics_of, proposals
    from asct.cli.reports import view_of
    from asct.store.find import open_run
    from asct.store.outputs import check_output, write_output

    share = _share(margin)
    if output is not None:
        check_output(Path(output), force=force)
    views = [view_of(open_run(Path(results), name).layout.root) for name in runs or ("latest",)]
    _check_plans(dict.fromkeys(view.run.plan for view in views))
    _check_patterns(metrics, metrics_of(views) if metrics else ())
    found = proposals(views, share, metrics)
    if not found:
        hint = f"`asct results show {(*runs, 'latest')[0]}` lists the values"
        raise StoreError(Diagnostic("E521", "there are no valid values from which to propose bounds", hint=hint))
    text = _yaml(found)
    if output is not None:
        write_output(Path(output), text, force=force)
    if options.json:
        entries = [{**item.as_entry(), "basis": item.comment()} for item in found]
        options.console.document({"schema": "asct.expect/1", "expect": entries})
    elif output is None:
        options.console.result(text.rstrip("\n"))
    else:
        options.console.line(f"wrote {output}; copy it into the plan, then run `asct check PLAN`")


def _check_plans(plans: Collection[str]) -> None:
    """Raise UsageError (E710) if the runs belong to several plans, because the same id may refer to different
    benchmarks in different plans."""
    if len(plans) > 1:
        message = f"the runs belong to different plans: {shortened(list(plans), _MOST_NAMED)}"
        raise UsageError(Diagnostic("E710", message, hint="propose bounds for one plan at a time"))


def _check_patterns(patterns: Collection[str], known: Collection[str]) -> None:
    """Raise StoreError (E521) for patterns that match no metric with a valid value."""
    absent = [pattern for pattern in patterns if not any(fnmatchcase(name, pattern) for name in known)]
    hint = f"the runs contain {shortened([f'`{name}`' for name in known], _MOST_NAMED)}" if known else ""
    findings = [
        Diagnostic("E521", f"no valid value matches `--metric {pattern}`", hint=did_you_mean(pattern, known, hint))
        for pattern in absent
    ]
    if findings:
        raise StoreError(*findings)


def _share(text: str) -> float:
    try:
        share = float(text.removesuffix("%")) / 100.0
        if not text.endswith("%") or not 0.0 <= share < 1.0:
            raise ValueError
    except ValueError:
        message = f"`{text}` is not a percentage from 0% to 99%" + f"; write `{text}%`" * text.isdecimal()
        raise click.BadParameter(message, param_hint="--margin") from None
    return share


def _yaml(found: Sequence[Proposal]) -> str:
    import yaml

    lines = ["expect:"]
    for item in found:
        entry = yaml.safe_dump(
            item.as_entry(), default_flow_style=True, sort_keys=False, width=10**6, allow_unicode=True
        )
        lines += [f"  # {item.comment()}", f"  - {entry.strip()}"]
    return "\n".join(lines) + "\n"

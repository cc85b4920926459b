"""Each plan in plans/seeds selects the benchmarks and points that its study lists, and yields a counterpart of each of
the study's tables and figures."""

from __future__ import annotations

import re
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from asct.analysis.report import build
from asct.analysis.view import RunView, open_view
from asct.plan.load import load_plan, variants
from asct.planner.model import ResolvedPlan
from asct.planner.resolve import resolve
from asct.registry import installed
from tests.browser.machines import SERVER
from tests.browser.trees import PLANS, Tree, write_tree
from tests.seeds.original import names, original
from tests.seeds.page import FOLDER, facts_table
from tests.seeds.pairing import figure_of, rows_of, table_of
from tests.seeds.running import plan_text

_MOST_BYTES = 1_500_000
"""Limit on the total size of the pictures in docs/seeds."""


@cache
def made_up(name: str) -> RunView:
    """Return a synthetic run of the plan on a server with two NUMA nodes and many CPUs."""
    seed = original(name)
    text = plan_text(seed, [(f"/dev/disk/by-id/nvme-X_{number}", f"S{number}") for number, _ in enumerate(seed.drives)])
    with TemporaryDirectory() as folder:
        return open_view(write_tree(Tree("", text, SERVER), Path(folder)), installed())


def resolved(plan: str, profile: str | None) -> ResolvedPlan:
    loaded = load_plan(PLANS / f"{plan}.yaml", profile=profile)
    assert loaded.partial is not None, loaded.diagnostics
    return resolve(loaded.partial, installed(), None, partial(variants, loaded.partial)).required()


def test_every_seed_has_a_plan_data_and_a_page() -> None:
    plans = {path.stem for path in (PLANS / "seeds").glob("*.yaml")}
    assert plans == {*names()} == {original(name).plan.removeprefix("seeds/") for name in names()}
    assert {path.stem for path in FOLDER.glob("*.md")} == {*names(), "README"}


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("profile", [None, "quick"])
def test_a_plan_selects_what_the_original_lists(name: str, profile: str | None) -> None:
    seed, jobs = original(name), {job.id: job for job in resolved(original(name).plan, profile).jobs}
    assert {id_: job.benchmark for id_, job in jobs.items()} == {
        id_: entry.benchmark for id_, entry in seed.entries.items()
    }
    for id_, entry in seed.entries.items():
        assert len(jobs[id_].points) == entry.points
        for setting, values in entry.sweep.items():
            assert list(dict.fromkeys(point.settings[setting] for point in jobs[id_].points)) == list(values)


@pytest.mark.parametrize("name", names())
def test_facts_of_the_original_have_labels_here(name: str) -> None:
    report = build(made_up(name))
    labels = {label for label, _ in (*report.hosts[0].rows, *report.facts)}
    assert {fact.ours for fact in original(name).facts if not fact.only} <= labels


def test_a_page_hides_the_kernel_command_line_of_this_machine() -> None:
    for text in ("\n".join(facts_table(original("tkperf"), made_up("tkperf"))), (FOLDER / "tkperf.md").read_text()):
        assert r"| Command line: \[kernel command line\] |" in text


@pytest.mark.parametrize("name", names())
def test_tables_of_the_original_have_counterparts(name: str) -> None:
    seed, view = original(name), made_up(name)
    for table in seed.tables:
        grid = table_of(view, table)
        assert grid is not None
        titles = {head.title for head in grid.heads}
        wanted = {table.ours(column) for column in table.columns if column not in table.absent} | {*table.where}
        assert wanted <= titles, f"{table.title}: no column {sorted(wanted - titles)} in {sorted(titles)}"
        assert rows_of(table, grid), f"{table.title}: no row with {dict(table.where)}"


@pytest.mark.parametrize("name", names())
def test_figures_of_the_original_have_counterparts(name: str) -> None:
    seed, view = original(name), made_up(name)
    for figure in seed.figures:
        slugs = [item.slug for job in view.jobs if job.entry.id == figure.entry for item in job.figures]
        assert figure_of(view, figure) is not None, f"{figure.title}: no {figure.figure} in {slugs}"


@pytest.mark.parametrize("name", names())
def test_a_page_names_every_table_and_figure_and_its_pictures_exist(name: str) -> None:
    seed, text = original(name), (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    headings = {line.lstrip("# ") for line in text.splitlines() if line.startswith("#")}
    plain = {heading.replace("\\", "") for heading in headings}
    assert {*(table.title for table in seed.tables), *(figure.title for figure in seed.figures)} <= plain
    assert all((FOLDER / path).is_file() for path in re.findall(r"\((pictures/[^)]+)\)", text))


def test_pictures_are_small_and_each_is_on_a_page() -> None:
    pictures = list((FOLDER / "pictures").iterdir())
    assert sum(path.stat().st_size for path in pictures) < _MOST_BYTES
    text = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md"))
    assert {path.name for path in pictures} == set(re.findall(r"\(pictures/([^)]+)\)", text))

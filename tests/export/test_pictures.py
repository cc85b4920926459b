"""The names of picture files, and the files that the formats png and svg write."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from asct.analysis.pictures import pictures
from asct.analysis.view import RunView
from asct.errors import StoreError, UsageError
from asct.export import write, write_all
from asct.registry import installed
from tests.export.conftest import Viewer
from tests.figures.heat import nodes

DEPTH = "storage-io-depth-sweep"
DEPTH_FIGURES = ["iops", "percentiles", "storage_io_bandwidth", "storage_io_cpu"]


def test_names_are_those_that_a_benchmark_declares_or_those_of_the_figures(view: Viewer) -> None:
    found = pictures(view())
    assert sorted(found) == ["latency-sweep", *(f"{DEPTH}/{name}" for name in DEPTH_FIGURES)]
    assert found["latency-sweep"].title == "Latency against data size"


def test_hosts_share_pictures_except_those_of_matrices(view: Viewer) -> None:
    several = view(hosts=("a", "b"))
    assert sorted(pictures(several)) == sorted(pictures(view()))
    jobs = tuple(replace(job, figures=(nodes(),)) for job in several.jobs if job.entry.benchmark == "latency-sweep")
    assert sorted(pictures(replace(several, jobs=jobs))) == ["latency-sweep/nodes-a", "latency-sweep/nodes-b"]


def test_long_host_names_are_as_short_as_on_the_page(view: Viewer, tmp_path: Path) -> None:
    run = view(hosts=("rack07-node-1.lab.example.com", "rack07-node-2.lab.example.com"))
    latency = next(path for path in write(run, "svg", tmp_path) if path.stem == "latency-sweep")
    text = latency.read_text(encoding="utf-8")
    assert "\N{HORIZONTAL ELLIPSIS}node-2" in text and "2.lab.example.com" not in text
    assert "2 hosts (names without rack07- and .lab.example.com)" in text


def renamed(view: RunView, *names: str) -> RunView:
    """Return the latency job under each of these names."""
    job = next(job for job in view.jobs if job.entry.benchmark == "latency-sweep")
    jobs = (replace(job, entry=job.entry.model_copy(update={"id": name})) for name in names)
    return replace(view, jobs=tuple(jobs))


def test_several_entries_of_a_benchmark_have_a_folder_each(view: Viewer) -> None:
    assert sorted(pictures(renamed(view(), "big", "small"))) == ["big/latency-sweep", "small/latency-sweep"]


def test_no_name_leads_out_of_the_folder_or_into_one_of_the_run(view: Viewer) -> None:
    found = list(pictures(renamed(view(), "jobs", "../../etc")))
    assert found == ["jobs-2/latency-sweep", "etc/latency-sweep"]


@pytest.mark.parametrize("form", ["png", "svg"])
def test_a_format_writes_one_file_per_figure(view: Viewer, form: str, tmp_path: Path) -> None:
    run = view(hosts=("a", "b"))
    first, again = (write(run, form, tmp_path / name) for name in ("one", "two"))
    assert [path.relative_to(tmp_path / "one") for path in first] == [Path(f"{n}.{form}") for n in pictures(run)]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]
    with pytest.raises(UsageError, match="already exists"):
        write_all(run, (form,), tmp_path / "one", replace=False)


def test_a_run_without_figures_is_refused_before_anything_is_written(view: Viewer, tmp_path: Path) -> None:
    run = view()
    bare = replace(run, jobs=tuple(replace(job, figures=()) for job in run.jobs))
    with pytest.raises(UsageError) as caught:
        write_all(bare, ("json", "png"), tmp_path / "out")
    assert (caught.value.exit_code, caught.value.diagnostics[0].code) == (2, "E711")
    assert not (tmp_path / "out").exists()


def test_a_link_in_place_of_a_folder_is_not_followed(view: Viewer, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / DEPTH).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match=DEPTH):
        write(view(), "svg", tmp_path / "out")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_documented_names_are_declared() -> None:
    declared = {name for benchmark in installed().all() for name in benchmark.pictures.values()}
    storage = ("bandwidth", "io_rate", "cpu_utilization", "read_latency_distribution", "write_latency_distribution")
    assert {"latency-sweep", "bandwidth", *(f"{{id}}/storage_io_{name}" for name in storage)} <= declared

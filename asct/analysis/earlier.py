"""Draw the values of an earlier run behind the values of the run that is compared with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from asct.analysis.combined import is_stacked, share_categories
from asct.analysis.compared import sources_of
from asct.analysis.diff.figures import figures_of
from asct.analysis.diff.rows import paired_hosts
from asct.analysis.grid import slug
from asct.analysis.report import ReportSection
from asct.analysis.view import RunView
from asct.errors import StoreError
from asct.sdk.figure import Backdrop, Chart, Figure, Heatmap, Series


def with_earlier_run(view: RunView, sections: Sequence[ReportSection]) -> list[ReportSection]:
    """Return the sections of a report, with the baseline's values drawn behind the values of the run.

    Stacked bars, matrices, and charts that have no counterpart with the same axes are unchanged. All figures are
    unchanged if there is no baseline or if it cannot be read; the comparison then says why.
    """
    try:
        found = sources_of(view)
    except StoreError:
        return list(sections)
    if found is None or view.catalog is None:
        return list(sections)
    base, current, _ = found
    hosts, figures = paired_hosts(base, current), figures_of(base, view.catalog)
    name = f"baseline {base.title}"

    def changed(section: ReportSection) -> ReportSection:
        earlier = {
            (part, f"{section.slug}-{slug(one.slug)}"): one
            for part, before in hosts.items()
            for one in figures.get((before, section.id), ())
            if not isinstance(one, Heatmap) and not is_stacked(one)
        }
        own = tuple(_with_backdrop(figure, name, earlier, next(iter(hosts), "")) for figure in section.figures)
        return replace(section, figures=own)

    return [changed(section) for section in sections]


def _with_backdrop(figure: Figure, name: str, earlier: dict[tuple[str, str], Chart], only: str) -> Figure:
    """Return a figure with the matching chart of the earlier run (found by host and slug) drawn behind it. `only` is
    the host to assume for figures whose series do not name one."""
    if isinstance(figure, Heatmap) or is_stacked(figure):
        return figure

    def behind(item: Series) -> Backdrop | None:
        chart = earlier.get((item.host or only, figure.slug))
        if chart is None or (chart.x, chart.y) != (figure.x, figure.y) or not share_categories((chart, figure)):
            return None
        own = item.name.removeprefix(f"{item.host}, ")
        same = [one for one in chart.series if one.name == own or (own == item.host and len(chart.series) == 1)]
        return Backdrop(name, same[0].x, same[0].y) if same else None

    series = tuple(replace(item, backdrop=behind(item)) for item in figure.series)
    if not any(item.backdrop for item in series):
        return figure
    return replace(figure, series=series, caption=f"{figure.caption} Pale: {name}.")

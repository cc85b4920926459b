"""pytest options that select tests by tier (tests/tiers.py), and a report of the tests that a run leaves out.

`--tier fast` leaves out the slow tests, `--tier slow` the fast ones. `--tier called` runs a slice of the slow tests,
then the groups in `--groups`, then the files in `--files`, until the time `--until`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

from tests.tiers import GROUPS, SLICES, group_of, slice_of

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

_LEFT = pytest.StashKey[Counter[str]]()
"""Number of tests that were not selected, by group."""
_LATE = "no time left"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options used by `.ci/run` and make."""
    options = parser.getgroup("tiers", "tiers of tests (tests/tiers.py)")
    options.addoption("--tier", choices=["all", "fast", "slow", "called"], default="all", help="tests to run")
    options.addoption("--groups", default="", help="with --tier called: groups to run, in this order")
    options.addoption("--files", default="", help="with --tier called: test files to run as well")
    options.addoption("--slice", type=int, default=0, help=f"with --tier called: which of {SLICES} slices to run")
    options.addoption("--until", type=float, default=0, help="start no test after this time (seconds since 1970)")


def group(item: pytest.Item) -> str:
    """Return the group of a test; empty for a test of the fast tier."""
    return group_of(_below_tests(item.nodeid), {mark.name for mark in item.iter_markers()})


def _below_tests(nodeid: str) -> str:
    return nodeid.removeprefix("tests/")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select tests, and move those that `--tier called` runs first to the front."""
    ranks = {item: _rank(config, item) for item in items}
    left = [item for item in items if ranks[item] is None]
    config.stash[_LEFT] = Counter(group(item) or "fast" for item in left)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = sorted((item for item in items if ranks[item] is not None), key=lambda item: ranks[item] or 0)
    if hasattr(config, "workeroutput"):
        config.workeroutput["left"] = dict(config.stash[_LEFT])


def _rank(config: pytest.Config, item: pytest.Item) -> int | None:
    """Return the rank of a test; the lowest runs first. None for a test that is not selected."""
    tier, name = config.getoption("tier"), group(item)
    if tier != "called":
        return 0 if tier == "all" or (tier == "fast") == (name == "") else None
    if not name:
        return None
    groups = config.getoption("groups").split(",")
    if slice_of(_below_tests(item.nodeid)) == config.getoption("slice") % SLICES:
        return 0
    if name in groups:
        return 1 + groups.index(name)
    return 1 + len(groups) if item.nodeid.partition("::")[0] in config.getoption("files").split(",") else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test if there is not enough time for it."""
    if 0 < item.config.getoption("until") < time.time():
        pytest.skip(f"{_LATE}: {group(item)}")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: WorkerController) -> None:
    """Use the selection of any worker, because all of them select the same tests."""
    if "left" in getattr(node, "workeroutput", {}):
        node.config.stash[_LEFT] = Counter(node.workeroutput["left"])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Report which tests were not run."""
    left = config.stash.get(_LEFT, Counter())
    late = Counter(_late_groups(terminalreporter.stats.get("skipped", ())))
    unselected = "Left to the slow tier (make test-all)" if config.getoption("tier") == "fast" else "Not selected"
    for counts, why in (left, unselected), (late, "LEFT OUT FOR LACK OF TIME"):
        if counts:
            terminalreporter.write_line(f"{why}: {counts.total()} tests")
            about = {"fast": "the fast tier", **{one.name: one.about for one in GROUPS}}
            for name, count in counts.most_common():
                terminalreporter.write_line(f"{count:6} {name:10} {about[name]}")


def _late_groups(reports: Iterable[pytest.TestReport]) -> Iterable[str]:
    for report in reports:
        if isinstance(report.longrepr, tuple) and _LATE in report.longrepr[2]:
            yield report.longrepr[2].rpartition(": ")[2]

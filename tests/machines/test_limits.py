"""A machine with limited resources: CPUs that are offline or outside the mask, an ordinary account, little memory, and
no huge pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.machines.guest import Guest
from tests.machines.running import applied, facts_of, measured, meta_of, of

pytestmark = [pytest.mark.machines, pytest.mark.timeout(900)]

SMALL = "sizes: [4K, 64K], time_cap: 20ms, visits: 1"
USABLE = {0, 2, 3, 5}


def sweep(identifier: str, **settings: object) -> str:
    """Return an entry with a latency sweep over two small sizes."""
    more = "".join(f", {name}: {value}" for name, value in settings.items())
    return f"  - {{id: {identifier}, uses: latency-sweep, config: {{{SMALL}{more}}}}}\n"


def test_a_cpu_that_is_offline_or_not_in_the_mask_is_told_and_the_others_are_measured(
    narrow: Guest, tmp_path: Path
) -> None:
    plan = "benchmarks:\n" + "".join(sweep(f"on-{cpu}", cpu=cpu) for cpu in range(7))
    ended, run = measured(plan, [narrow], tmp_path)
    assert ended.code == 3
    assert {record["id"] for record in of(run, "latency")} == {f"on-{cpu}" for cpu in USABLE}
    for cpu in sorted(set(range(7)) - USABLE):
        assert f"on-{cpu}" in ended.err
        assert f"cpu {cpu}" in ended.err.lower()
    for cpu in USABLE:
        assert meta_of(run, "narrow", f"on-{cpu}")["cpu"] == cpu


def test_by_itself_it_takes_a_cpu_that_may_be_used_and_leaves_nothing(narrow: Guest, tmp_path: Path) -> None:
    run = applied("benchmarks:\n" + sweep("any"), [narrow], tmp_path)
    facts = facts_of(run, "narrow")
    assert set(facts["cpu"]["allowed"]) & set(facts["cpu"]["online"]) == USABLE
    assert meta_of(run, "narrow", "any")["cpu"] in USABLE
    assert narrow.sh("find /var/tmp/asct -name 'run-*'", "bench") == ""


def test_without_huge_pages_auto_takes_base_pages_and_2m_is_refused(narrow: Guest, tmp_path: Path) -> None:
    plan = "benchmarks:\n" + sweep("huge", pages="2M") + sweep("large", pages="THP") + sweep("any", pages="auto")
    ended, run = measured(plan, [narrow], tmp_path)
    assert ended.code == 3
    assert {record["id"] for record in of(run, "latency")} == {"any"}
    assert meta_of(run, "narrow", "any")["pages"] == "4k"
    assert "huge" in ended.err and "large" in ended.err


def test_more_memory_than_is_free_is_refused_and_the_rest_is_measured(narrow: Guest, tmp_path: Path) -> None:
    big = "  - {id: big, uses: latency-sweep, config: {sizes: [64K, 1G]}}\n"
    ended, run = measured("benchmarks:\n" + big + sweep("small"), [narrow], tmp_path)
    assert ended.code == 3
    assert {record["id"] for record in of(run, "latency")} == {"small"}
    assert "memory" in ended.err


def test_a_node_that_is_not_there_is_told(narrow: Guest, tmp_path: Path) -> None:
    ended, run = measured("benchmarks:\n" + sweep("far", memory_node=2) + sweep("near"), [narrow], tmp_path)
    assert ended.code == 3
    assert {record["id"] for record in of(run, "latency")} == {"near"}
    assert "node 2" in ended.err

"""Huge pages: runs as root reserve them on the measured node, and afterward, the pools are as before."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.awaiting import until
from tests.machines.guest import Guest
from tests.machines.running import applied, measured, streams

pytestmark = [pytest.mark.machines, pytest.mark.timeout(900)]

POOLS = "grep -r . /sys/devices/system/node/node*/hugepages/*/nr_hugepages | sort"
CHASE = "for it in /proc/[0-9]*; do case $(readlink $it/exe) in *chase*) echo ${it#/proc/};; esac; done"


def pages_of_2m(guest: Guest) -> int:
    """Return the number of pages in the pools of 2 MiB pages of all nodes."""
    return int(guest.sh("cat /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"))


@pytest.mark.parametrize("machine", ["pair", "arm"])
def test_pages_are_reserved_on_each_node_and_put_back(machine: str, guests: dict[str, Guest], tmp_path: Path) -> None:
    guest = guests[machine]
    before = guest.sh(POOLS)
    plan = "benchmarks:\n  - {uses: idle-latency, config: {data_size: 4M, pages: 2M, duration: 20ms, visits: 1}}\n"
    run = applied(plan, [guest], tmp_path)
    metas = [lines[0] for lines in streams(run, machine, "idle-latency")]
    assert {(meta["node"], meta["pages"], meta["page_bytes"]) for meta in metas} == {
        (0, "2m", 2 << 20),
        (1, "2m", 2 << 20),
    }
    assert guest.sh(POOLS) == before


def test_pages_are_put_back_when_a_kernel_is_killed(pair: Guest, tmp_path: Path) -> None:
    before = pair.sh(POOLS)
    sizes = ", ".join(f"{4096 + 64 * at}K" for at in range(400))
    slow = f"{{sizes: [{sizes}], pages: 2M, visits: 1}}"
    plan = f"benchmarks:\n  - {{id: killed, uses: latency-sweep, config: {slow}}}\n  - noop\n"
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(measured, plan, [pair], tmp_path)
        until(lambda: pages_of_2m(pair) > 0, "no page was reserved", 300)
        kernel = min(map(int, pair.sh(CHASE).split()))  # the later one is its child, which puts the pages back
        pair.sh(f"kill -KILL {kernel}")
        until(lambda: pages_of_2m(pair) == 0, "pages are left", 300)
        ended, run = running.result(700)
    assert pair.sh(POOLS) == before
    assert ended.code == 3
    assert "killed" in ended.err
    assert (run / "report.html").is_file()

"""Latency on machines with several nodes: kernels are copied to the guest, and memory is bound to the requested
node."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.machines.guest import Guest
from tests.machines.running import applied, facts_of, meta_of, of

pytestmark = [pytest.mark.machines, pytest.mark.timeout(900)]

SWEEP = """\
benchmarks:
  - noop
  - uses: latency-sweep
    config: {sizes: [4K, 64K, 1M], pages: 4K, time_cap: 20ms, visits: 2}
"""


def test_every_machine_is_measured_with_a_kernel_made_here(guests: dict[str, Guest], tmp_path: Path) -> None:
    run = applied(SWEEP, [*guests.values()], tmp_path)
    sizes = {(record["host"], record["coords"]["size"]) for record in of(run, "latency") if "size" in record["coords"]}
    assert sizes == {(name, size) for name in guests for size in (4096, 65536, 1048576)}
    for name, guest in guests.items():
        facts = facts_of(run, name)
        assert facts["system"]["arch"] == guest.machine.arch
        assert not {"gcc", "cc", "clang"} & set(facts["tools"])
        assert meta_of(run, name, "latency-sweep")["arch"] == guest.machine.arch

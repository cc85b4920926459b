"""loaded-latency with few CPUs: which CPUs generate the load, and the message if no CPU is left to do so."""

from __future__ import annotations

from typing import Any

import pytest

from tests.benchmarks.test_contract import option
from tests.benchmarks.test_loaded_latency import host, node, step


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (
            {"latency_cpu_id": 1, "bw_cpu_blocklist": [0]},
            "CPU 1 measures latency, and `bw_cpu_blocklist` excludes CPU 0",
        ),
        ({"bw_cpu_blocklist": [0, 1]}, "CPU 1 measures latency, and `bw_cpu_blocklist` excludes CPU 0-1"),
        ({"phase": "bandwidth", "bw_cpu_blocklist": [0, 1]}, "no CPU remains to generate load"),
    ],
)
def test_a_blocklist_that_leaves_no_load_is_told(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        step(host(node(0, [0, 1])), **settings)


def test_one_cpu_alone_makes_the_load_of_phase_bandwidth() -> None:
    assert option(step(host(node(0, [0, 1]), allowed=[1]), phase="bandwidth"), "cpus") == "1"
    assert option(step(host(node(0, [0, 1])), phase="bandwidth", bw_cpu_blocklist=[0]), "cpus") == "1"

"""Settings that the memory benchmarks refuse."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tests.benchmarks.test_contract import BY_NAME

IMPOSSIBLE: dict[str, list[dict[str, Any]]] = {
    "bandwidth-sweep": [
        {"threads": "two"}, {"cpus": [-1]}, {"traffic": "5:1"}, {"min_size": 64}, {"duration": 0},
        {"points_per_octave": 0},
    ],
    "core-to-core-latency": [
        {"methods": []}, {"methods": ["mutex"]}, {"cpus": "3-1"}, {"cpus": [-1]}, {"cpus": [70_000]},
        {"memory_nodes": "remote"}, {"memory_nodes": [5000]}, {"heatmap_vmax": 0}, {"heatmap_vmax": "200 parsecs"},
        {"heatmap_vmax": -5}, {"hist_bins": 0}, {"iterations": 1}, {"time_cap": 0}, {"check_pairs": -1},
        {"all_cpu": True},
    ],
    "cross-numa-bandwidth": [
        {"traffic": "4:1"}, {"data_size": "1K"}, {"iterations": 0}, {"duration": "0s"}, {"width": 8},
    ],
    "idle-latency": [
        {"pages": "3M"}, {"duration": 0}, {"duration": "5"}, {"stride": 40}, {"target_interval": "80 %"}, {"cpu": 1},
        {"data_size": "much"}, {"seed": -1},
    ],
    "latency-sweep": [
        {"pages": "3M"}, {"target_interval": 0.5}, {"target_interval": "80 %"}, {"points_per_octave": 0},
        {"stride": 40}, {"cpu": -1}, {"time_cap": 0}, {"min_size": "1"}, {"min_sizes": 128},
    ],
    "loaded-latency": [
        {"injected_nops": [-1]}, {"injected_nops": "1,x"}, {"injected_nops": [100_001]}, {"touch": 100}, {"width": 48},
        {"traffic": "4:1"}, {"target_bandwidth": ["20"]}, {"phase": "all"}, {"data_size": 64}, {"load_size": 1},
        {"latency_cpu_id": -1}, {"duration": 0}, {"load_cpus": "3-1"},
    ],
    "memory-profile": [
        {"widths": "24"}, {"traffic": []}, {"duration": 0}, {"data_size": 1},
    ],
    "peak-bandwidth": [
        {"traffic": []}, {"traffic": "reads!"}, {"data_size": "100"}, {"iterations": 0}, {"duration": 0},
        {"theoretical_bandwidth": "300"}, {"theoretical_bandwidth": 0}, {"seed": -1},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "settings"), [(name, settings) for name, listed in IMPOSSIBLE.items() for settings in listed]
)
def test_impossible_settings(name: str, settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        BY_NAME[name].params_model(**settings)

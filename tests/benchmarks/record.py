"""Record the testdata of asct's own kernels again: `python -m tests.benchmarks.record [BENCHMARK[/CASE]...]`.

The outputs come from the real kernels on this machine. The measurements are those that the parser returns for these
outputs, and should be reviewed before they are committed. A benchmark without cases below is recorded with its default
settings.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from asct.registry import Registry
from asct.sdk.facts import HostFacts
from asct.sdk.record import Measurement
from asct.sdk.step import Output
from tests.benchmarks.kernels import facts_here, run_all
from tests.benchmarks.test_contract import needed

FOLDER = Path(__file__).parents[2] / "asct" / "benchmarks"
CASES: dict[str, dict[str, dict[str, Any]]] = {
    "latency-sweep": {
        "default": {},
        "base-pages": {"pages": "4k", "points_per_octave": 3, "seed": 7, "cycle_base": True},
        "inside-l1": {"max_size": 32768},
        "sizes": {"sizes": [8192, 16384, 262144], "stride": 128},
    },
    "idle-latency": {
        "default": {},
        "cycles": {"data_size": 67108864, "pages": "4k", "stride": 128, "duration": 0.5, "cycle_base": True},
    },
    "core-to-core-latency": {
        "default": {},
        "cycles": {"methods": ["chain", "cas"], "iterations": 400, "pages": "4k", "cycle_base": True},
    },
    "loaded-latency": {
        "default": {},
        "writes": {
            "traffic": "2:1",
            "width": "16",
            "touch": 128,
            "injected_nops": [200, 0],
            "target_bandwidth": ["4GB/s", "1TB/s"],
            "load_size": 67108864,
            "cycle_base": True,
            "theoretical_bandwidth": "300GB/s",
        },
        "bandwidth": {"phase": "bandwidth", "injected_nops": [100, 0], "load_size": 536870912, "pages": "thp"},
        "workload": {"workload_cmd": "sleep 0.05", "injected_nops": [100, 0], "load_size": 67108864},
    },
    "bandwidth-sweep": {
        "default": {"visits": 2},
        "sizes": {
            "visits": 2,
            "sizes": [4096, 262144],
            "traffic": ["triad", "nt-write"],
            "threads": "all",
            "cycle_base": True,
        },
    },
    "peak-bandwidth": {
        "default": {"visits": 2, "theoretical_bandwidth": 307.2e9},
        "narrow": {
            "visits": 2,
            "data_size": 67108864,
            "traffic": ["all-reads", "1:1"],
            "width": 16,
            "cycle_base": True,
        },
    },
    "cross-numa-bandwidth": {
        "default": {"visits": 2},
        "copy": {"visits": 2, "data_size": 67108864, "traffic": "copy", "pages": "4k"},
    },
    "memory-profile": {
        "default": {"visits": 2, "widths": [16, 32, 64]},
        "small": {"visits": 2, "data_size": 67108864, "cache_sizes": [16384]},
    },
    "noop": {"one": {"index": 3}},
}


def plain(measurement: Measurement) -> dict[str, Any]:
    """Return a measurement as JSON, with `detail` only if it is set."""
    stats = measurement.stats.model_dump(mode="json") if measurement.stats else None
    body = asdict(measurement) | {"stats": stats, "flags": list(measurement.flags)}
    return {key: value for key, value in body.items() if key != "detail" or value}


def document(
    given: tuple[dict[str, Any], dict[str, Any]],
    facts: HostFacts,
    outputs: Sequence[Output],
    measured: Iterable[Measurement],
) -> dict[str, Any]:
    """Return the content of one testdata file. `given` contains the settings and the results of the jobs that the
    benchmark needs."""
    settings, needs = given
    return {
        "settings": settings,
        **({"needs": needs} if needs else {}),
        "facts": facts.model_dump(mode="json", by_alias=True, exclude_defaults=True),
        "outputs": [
            {"step": one.step.name, "status": one.status, "elapsed_ns": one.elapsed_ns, "files": dict(one.files)}
            for one in outputs
        ],
        "measurements": [plain(one) for one in measured],
    }


def main(wanted: list[str]) -> None:
    facts = facts_here()
    others = {name: {"default": dict[str, Any]()} for name in wanted if name in Registry().names()}
    for name, cases in (others | CASES).items():
        benchmark = Registry().get(name)
        assert benchmark is not None
        for case, settings in cases.items():
            if wanted and not {name, case, f"{name}/{case}"} & set(wanted):
                continue
            params = benchmark.params_model(**settings)
            needs = needed(benchmark)
            outputs = run_all(benchmark, params, facts, needs)
            measured = list(benchmark.parse(params, outputs, facts))
            target = FOLDER / name.replace("-", "_") / "testdata" / f"{case}.json"
            target.parent.mkdir(exist_ok=True)
            target.write_text(json.dumps(document((settings, needs), facts, outputs, measured), indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

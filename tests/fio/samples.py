"""The recorded runs of the storage benchmarks, and how to change them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from asct.registry import Registry
from asct.sdk import HostFacts, Measurement, Output, Step, Tool

FOLDER = Path(__file__).parents[2] / "asct" / "benchmarks"
CASES = sorted((path.parts[-3], path.stem) for path in FOLDER.glob("storage_*/testdata/*.json"))


def load(package: str, case: str) -> dict[str, Any]:
    return json.loads((FOLDER / package / "testdata" / f"{case}.json").read_text())


def depth_sample() -> dict[str, Any]:
    """randread, depth 32, 2 jobs, 4 s, io_uring, with mpstat."""
    return load("storage_io_depth_sweep", "depth-32")


def output_of(sample: dict[str, Any], status: int | None = None, **files: str) -> Output:
    """The output of a sample; keyword `fio_json` replaces fio.json, and so on."""
    [one] = sample["outputs"]
    changed = {name.replace("_json", ".json").replace("_log", ".log"): text for name, text in files.items()}
    step = Step(one["step"], Tool("fio"))
    return Output(step, one["status"] if status is None else status, one["files"] | changed)


def parse(sample: dict[str, Any], output: Output, package: str = "storage-io-depth-sweep") -> dict[str, Measurement]:
    """The measurements by metric."""
    benchmark = Registry().get(package)
    assert benchmark is not None
    params = benchmark.params_model(**sample["settings"])
    found = benchmark.parse(params, [output], HostFacts(**sample["facts"]))
    assert len({one.metric for one in found}) == len(found)
    return {one.metric: one for one in found}


def changed(sample: dict[str, Any], change: Callable[[dict[str, Any]], None]) -> str:
    """The fio document of a sample after `change` has altered it."""
    document = json.loads(sample["outputs"][0]["files"]["fio.json"])
    change(document)
    return json.dumps(document)

"""The recorded runs of the storage benchmarks, and functions that change them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from asct.registry import Registry
from asct.sdk.facts import HostFacts
from asct.sdk.record import Measurement
from asct.sdk.step import Kernel, Output, Step
from tests.fio.record import CASES as RECORDED

FOLDER = Path(__file__).parents[2] / "asct" / "benchmarks"
CASES = sorted((name.replace("-", "_"), case) for name, cases in RECORDED.items() for case in cases)


def load(package: str, case: str) -> dict[str, Any]:
    return json.loads((FOLDER / package / "testdata" / f"{case}.json").read_text())


def depth_sample() -> dict[str, Any]:
    """Return the sample with randread, depth 32, 2 jobs and 4.2 s on a loop device, io_uring, and mpstat."""
    return load("storage_io_depth_sweep", "depth-32")


def output_of(sample: dict[str, Any], fio_status: int = 0, **files: str) -> Output:
    """Return the output of a sample. The keyword `fio_json` replaces fio.json, and so on. `fio_status` is the status
    that guard reports."""
    [one] = sample["outputs"]
    changed = {name.replace("_json", ".json").replace("_stdout", ".stdout"): text for name, text in files.items()}
    if fio_status and "stdout" not in changed:
        changed["stdout"] = watched(sample, lambda line: line | {"status": fio_status} if line["t"] == "exit" else line)
    return Output(Step(one["step"], Kernel("guard")), one["status"], one["files"] | changed)


def watched(sample: dict[str, Any], change: Callable[[dict[str, Any]], dict[str, Any]]) -> str:
    """Return the lines of guard after applying `change` to each."""
    lines = sample["outputs"][0]["files"]["stdout"].splitlines()
    return "".join(json.dumps(change(json.loads(line))) + "\n" for line in lines)


def parse(sample: dict[str, Any], output: Output, package: str = "storage-io-depth-sweep") -> dict[str, Measurement]:
    """Return the measurements of the whole point, keyed by metric."""
    benchmark = Registry().get(package)
    assert benchmark is not None
    params = benchmark.params_model(**sample["settings"])
    found = benchmark.parse(params, [output], HostFacts(**sample["facts"]))
    whole = [one for one in found if not one.detail]
    assert len({one.metric for one in whole}) == len(whole)
    return {one.metric: one for one in whole}


def changed(sample: dict[str, Any], change: Callable[[dict[str, Any]], None]) -> str:
    """Return the result of a sample after applying `change`, without the text that fio wrote before it."""
    document = json.loads(sample["outputs"][0]["files"]["fio.json"].splitlines()[-1])
    change(document)
    return json.dumps(document)

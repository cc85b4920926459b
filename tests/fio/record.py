"""Record the testdata of the storage benchmarks again: `python -m tests.fio.record [CASE...]`.

This requires fio, mpstat, O_DIRECT, root, and an otherwise idle machine: tests expect `depth-32` to be a run without
flags, and a busy CPU would cause the flag `host-limited`. The documents are those that fio and mpstat wrote, without
their white space. If `--again` precedes the cases, nothing is run, and the recorded documents are parsed again.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from asct.registry import Registry
from asct.sdk.benchmark import Benchmark
from asct.sdk.facts import HostFacts
from asct.sdk.guard import Consent
from asct.sdk.record import Measurement
from asct.sdk.step import Kernel, Output, Step
from tests.benchmarks.record import document, plain
from tests.disks.loop import loop_device, throttle
from tests.fio.running import facts_here, run_points

FOLDER = Path(__file__).parents[2] / "asct" / "benchmarks"
COMMON = {"filesize": 64 * 2**20, "numjobs": 2}
CASES: dict[str, dict[str, dict[str, Any]]] = {
    "storage-io-depth-sweep": {
        "depth-1": {"iodepth": 1, "duration": 0.5, **COMMON},
        "depth-32": {"iodepth": 32, "duration": 4.2, "numjobs": 2},
    },
    "storage-request-size-sweep": {"size-64k": {"block_size": 65536, "duration": 0.5, **COMMON}},
    "storage-process-count-sweep": {"processes-3": {**COMMON, "numjobs": 3, "duration": 0.5, "latency_bound": 0.001}},
    "storage-access-pattern-sweep": {"pattern-rw": {"rw": "rw", "duration": 0.5, "iodepth": 4, **COMMON}},
    "storage-fio": {
        "randrw": {"rw": "randrw", "duration": 1.0, "iodepth": 4, "block_size": 16384, "numjobs": 2},
        "psync-fallback": {"rw": "write", "duration": 0.5, "iodepth": 4, "block_size": 65536, **COMMON},
    },
}
ENGINES = {"psync-fallback": ["psync"]}
LIMITS = {"depth-32": 600, "randrw": 2000}
"""Requests per second of the loop device on which these cases run. The other cases use the temporary file."""


def compact(name: str, text: str) -> str:
    """Return documents without their white space, one per line. If mpstat ends within its first second, it leaves an
    incomplete document, which remains unchanged."""
    if not name.endswith(".json"):
        return text
    decoder, lines, rest = json.JSONDecoder(), [], text.strip()
    while rest:
        start = 0 if rest[0] == "{" else rest.find("\n{") + 1
        try:
            content, end = decoder.raw_decode(rest, start)
        except ValueError:
            return text
        lines += [*rest[:start].splitlines(), json.dumps(content, separators=(",", ":"))]
        rest = rest[end:].strip()
    return "\n".join(lines) + "\n"


def recorded(benchmark: Benchmark[Any], case: str, settings: dict[str, Any]) -> dict[str, Any]:
    facts = facts_here(ENGINES.get(case, ["io_uring", "libaio", "psync"]))
    consents: dict[str, Consent] = {}
    with tempfile.TemporaryDirectory(dir="/var/tmp") as work, contextlib.ExitStack() as stack:
        if case in LIMITS:
            loop = stack.enter_context(loop_device(Path(work)))
            stack.enter_context(throttle(loop, riops=LIMITS[case], wiops=LIMITS[case]))
            name = str(loop.path)
            settings = settings | {"file_names": name}
            consents[name] = Consent(name, str(loop.backing), overwrite=True)
        [(outputs, measurements)] = run_points(
            benchmark, [benchmark.params_model(**settings)], Path(work), facts, consents
        )
    return document_of(settings, facts, outputs, measurements)


def document_of(
    settings: dict[str, Any], facts: HostFacts, outputs: Sequence[Output], measurements: Sequence[Measurement]
) -> dict[str, Any]:
    """Return what is stored about one run."""
    short = [replace(one, files={name: compact(name, text) for name, text in one.files.items()}) for one in outputs]
    return document((settings, {}), facts, short, measurements)


def read_again(benchmark: Benchmark[Any], document: dict[str, Any]) -> dict[str, Any]:
    """Return the same run with the values that the current parser returns."""
    outputs = [
        Output(Step(one["step"], Kernel("guard")), one["status"], one["files"], one["elapsed_ns"])
        for one in document["outputs"]
    ]
    params, facts = benchmark.params_model(**document["settings"]), HostFacts(**document["facts"])
    return document | {"measurements": [plain(one) for one in benchmark.parse(params, outputs, facts)]}


def main(wanted: list[str]) -> None:
    again = wanted[:1] == ["--again"]
    for benchmark_name, cases in CASES.items():
        benchmark = Registry().get(benchmark_name)
        assert benchmark is not None
        for case, settings in cases.items():
            if wanted[again:] and case not in wanted[again:]:
                continue
            target = FOLDER / benchmark_name.replace("-", "_") / "testdata" / f"{case}.json"
            if again:
                document = read_again(benchmark, json.loads(target.read_text()))
            else:
                document = recorded(benchmark, case, settings)
            target.parent.mkdir(exist_ok=True)
            target.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

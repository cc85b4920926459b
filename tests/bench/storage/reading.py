"""The time needed to read fio's results."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from asct.engine.programs import texts
from asct.instruments.fio.process import CPU_FILE, PROGRAM_FILE, RESULT_FILE
from asct.registry import installed
from asct.sdk.facts import HostFacts
from asct.sdk.step import Output, Step, Tool
from tests.bench.harness import scratch
from tests.bench.storage.subjects import applied, limited, show

FILES = 1000
FETCHED = ("stdout", "stderr", RESULT_FILE, CPU_FILE, PROGRAM_FILE)


def parse() -> None:
    """Parse the files of a thousand points into values: fio's json+ output, guard's lines and mpstat's output."""
    with limited(64, riops=20_000) as (loop, _):
        config = {"file_names": str(loop.path), "rw": "randread", "iodepth": 8, "numjobs": 1, "duration": "1s"}
        run = applied({"uses": "storage-fio", "config": config})
    [repeat] = run.glob("jobs/local/bench/*/r1")
    facts = HostFacts.model_validate_json((run / "facts" / "local.json").read_text())
    benchmark = installed().get("storage-fio")
    assert benchmark is not None
    settings = json.loads((repeat / "status.json").read_text())["command"]["settings"]
    params = benchmark.params_model.model_validate(settings)
    place = scratch()
    folders = [_copy(repeat, place / str(number)) for number in range(FILES)]
    started = time.process_time()
    values = sum(len(benchmark.parse(params, [_output(folder)], facts)) for folder in folders)
    seconds = time.process_time() - started
    size = (repeat / "fio.json").stat().st_size / 1024
    seen = f"{seconds:.2f} s ({size:.0f} KiB each, {values} values)"
    show(f"reading {FILES:,} json+ files", "under 5 s of a processor", seen, seconds < 5)


def _copy(repeat: Path, folder: Path) -> Path:
    folder.mkdir()
    for file in repeat.iterdir():
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    return folder


def _output(folder: Path) -> Output:
    """Return the output of a step, read in the same way as during a run."""
    return Output(Step("point", Tool("fio")), 0, texts(folder, [name for name in FETCHED if (folder / name).exists()]))


ROWS: dict[str, Callable[[], None]] = {"parse": parse}

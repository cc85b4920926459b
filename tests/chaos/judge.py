"""The conditions that must hold after a trial: no records are missing, duplicated or wrong in the results tree, and
nothing remains on the host or on this machine.

Simple code reads the tree, so that errors in asct's own reader are noticed; `asct results verify` runs as well.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from asct.errors import StoreError
from asct.store.reader import read_run
from asct.store.verify import verify
from tests.chaos.scene import Scene, until

Repeat = tuple[str, str, int]
"""Job, point and number of a repeat."""
EXPECTED = Counter(
    [
        *(("quick", f'{{"index": {index}}}', repeat) for index in range(1, 13) for repeat in (1, 2)),
        *(("steady", f'{{"data_size": {size << 10}}}', 1) for size in (4, 8, 16, 32, 64, 128)),
        *(("steps", f'{{"seed": {seed}}}', 1) for seed in (11, 12, 13)),
        *(("disk", f'{{"iodepth": {depth}}}', 1) for depth in (1, 2)),
    ]
)
"""Every repeat of the plan, once."""
METRICS = {"quick": {"elapsed"}, "steady": {"latency", "data_size"}, "steps": {"levels"}, "disk": {"queue_depth"}}
"""The metrics that every repeat must contain."""
LEFT = "ls -d /var/tmp/asct/run-* /var/tmp/asct.lock.* 2>/dev/null; find /home/*/.cache -name '*.part' 2>/dev/null || :"
LOCK_FREE = "if [ ! -e /var/tmp/asct.lock ] || flock -n /var/tmp/asct.lock true; then echo free; fi"
GONE_S = 120.0
"""Seconds to wait for a runner without a connection to end; it stays for 30 s, and a busy machine ends it later."""


def whole_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each readable line of a JSON Lines file, as text and as an object."""
    if path.exists():
        for line in path.read_text(errors="replace").splitlines(keepends=True):
            try:
                body = json.loads(line) if line.endswith("\n") else None
            except ValueError:
                body = None
            if isinstance(body, dict):
                yield line, body


def repeat_of(record: dict[str, Any]) -> Repeat:
    return record["id"], json.dumps(record["point"]), record["repeat"]


def finished(run: Path | None) -> set[str]:
    """Return the record lines of all repeats that are complete according to the journal and the status, and whose
    records all exist. A resume must keep these lines."""
    if run is None:
        return set()
    ended = {
        (body["id"], body["point_id"], body["repeat"])
        for _, body in whole_lines(run / "journal.jsonl")
        if body["t"] == "point-ended" and body["status"] in ("ok", "noisy")
    }
    lines = [(line, body) for line, body in whole_lines(run / "records.jsonl")]
    there = Counter(body["raw"] for _, body in lines)
    return {
        line
        for line, body in lines
        if (body["id"], body["point_id"], body["repeat"]) in ended
        and _status(run / body["raw"]) in {(status, there[body["raw"]]) for status in ("ok", "noisy")}
    }


def _status(folder: Path) -> tuple[str, int]:
    """Return how a repeat ended, and the number of its records."""
    try:
        status = json.loads((folder / "status.json").read_text())
        return str(status["status"]), int(status["records"])
    except (OSError, ValueError, KeyError, TypeError):
        return "", 0


def violations(scene: Scene, kept: set[str], codes: list[int]) -> Iterator[str]:
    """Yield all violations after the last resume. `kept` contains the record lines that existed before it."""
    for number, part in enumerate(scene.parts):
        if part.hung:
            yield f"part {number} hung"
        if "Traceback" in part.said or codes[number] == 70:
            yield f"part {number} ended by a bug, with {codes[number]}"
    if codes[-1] != 0:
        yield f"it is not complete after {len(codes) - 1} resumes: {codes}"
    if scene.run is None:
        yield "there is no run"
    else:
        yield from _tree(scene.run, kept)
    yield from left(scene)


def _tree(run: Path, kept: set[str]) -> Iterator[str]:
    records = [body for _, body in whole_lines(run / "records.jsonl")]
    if gone := kept - {line for line, _ in whole_lines(run / "records.jsonl")}:
        yield f"{len(gone)} records of before were lost: {min(gone)[:300]}"
    once = Counter((*repeat_of(body), body["metric"], json.dumps(body["coords"])) for body in records)
    yield from (f"doubled: {key}" for key, times in once.items() if times > 1)
    there = Counter(set(map(repeat_of, records)))
    yield from (f"lost: {key}" for key in EXPECTED - there)
    yield from (f"not of the plan: {key}" for key in there - EXPECTED)
    for key in there:
        mine = {body["metric"]: body for body in records if repeat_of(body) == key}
        if not METRICS[key[0]] <= mine.keys():
            yield f"lost in part: {key} has {sorted(mine)}"
            continue
        try:
            wrong = _wrong(run, key, mine)
        except (OSError, ValueError, LookupError) as error:
            wrong = f"its raw files cannot be read: {error}"
        if wrong:
            yield f"wrong: {key}: {wrong}"
    try:
        yield from (f"verify: {finding.code} {finding.message}" for finding in verify(read_run(run)))
    except StoreError as error:
        yield f"verify: {error.diagnostics[0].message}"
    yield from (f"left in the tree: {path}" for path in run.rglob("*") if path.suffix == ".tmp")


def _wrong(run: Path, key: Repeat, mine: dict[str, dict[str, Any]]) -> str:
    """Return the values of a repeat, or the output of its programs, that do not match its point; empty if everything
    matches."""
    job, point, _ = key
    ((_, asked),) = json.loads(point).items()
    folder = run / next(iter(mine.values()))["raw"]
    said = [body for _, body in whole_lines(folder / "stdout")]
    if not said or said[-1].get("t") != "end" or said[-1].get("ok") is not True:
        return "its raw output is not whole"
    if job == "quick":
        steps = json.loads((folder / "status.json").read_text())["steps"]
        told = sum(step["elapsed_ns"] for step in steps) / 1e9
        value, bound = mine["elapsed"]["value"], "at-most" in mine["elapsed"]["flags"]
        return "" if value == told or (bound and told < value) else f"took {told}"
    if job == "steady":
        told = (mine["data_size"]["value"], said[0]["options"]["sizes"])
        return "" if told == (asked, [asked]) else f"measured {told}"
    if job == "steps":
        return "" if said[0]["seed"] == asked else f"has the seed {said[0]['seed']}"
    fio, _ = json.JSONDecoder().raw_decode((folder / "fio.json").read_text())
    told = (mine["queue_depth"]["value"], fio["jobs"][0]["job options"]["iodepth"])
    return "" if told == (asked, str(asked)) else f"has the depths {told}"


def left(scene: Scene) -> Iterator[str]:
    """Yield what remains on the host: processes, files and the lock."""
    if not until(lambda: not scene.running(), GONE_S):
        yield f"processes left on the host: {scene.running()}"
    found = scene.sh(LEFT).split()
    if found:
        yield f"files left on the host: {found}"
    if "free" not in scene.sh(LOCK_FREE):
        yield "the lock of the host is held"

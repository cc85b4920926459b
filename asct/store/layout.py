"""All paths in a results tree. No other module builds these paths.

    results/<plan name>/<run id>/      latest -> newest
        run.json  plan.yaml  plan.resolved.json  journal.jsonl  records.jsonl
        facts/<host>.json  facts/<host>/  disturbances/<host>.json
        jobs/<host>/<id>/audit.json  jobs/<host>/<id>/audit/<number>-<occasion>/
        jobs/<host>/<id>/prepare/  jobs/<host>/<id>/<point>/r<k>/
        build/<host>/
        report.html  summary.md  junit.xml  .reports  asct.log  SHA256SUMS

The files of a repeat's first step are in r<k>/, and those of each further step are in r<k>/<number>-<step>/. Warm-ups
are in w1/, w2/, ... Earlier attempts at a repeat are in r<k>.try1/, r<k>.try2/, ... The writer locks `.lock`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from asct.values.error import clip

RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}(-\d+)?")
LONGEST_NAME: Final = 128
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+:\[\]-]*")


def run_id(started: datetime, plan_hash: str) -> str:
    """Return the id of a run: its start time in UTC and the first six digits of the plan hash
    (`20261121T042813Z-3f9c2a`)."""
    return f"{started:%Y%m%dT%H%M%SZ}-{plan_hash[:6]}"


def safe_name(name: str) -> str:
    """Return `name` if it is safe as a file or folder name; otherwise raise ValueError."""
    if not _SAFE.fullmatch(name) or ".." in name or len(name) > LONGEST_NAME:
        rule = f"use at most {LONGEST_NAME} letters, digits and . _ @ + : -, and no `..`"
        raise ValueError(f"`{clip(name)}` is not valid as a folder name: {rule}")
    return name


PointKey = tuple[str, str, str]
"""Identifies a point in a run: host, job id, point id."""
RepeatKey = tuple[str, str, str, int]
"""(host, job id, point id, repeat)."""


def repeat_key(body: Mapping[str, Any]) -> RepeatKey:
    """Return the key of the repeat to which an event or a record belongs."""
    return body["host"], body["id"], body["point_id"], body["repeat"]


class RunLayout:
    """The paths below a run folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.run = root / "run.json"
        self.plan = root / "plan.yaml"
        self.resolved = root / "plan.resolved.json"
        self.journal = root / "journal.jsonl"
        self.records = root / "records.jsonl"
        self.log = root / "asct.log"
        self.lock = root / ".lock"
        self.reserve = root / ".reserve"
        """A file that reserves disk space, so that a run can still record its end after filling the disk."""
        self.markdown = root / "summary.md"
        self.reports = root / ".reports"
        """Contains the checksums of all reports that asct has written to the folder (see asct.store.ownership)."""
        self.sums = root / "SHA256SUMS"
        """Contains the checksums of a completed run (see asct.store.checksums)."""

    def facts(self, host: str) -> Path:
        return self.root / "facts" / f"{safe_name(host)}.json"

    def facts_raw(self, host: str) -> Path:
        return self.root / "facts" / safe_name(host)

    def disturbances(self, host: str) -> Path:
        return self.root / "disturbances" / f"{safe_name(host)}.json"

    def build(self, host: str) -> Path:
        return self.root / "build" / safe_name(host)

    def job(self, host: str, job_id: str) -> Path:
        return _job(self.root, host, job_id)

    def prepare(self, host: str, job_id: str) -> Path:
        return self.job(host, job_id) / "prepare"

    def audit(self, host: str, job_id: str) -> Path:
        return self.job(host, job_id) / "audit.json"

    def look(self, host: str, job_id: str, number: int, occasion: str) -> Path:
        """Return the folder for the output of inspection `number` (from 1) of a job's targets."""
        return self.job(host, job_id) / "audit" / f"{number}-{safe_name(occasion)}"

    def repeat(self, host: str, job_id: str, point_id: str, repeat: int) -> Path:
        """Return the folder of a repeat. Repeats 1, 2, ... are stored in r1, r2, ..., and the warm-ups 0, -1, ... in
        w1, w2, ..."""
        name = f"r{repeat}" if repeat > 0 else f"w{1 - repeat}"
        return self.job(host, job_id) / safe_name(point_id) / name

    def command(self, repeat: Path) -> Path:
        """Return the path at which older asct versions recorded the command lines."""
        return repeat / "command.json"

    def status(self, repeat: Path) -> Path:
        return repeat / "status.json"

    def telemetry(self, repeat: Path) -> Path:
        """Return the path at which older asct versions recorded the host state."""
        return repeat / "telemetry.json"

    def steps(self, repeat: Path) -> Path:
        """Return the path of the file that records the finished steps of a long repeat."""
        return repeat / "steps.jsonl"

    def step(self, repeat: Path, number: int, name: str) -> Path:
        """Return the folder of step `number` (from 0) of a repeat or of `prepare`."""
        return repeat if number == 0 else repeat / f"{number + 1}-{safe_name(name)}"

    def attempt(self, repeat: Path, number: int) -> Path:
        """Return the folder to which the files of attempt `number` (from 1) are moved if the repeat is retried."""
        return repeat.with_name(f"{repeat.name}.try{number}")

    def relative(self, path: Path) -> str:
        """Return `path` in the form used in documents: relative to the run folder, with forward slashes."""
        text, root = str(path), str(self.root)
        return text[len(root) + 1 :] if text.startswith(f"{root}/") else path.relative_to(self.root).as_posix()


@lru_cache(maxsize=256)
def _job(root: Path, host: str, job_id: str) -> Path:
    return root / "jobs" / safe_name(host) / safe_name(job_id)

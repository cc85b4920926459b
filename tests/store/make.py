"""Documents for tests of the store."""

from __future__ import annotations

from typing import Any

from asct.sdk.facts import HostFacts
from asct.sdk.record import Record
from asct.store.model import Run
from tests import records


def head(**fields: Any) -> Run:
    """Return run.json as it is at the start of a run."""
    body: dict[str, Any] = {
        "run": "20261121T042813Z-3f9c2a",
        "plan": "gate",
        "plan_hash": "3f9c2a" + "0" * 58,
        "plan_file": "gate.yaml",
        "tool_version": "1.0",
        "started_at": "2026-11-21T04:28:13.000Z",
    }
    return Run(**{**body, **fields})


def record(**fields: Any) -> Record:
    """Return one line of records.jsonl."""
    body: dict[str, Any] = {
        "run": "20261121T042813Z-3f9c2a", "plan": "gate", "id": "a", "point": {"block_size": 4096, "sizes": [1, 2]},
        "coords": {"level": "DRAM"}, "value": 1e-7, "raw": "jobs/h/a/p1/r1",
    }  # fmt: skip
    return records.record(**{**body, **fields})


def facts(host: str = "h") -> HostFacts:
    """Return the facts of a host that reported little."""
    return HostFacts(host=host, collected_at="2026-11-21T04:28:13Z")

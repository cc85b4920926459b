"""Accepted changes: `accepted.jsonl` next to the runs of a plan, one line per `asct results accept`.

After an acceptance, the accepted run provides the baseline for a metric. Lines are never changed or removed, so that
the file also shows who accepted which change, when, and why.
"""

from __future__ import annotations

import fcntl
import getpass
import os
from contextlib import closing, suppress
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from asct.store.documents import current, parse_object, read_text, validated
from asct.store.files import LineFile, writing
from asct.values.timestamp import stamp

NAME = "accepted.jsonl"


class Acceptance(BaseModel):
    """One line of accepted.jsonl. `metric` is `<id>.<metric>`, or a pattern (`matrix.*`); `run` is a run id."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, frozen=True, defer_build=True)

    schema_: Literal["asct.accepted/1"] = Field("asct.accepted/1", alias="schema")
    at: str
    by: str
    run: str
    metric: str
    because: str

    def covers(self, job_id: str, metric: str) -> bool:
        """Return whether the acceptance applies to a metric of a benchmark entry."""
        return fnmatchcase(f"{job_id}.{metric}", self.metric)


def acceptance(run: str, metric: str, because: str) -> Acceptance:
    """Return an acceptance by the current user at the current time."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # the account has no name, as in some containers
        user = str(os.getuid())
    return Acceptance(at=stamp(datetime.now(UTC)), by=user, run=run, metric=metric, because=because)


def read_acceptances(folder: Path) -> list[Acceptance]:
    """Return the acceptances in a plan's results folder, oldest first, or an empty list if there are none.

    Raises StoreError if the file is damaged, because otherwise an earlier baseline would silently apply again.
    """
    path = folder / NAME
    if not path.exists():
        return []
    places = ((line, f"{path}:{number}") for number, line in enumerate(read_text(path).splitlines(), start=1))
    return [
        validated(Acceptance, current(parse_object(line, place), "accepted", place), place) for line, place in places
    ]


def accept(folder: Path, acceptance: Acceptance) -> None:
    """Append an acceptance to the file in a plan's results folder. Raises StoreError if it cannot be written.

    One process writes to the file at a time, because opening a LineFile may remove a line that another process is
    still writing.
    """
    path = folder / NAME
    with writing(path):
        stream = path.open("ab")
    with stream:
        with suppress(OSError):  # the file system does not support locks
            fcntl.flock(stream, fcntl.LOCK_EX)
        with closing(LineFile(path)) as file:
            file.append(acceptance.model_dump_json(by_alias=True) + "\n", sync=True)

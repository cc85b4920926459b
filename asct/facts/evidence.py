"""Explain why facts are unknown in a dump. A file that is missing from the dump may exist on the machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from asct.facts.snapshot import Snapshot
from asct.facts.sources import EVIDENCE

ABSENT = "the snapshot does not contain it"


def reasons_of_dump(snapshot: Snapshot, reasons: Mapping[str, str]) -> dict[str, str]:
    """Return all reasons, after replacing those that apply only because the dump lacks the files."""

    @cache
    def has(source: str) -> bool:
        if not source.startswith("/"):
            return source in snapshot.commands
        return any(source in path for path in snapshot.files)

    def reason(field: str, text: str) -> str:
        sources = next((sources for pattern, sources in EVIDENCE.items() if re.fullmatch(pattern, field)), None)
        return text if sources is None or any(map(has, sources)) else ABSENT

    return {field: reason(field, text) for field, text in reasons.items()}

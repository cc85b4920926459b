"""Resource limits of the account."""

from __future__ import annotations

import re

from asct.facts.gaps import Gaps
from asct.facts.snapshot import Snapshot

_NAMES = {"Max locked memory": "memlock", "Max open files": "nofile", "Max processes": "nproc"}
_LINE = re.compile(r"(Max [a-z ]+?) {2,}(\d{1,20}|unlimited) +(?:\d{1,20}|unlimited)\b.*", re.ASCII)


def limits(found: Snapshot, gaps: Gaps) -> dict[str, int | None]:
    """The soft limits of /proc/self/limits (proc(5), getrlimit(2)): `memlock` in bytes, `nofile`, `nproc`; None is
    unlimited. They are those of a session that a transport opens; a login of another kind may have its own."""
    made: dict[str, int | None] = {}
    for line in (found.text("/proc/self/limits") or "").split("\n"):
        match = _LINE.fullmatch(line.strip())
        if match and match[1] in _NAMES:
            made[_NAMES[match[1]]] = None if match[2] == "unlimited" else int(match[2])
    for name in _NAMES.values():
        if name not in made:
            gaps.note(f"limits.{name}", "/proc/self/limits does not say it")
    return dict(sorted(made.items()))

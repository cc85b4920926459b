"""Lists of CPUs and other integers in the notation of taskset and numactl: `0-3,8`, or with a stride `5-9:2` (5, 7,
9)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from asct.values.error import BadValueError, clip

MAX_CPU: Final = 65_535
MAX_ITEMS: Final = 100_000

_PART: Final = re.compile(r"\s*([0-9]{1,18})(?:\s*-\s*([0-9]{1,18})(?::([0-9]{1,18}))?)?\s*", re.ASCII)
_HINT: Final = "write numbers and ranges: `0-3,8` or `0-62:2`"


def parse_integers(text: str) -> list[int]:
    """Return the numbers in text such as `3000,900,5-9:2`, in their original order. The result is empty for empty text
    and contains at most 100,000 numbers.

    Raises BadValueError (a ValueError) for any other text, a reversed range or a stride of 0.
    """
    numbers: list[int] = []
    if not text.strip():
        return numbers
    for part in text.split(","):
        found = _PART.fullmatch(part)
        if found is None:
            raise BadValueError(f"`{clip(part)}` is not a number or a range", _HINT)
        numbers.extend(_range(part, *(int(group) if group else None for group in found.groups())))
        if len(numbers) > MAX_ITEMS:
            raise BadValueError(f"`{clip(text)}` has more than {MAX_ITEMS} numbers", "use a shorter list")
    return numbers


def _range(part: str, first: int | None, last: int | None, step: int | None) -> range:
    start = first or 0
    end = start if last is None else last
    if end < start:
        raise BadValueError(f"range `{clip(part)}` is reversed", f"write `{end}-{start}`")
    if step == 0:
        raise BadValueError(f"range `{clip(part)}` has a stride of 0", "write a stride of 1 or more")
    stride = step or 1
    if (end - start) // stride >= MAX_ITEMS:
        raise BadValueError(f"range `{clip(part)}` has more than {MAX_ITEMS} numbers", "use a shorter range")
    return range(start, end + 1, stride)


def parse_cpulist(text: str) -> list[int]:
    """Return the CPU numbers in text such as `0-3,8`, sorted and without duplicates. The result is empty for empty
    text, as for a memory-only NUMA node.

    Raises BadValueError (a ValueError) for any other text, and for a CPU number above 65,535.
    """
    cpus = sorted(set(parse_integers(text)))
    if cpus and cpus[-1] > MAX_CPU:
        raise BadValueError(f"CPU {cpus[-1]} in `{clip(text)}` does not exist", f"the maximum is {MAX_CPU}")
    return cpus


def format_cpulist(cpus: Iterable[int]) -> str:
    """Format CPU numbers, which may be in any order, as the Linux kernel does: `0-3,8`. The text is empty if there are
    none."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1][1:] = [cpu]
        else:
            runs.append([cpu])
    return ",".join("-".join(map(str, run)) for run in runs)

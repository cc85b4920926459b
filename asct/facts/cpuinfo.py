"""/proc/cpuinfo: what the kernel prints of each CPU, in the manner of each architecture (show_cpuinfo in arch/*)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from asct.facts.gaps import fields
from asct.values.cpulist import MAX_CPU

_START = re.compile(r"^(?:processor|cpu number)[ \t]*:[ \t]*([0-9]{1,5})[ \t]*$", re.MULTILINE)
_S390 = re.compile(r"^processor ([0-9]{1,5}):(.*)$", re.MULTILINE)
_EQUALS = re.compile(r"(\w+) *= *([0-9A-Fa-f]+)")


@dataclass(frozen=True, slots=True)
class CpuInfo:
    """`common` has the first value of each name of the whole file, `own` those that a CPU's block has; `once` those of
    names that no two CPUs have: old Arm kernels and s390 print once what is the same for all."""

    common: Mapping[str, str] = field(default_factory=dict)
    once: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[int, Mapping[str, str]] = field(default_factory=dict)

    def of(self, cpu: int) -> Mapping[str, str]:
        """What holds for a CPU."""
        return {**self.once, **self.own.get(cpu, {})}


def cpuinfo(text: str | None) -> CpuInfo:
    """The blocks of the file; a line of s390 (`processor 0: version = FF, machine = 3906`) counts as fields."""
    whole = text or ""
    own: dict[int, dict[str, str]] = {}
    for match in _S390.finditer(whole):
        own.setdefault(int(match[1]), {}).update(_EQUALS.findall(match[2]))
    shared = next(iter(own.values()), {})
    starts = list(_START.finditer(whole))
    for match, after in zip(starts, [*starts[1:], None], strict=False):
        block = whole[match.start() : after.start() if after else len(whole)]
        if int(match[1]) <= MAX_CPU:
            own.setdefault(int(match[1]), {}).update(fields(block))
    common = {**fields(whole), **shared}
    counts = Counter(name for block in own.values() for name in block)
    return CpuInfo(common, {name: text for name, text in common.items() if counts[name] <= 1}, own)

"""Whether a host can do what a job asks: pure checks of the needs of its points against the host's facts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from asct.diagnostics.model import Diagnostic
from asct.disturbances.tools import PACKAGES
from asct.instruments.memory.topology import usable_cpus
from asct.sdk.facts import HostFacts
from asct.sdk.needs import Needs, Privilege
from asct.values.cpulist import format_cpulist

RESERVE_BYTES = 512 << 20
"""Free space that a scratch file leaves on the host."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A diagnostic; `refused` for those that protect data (exit code 4)."""

    diagnostic: Diagnostic
    refused: bool = False


@dataclass(slots=True)
class Demand:
    """The needs of the points of a job taken together: what must be there for any of them."""

    kernels: dict[str, None] = field(default_factory=dict)
    tools: dict[str, str] = field(default_factory=dict)
    optional_tools: dict[str, None] = field(default_factory=dict)
    scratch: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    targets: dict[str, bool] = field(default_factory=dict)
    """Path to whether a point writes it without leave to overwrite; False also for those that are only read."""
    writes: dict[str, int] = field(default_factory=dict)
    purges: dict[str, None] = field(default_factory=dict)
    rights: dict[Privilege, None] = field(default_factory=dict)

    @property
    def written(self) -> tuple[str, ...]:
        """Named targets that a point writes or purges."""
        return tuple(dict.fromkeys((*self.writes, *self.purges)))

    @classmethod
    def of(cls, needs: Iterable[Needs]) -> Demand:
        """Largest version of each tool, every scratch file and target."""
        demand = cls()
        for one in needs:
            demand._add(one)
        return demand

    def _add(self, one: Needs) -> None:
        self.kernels.update(dict.fromkeys(one.kernels))
        self.optional_tools.update(dict.fromkeys(one.optional_tools))
        for name, version in one.tools:
            if version_key(version) >= version_key(self.tools.get(name, "")):
                self.tools[name] = version
        self.seconds += one.seconds
        self.rights.update(dict.fromkeys(one.rights))
        if one.scratch is not None:
            self.scratch[one.scratch.name] = max(self.scratch.get(one.scratch.name, 0), one.scratch.bytes)
        for path, count in one.writes_bytes:
            if path:
                self.writes[path] = self.writes.get(path, 0) + count
        self.purges.update(dict.fromkeys(one.purges))
        written = {path for path, _ in one.writes_bytes if path} | set(one.purges)
        for path in {*one.targets, *written}:
            careful = path in written and not one.may_overwrite
            self.targets[path] = self.targets.get(path, False) or careful


def version_key(text: str) -> tuple[int, ...]:
    """The first dotted number of `text` ("fio-3.33" gives (3, 33)); empty when there is none."""
    match = re.search(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def check(demand: Demand, facts: HostFacts, found: Mapping[str, str], host: str) -> list[Finding]:
    """Everything of `demand` that `facts` say the host lacks. `found` maps tools the facts do not list to a path."""
    findings = [_tool(name, version, facts, found, host) for name, version in demand.tools.items()]
    findings.append(_scratch(demand, facts, host))
    return [Finding(item) for item in findings if item is not None]


def _tool(name: str, minimum: str, facts: HostFacts, found: Mapping[str, str], host: str) -> Diagnostic | None:
    fact = facts.tools.get(name)
    install = f"run on {host}: apt-get install {PACKAGES.get(name, name)}"
    if fact is None:
        if name in found:
            return None
        return Diagnostic("E420", f"host {host}: {name} is not installed", hint=install)
    have = version_key(fact.version or "")
    if minimum and have and have < version_key(minimum):
        message = f"host {host}: {name} {fact.version} is too old, {minimum} is needed ({fact.path})"
        return Diagnostic("E421", message, hint=f"install {name} {minimum} or newer on {host}")
    return None


def unfit(need: Needs, facts: HostFacts, what: str) -> Diagnostic | None:
    """Why the host has no room for a point, though it may have for others of its job; `what` begins the message."""
    return _cpus(need, facts, what) or _memory(need, facts, what)


def _cpus(need: Needs, facts: HostFacts, what: str) -> Diagnostic | None:
    usable = usable_cpus(facts)
    if not usable or need.cpus <= len(usable):
        return None
    message = f"{what}: {need.cpus} CPUs are needed, {len(usable)} can be used (CPU {format_cpulist(usable)})"
    return Diagnostic("E427", message, hint="widen the affinity mask or the cpuset of the account, or leave this out")


def _memory(need: Needs, facts: HostFacts, what: str) -> Diagnostic | None:
    available = facts.memory.available_bytes
    if available is None or need.memory_bytes <= available:
        return None
    message = f"{what}: {mib(need.memory_bytes)} of memory are needed, {mib(available)} are available"
    return Diagnostic("E422", message, hint="lower its size, or free memory on the host")


def _scratch(demand: Demand, facts: HostFacts, host: str) -> Diagnostic | None:
    wanted, free = sum(demand.scratch.values()), facts.work_free_bytes
    if free is None or not wanted or wanted + RESERVE_BYTES <= free:
        return None
    message = (
        f"host {host}: a scratch file of {mib(wanted)} and a reserve of {mib(RESERVE_BYTES)} do not fit: "
        f"{mib(free)} are free where the work folder is"
    )
    return Diagnostic("E423", message, hint="lower `filesize`, or give the host another `workdir`")


def mib(number: int) -> str:
    """Bytes as whole MiB, rounded up, or GiB from 10 GiB on."""
    if number >= 10 << 30:
        return f"{number / (1 << 30):.1f} GiB"
    return f"{-(-number // (1 << 20))} MiB"

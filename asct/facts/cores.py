"""The topology of each CPU: core, cluster, die, socket and node.

Source: Linux, Documentation/admin-guide/cputopology.rst. If sysfs has no topology, /proc/cpuinfo is used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field

from asct.facts.cpusets import FileTexts, Set, agreed, cpus_of, differ, numbered
from asct.facts.snapshot import Snapshot
from asct.facts.sources import CPU, NODE
from asct.facts.unknown import UnknownFacts, fields, whole
from asct.values.cpulist import MAX_CPU, format_cpulist

_START = re.compile(r"^(?:processor|cpu number)[ \t]*:[ \t]*([0-9]{1,5})[ \t]*$", re.MULTILINE)
_S390 = re.compile(r"^processor ([0-9]{1,5}):(.*)$", re.MULTILINE)
_EQUALS = re.compile(r"(\w+) *= *([0-9A-Fa-f]+)")


@dataclass(frozen=True, slots=True)
class CpuInfo:
    """The fields of /proc/cpuinfo. `own` contains the fields of each CPU, and `common` the first value of each field.

    `once` contains the fields that occur in only one block. They apply to all CPUs, because Linux kernels on s390, and
    old ones on Arm, print shared values only once.
    """

    common: Mapping[str, str] = field(default_factory=dict)
    once: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[int, Mapping[str, str]] = field(default_factory=dict)

    def of(self, cpu: int) -> Mapping[str, str]:
        return {**self.once, **self.own.get(cpu, {})}


def cpuinfo(text: str | None) -> CpuInfo:
    """Parse the blocks in /proc/cpuinfo, and the lines that s390 prints (`processor 0: version = FF, machine =
    3906`)."""
    printed = text or ""
    own: dict[int, dict[str, str]] = {}
    for match in _S390.finditer(printed):
        own.setdefault(int(match[1]), {}).update(_EQUALS.findall(match[2]))
    shared = next(iter(own.values()), {})
    starts = list(_START.finditer(printed))
    for match, after in zip(starts, [*starts[1:], None], strict=False):
        block = printed[match.start() : after.start() if after else len(printed)]
        if int(match[1]) <= MAX_CPU:
            own.setdefault(int(match[1]), {}).update(fields(block))
    common = {**fields(printed), **shared}
    counts = Counter(name for block in own.values() for name in block)
    return CpuInfo(common, {name: text for name, text in common.items() if counts[name] <= 1}, own)


_CORE = (
    ("topology/core_cpus_list", "topology/core_cpus"),
    ("topology/thread_siblings_list", "topology/thread_siblings"),
)
_PACKAGE = (
    ("topology/package_cpus_list", "topology/package_cpus"),
    ("topology/core_siblings_list", "topology/core_siblings"),
)
_NODE_FILE = rf"{NODE}/node([0-9]{{1,5}})/(cpu\w+)"
MIDR = "regs/identification/midr_el1"
"""The file that identifies an Arm core (Documentation/arch/arm64/cpu-feature-registers.rst)."""
# If the firmware reports no ID, the Linux kernel prints -1 as a signed or unsigned number, or BAD_APICID (x86).
_NO_ID = (0xFFFF, 0xFFFF_FFFF)


@dataclass(frozen=True, slots=True)
class CpuTopology:
    """The core, cluster, die, socket and node numbers of each CPU. Each mapping omits CPUs whose number is unknown."""

    core: Mapping[int, int]
    cluster: Mapping[int, int]
    die: Mapping[int, int]
    socket: Mapping[int, int]
    node: Mapping[int, int]
    threads_per_core: int | None


@dataclass(frozen=True, slots=True)
class Cpus:
    """The raw data of the online CPUs: the files in their folders and their blocks in /proc/cpuinfo."""

    online: list[int]
    texts: Mapping[int, FileTexts]
    info: CpuInfo
    gaps: UnknownFacts = field(default_factory=UnknownFacts)

    def of(self, cpu: int) -> FileTexts:
        """Return the files in the folder of a CPU, keyed by name."""
        return self.texts.get(cpu, {})

    def number(self, cpu: int, name: str) -> int | None:
        """Return a topology ID, or None if it is missing."""
        found = whole(self.of(cpu).get(f"topology/{name}"))
        return None if found in _NO_ID else found

    def sets(self, files: Collection[tuple[str, str]]) -> dict[int, Set]:
        """Return the sets of siblings reported by the online CPUs, excluding offline CPUs."""
        up = frozenset(self.online)
        claims = {cpu: (cpus_of(self.of(cpu), *files) or frozenset()) & up for cpu in self.online}
        self._compare(claims, files)
        return agreed({cpu: claim for cpu, claim in claims.items() if cpu in claim})

    def _compare(self, claims: Mapping[int, Set], files: Collection[tuple[str, str]]) -> None:
        """Report two kinds of contradictions: sets of CPUs that not all of their members report, and lists that differ
        from their masks."""
        wrong = [cpu for cpu, claim in claims.items() if any(claims[one] != claim for one in claim)]
        if wrong:
            name = next(name for names in files for name in names if name in self.of(wrong[0]))
            text = f"{name} of CPUs {format_cpulist(wrong)} contradicts the lists reported by the CPUs that it contains"
            self.gaps.contradiction(f"{text}; asct uses the value that most CPUs report")
        unlike = {cpu: name for cpu in self.online if (name := differ(self.of(cpu), *files))}
        for name in dict.fromkeys(unlike.values()):
            cpus = format_cpulist(cpu for cpu, one in unlike.items() if one == name)
            self.gaps.contradiction(f"{name} of CPUs {cpus} contradicts the corresponding mask; asct uses the list")


def places(snapshot: Snapshot, cpus: Cpus, shared: Collection[Set], gaps: UnknownFacts) -> CpuTopology:
    """Return the topology of the online CPUs.

    `shared` contains the CPUs that share each cache, which helps to distinguish Arm clusters from sockets.
    """
    packages = _packages(cpus)
    arm = "CPU implementer" in cpus.info.common or any(MIDR in cpus.of(cpu) for cpu in cpus.online)
    merged = _merged(packages, shared) if arm else packages
    sockets = numbered(merged)
    dies = numbered({cpu: _below(sockets.get(cpu), cpus.number(cpu, "die_id")) for cpu in cpus.online})
    clusters = numbered({cpu: _below(sockets.get(cpu), cpus.number(cpu, "cluster_id")) for cpu in cpus.online})
    if merged != packages and not clusters:
        clusters = numbered(packages)
    cores = numbered(_cores(cpus, sockets))
    for name, known in (("sockets", sockets), ("cores", cores), ("threads_per_core", cores)):
        gaps.known(f"cpu.{name}", known, f"reported by neither {CPU} nor /proc/cpuinfo")
    for name, known in (("dies", dies), ("clusters", clusters)):
        gaps.known(f"cpu.{name}", known, f"not reported by {CPU}")
    threads = max(Counter(cores.values()).values(), default=None)
    return CpuTopology(cores, clusters, dies, sockets, nodes_of(snapshot), threads)


def _below(above: int | None, number: int | None) -> Hashable | None:
    """Return a globally unique key for a part whose number is unique only within its parent."""
    return None if number is None else (above, number)


def _packages(cpus: Cpus) -> dict[int, Hashable]:
    """Return a key for the package of each CPU.

    The package number takes precedence, because some Linux kernels report too few siblings if a package has several
    nodes. On s390, numbers are repeated in each book (arch/s390/kernel/topology.c), so siblings take precedence there.
    """
    siblings = cpus.sets(_PACKAGE)
    keys: dict[int, Hashable] = {}
    for cpu in cpus.online:
        number = cpus.number(cpu, "physical_package_id")
        books = "topology/book_id" in cpus.of(cpu) or "topology/book_siblings" in cpus.of(cpu)
        if cpu in siblings and (books or number is None):
            keys[cpu] = siblings[cpu]
        elif number is not None:
            keys[cpu] = number
        elif (printed := _printed(cpus, cpu, "physical id", "package")) is not None:
            keys[cpu] = ("cpuinfo", printed)
    members = {key: frozenset(cpu for cpu, one in keys.items() if one == key) for key in set(keys.values())}
    contradictory = [cpu for cpu in siblings if cpu in keys and siblings[cpu] not in (keys[cpu], members[keys[cpu]])]
    if contradictory:
        cpus.gaps.contradiction(
            f"the package numbers of CPUs {format_cpulist(contradictory)} contradict {_PACKAGE[1][1]}; "
            "asct uses the package numbers"
        )
    return keys


def _printed(cpus: Cpus, cpu: int, *names: str) -> int | None:
    """Return the value of the first field in `names` that a CPU's block in /proc/cpuinfo contains as a number."""
    block = cpus.info.own.get(cpu, {})
    return next((number for name in names if (number := whole(block.get(name))) is not None), None)


def _merged(packages: Mapping[int, Hashable], shared: Collection[Set]) -> dict[int, Hashable]:
    """Merge packages that share a cache, because different sockets never share one.

    Before Linux 6.0, the packages of Arm machines with a device tree were actually clusters (commit "arch_topology:
    Don't set cluster identifier as physical package identifier").
    """
    merged = dict(packages)
    for cpus in shared:
        keys = {merged[cpu] for cpu in cpus if cpu in merged}
        if len(keys) > 1:
            first = merged[min(cpu for cpu in cpus if cpu in merged)]
            merged = {cpu: first if key in keys else key for cpu, key in merged.items()}
    return merged


def _cores(cpus: Cpus, sockets: Mapping[int, int]) -> dict[int, Hashable]:
    """Return a key for the core of each CPU. The key is the set of CPUs on the core, or the core's number within its
    cluster and socket."""
    siblings = cpus.sets(_CORE)
    keys: dict[int, Hashable] = {}
    for cpu in cpus.online:
        number = cpus.number(cpu, "core_id")
        if cpu in siblings:
            keys[cpu] = siblings[cpu]
        elif number is not None:
            keys[cpu] = (sockets.get(cpu), cpus.number(cpu, "cluster_id"), number)
        elif (printed := _printed(cpus, cpu, "core id", "core")) is not None:
            keys[cpu] = ("cpuinfo", sockets.get(cpu), printed)
    return keys


def nodes_of(snapshot: Snapshot) -> dict[int, int]:
    """Return the node of each CPU. If several nodes list a CPU, the first one is used."""
    texts: dict[int, dict[str, str]] = {}
    for match, text in snapshot.matching(_NODE_FILE):
        texts.setdefault(int(match[1]), {})[match[2]] = text
    nodes: dict[int, int] = {}
    for node, files in sorted(texts.items()):
        for cpu in cpus_of(files, ("cpulist", "cpumap")) or ():
            nodes.setdefault(cpu, node)
    return nodes

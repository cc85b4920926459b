"""Compare asct's facts about a machine with the output of lscpu, which is run on a folder or stored next to a dump."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from asct.facts.cpu import Processors
from asct.sdk.facts import HostFacts, LogicalCpu, NumaNode
from asct.values.cpulist import parse_cpulist

_SIZES = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "B": 1}
_CACHE = re.compile(r"([\d.]+) (KiB|MiB|GiB|B) \((\d+) instances?\)")
_TYPES = {"d": "Data", "i": "Instruction", "": "Unified"}


@dataclass
class Answer:
    """The output of lscpu. `summary` contains the lines in order, because they are repeated for each kind of core;
    `rows` contains, for each CPU, the columns of `lscpu -p`; `caches` maps (level, type) to (total bytes, number)."""

    summary: list[tuple[str, str]]
    rows: dict[int, dict[str, str]] = field(default_factory=dict)
    caches: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)

    def of(self, name: str) -> list[str]:
        """Return the values of the lines with this name."""
        return [value for key, value in self.summary if key == name]

    def product(self, *names: str) -> int:
        """Return cores per socket times sockets per book times books, summed over all kinds of cores: the total number
        in the machine."""
        values = [[int(one) for one in self.of(name)] for name in names if self.of(name)]
        total = 0
        for factors in zip(*values, strict=True):
            product = 1
            for factor in factors:
                product *= factor
            total += product
        return total


def summary(text: str) -> list[tuple[str, str]]:
    """Parse lines of the form `Name: value`."""
    parted = [line.partition(":") for line in text.split("\n") if not line.startswith("#")]
    return [(name.strip(), value.strip()) for name, colon, value in parted if colon]


def rows(text: str) -> dict[int, dict[str, str]]:
    """Parse the first table of `lscpu -p` in the text. If there are two, the first one contains logical numbers, and
    the second one physical numbers."""
    found: dict[int, dict[str, str]] = {}
    names: list[str] = []
    for line in text.split("\n"):
        if line.startswith("# CPU,"):
            if found:
                break
            names = line.removeprefix("# ").split(",")
        elif names and re.match(r"\d+,", line):
            values = dict(zip(names, line.split(","), strict=False))
            found[int(values["CPU"])] = {name: value for name, value in values.items() if name}
    return found


def kept(path: Path) -> Answer:
    """Read output that is stored in a file: the summary, followed by the tables of `-p`."""
    text = path.read_text()
    answer = Answer(summary(text.partition("\n# ")[0]), rows(text))
    for name, value in answer.summary:
        if match := re.fullmatch(r"L(\d)([di]?) cache", name):
            size = _CACHE.fullmatch(value)
            assert size is not None
            answer.caches[int(match[1]), _TYPES[match[2]]] = (round(float(size[1]) * _SIZES[size[2]]), int(size[3]))
    return answer


def run(root: Path) -> Answer:
    """Run the lscpu of this machine on a folder that contains /proc and /sys."""
    answer = Answer(summary(_said(root)), rows(_said(root, "-p")))
    for line in _said(root, "-B", "-C=NAME,LEVEL,TYPE,ALL-SIZE").split("\n")[1:]:
        words = line.split()
        if len(words) == 4:
            count = len({row[words[0]] for row in answer.rows.values() if row.get(words[0])})
            answer.caches[int(words[1]), words[2]] = (int(words[3]), count)
    return answer


def _said(root: Path, *options: str) -> str:
    words = ["lscpu", "--sysroot", str(root), *options]
    return subprocess.run(words, capture_output=True, text=True, check=True, env={"LC_ALL": "C"}).stdout


def compare(found: Processors, nodes: list[NumaNode], answer: Answer) -> None:
    """Compare everything that both report: CPUs, threads, cores, sockets, nodes, caches, and the location of each
    CPU."""
    cpu = found.cpu
    assert cpu.cpus == int(answer.of("CPU(s)")[0])
    assert cpu.online == parse_cpulist(answer.of("On-line CPU(s) list")[0])
    if off := answer.of("Off-line CPU(s) list"):
        assert cpu.offline == parse_cpulist(off[0])
    assert cpu.threads_per_core == max(int(one) for one in answer.of("Thread(s) per core"))
    per_socket = "Socket(s)" if answer.of("Socket(s)") else "Socket(s) per book"
    above = (per_socket, "Book(s)", "Book(s) per drawer", "Drawer(s)")
    if len(cpu.kinds) == 1:
        assert cpu.sockets == answer.product(*above)
        # lscpu rounds down where sockets differ; the rows below tell the cores one by one
        assert (cpu.cores or 0) // (cpu.sockets or 1) == int(answer.of("Core(s) per socket")[0])
    else:
        assert cpu.cores == answer.product("Core(s) per socket", *above)
    assert len(nodes) == int((answer.of("NUMA node(s)") or ["0"])[0])
    for node in nodes:
        assert node.cpus == parse_cpulist((answer.of(f"NUMA node{node.id} CPU(s)") or [""])[0])
    compare_caches(found, answer)
    compare_rows(found, answer)


def compare_rest(facts: HostFacts, answer: Answer) -> None:
    """Compare the other values of lscpu. Its BogoMIPS are those of the first CPU."""
    for line, said in (
        ("BogoMIPS", facts.cpu.bogomips and f"{facts.cpu.bogomips:.2f}"),
        ("Byte Order", facts.system.byte_order and f"{facts.system.byte_order.title()} Endian"),
        ("Address sizes", facts.cpu.physical_address_bits
            and f"{facts.cpu.physical_address_bits} bits physical, {facts.cpu.virtual_address_bits} bits virtual"),
        ("Architecture", facts.system.arch),
    ):  # fmt: skip
        assert set(answer.of(line)) <= {said}, (line, said)


def compare_caches(found: Processors, answer: Answer) -> None:
    """Compare the sizes and numbers of caches. lscpu combines all caches of one level and type."""
    counts: dict[tuple[int, str], tuple[int, int]] = {}
    for level in found.cache_levels:
        if level.size_bytes:
            size, count = counts.get((level.level, level.type), (0, 0))
            more = len(level.instances)
            counts[level.level, level.type] = (size + level.size_bytes * more, count + more)
    for key, (size, count) in answer.caches.items():
        assert counts[key] == (pytest.approx(size, rel=0.04), count)  # a kept answer is rounded
    assert {key for key, (_, count) in counts.items() if count} == set(answer.caches)


def compare_rows(found: Processors, answer: Answer) -> None:
    """Check that the same CPUs share a core, a socket, a node and a cache. The numbers in lscpu's output start again
    for each kind of core."""
    logical = {one.cpu: one for one in found.cpu.logical}
    assert set(answer.rows) <= set(logical)
    kinds = {cpu: one.kind for cpu, one in logical.items()}
    rows = answer.rows.items()
    assert together({cpu: (kinds[cpu], row["Socket"], row["Core"]) for cpu, row in rows}) == together(
        {cpu: (kinds[cpu], logical[cpu].core) for cpu in answer.rows}
    )
    assert together({cpu: row["Socket"] for cpu, row in rows}) == together(
        {cpu: logical[cpu].socket for cpu in answer.rows}
    )
    for cpu, row in rows:
        assert row["Node"] == ("" if (node := logical[cpu].node) is None else str(node))
    caches = {name for row in answer.rows.values() for name in row if re.fullmatch(r"L\d[di]?", name)}
    for name in caches:
        theirs = together({cpu: row[name] for cpu, row in rows if row.get(name)})
        level, kind = int(name[1]), _TYPES[name[2:]]
        ours = [one for at in found.cache_levels if (at.level, at.type) == (level, kind) for one in at.instances]
        assert theirs == {frozenset(one) for one in ours}


def together(keys: Mapping[int, Hashable]) -> set[frozenset[int]]:
    """Return the sets of CPUs that have the same key, whatever the key is."""
    groups: dict[Hashable, set[int]] = {}
    for cpu, key in keys.items():
        groups.setdefault(key, set()).add(cpu)
    return {frozenset(group) for group in groups.values()}


def members(logical: Iterable[LogicalCpu], name: str) -> set[frozenset[int]]:
    """Return the sets of CPUs that share a core, a cluster, a die, a socket or a node."""
    return together({one.cpu: getattr(one, name) for one in logical})

"""Synthetic /proc and /sys trees of machines that are not available, in the format of their Linux kernels."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from asct.facts.snapshot import Snapshot
from asct.facts.sources import CPU, NODE
from asct.values.cpulist import format_cpulist

Share = Callable[["Made"], Hashable | None]


@dataclass(frozen=True)
class Made:
    """A CPU with the numbers that its Linux kernel prints. `core` is unique in the machine, whereas `core_id` need not
    be."""

    cpu: int
    core: int
    socket: int = 0
    core_id: int | None = None
    die: int = 0
    cluster: int | None = None
    node: int = 0
    book: int | None = None
    drawer: int | None = None
    online: bool = True
    kind: int = 0


@dataclass(frozen=True)
class Cached:
    """A level of caches. `share` returns a value that the CPUs of one cache have in common, or None for a CPU without
    such a cache."""

    level: int
    type: str
    size: str
    share: Share
    line: int = 64
    ways: int = 8


def mask(cpus: Iterable[int], width: int) -> str:
    """Format a CPU mask as the Linux kernel does: words of 32 bits, highest first."""
    digits = f"{sum(1 << cpu for cpu in set(cpus)):0{(width + 31) // 32 * 8}x}"
    return ",".join(digits[at : at + 8] for at in range(0, len(digits), 8))


def tree(
    cpus: Sequence[Made], caches: Sequence[Cached] = (), cpuinfo: str = "", *, masks_only: bool = False,
    ids: bool = True, bare_nodes: Sequence[int] = (), possible: int | None = None,
) -> dict[str, str]:  # fmt: skip
    """Return the files of a tree. Without `ids`, the firmware reports no package numbers. `masks_only` produces the
    files of a Linux kernel that predates lists."""
    up = [one for one in cpus if one.online]
    width = possible or max(one.cpu for one in cpus) + 1
    files = {
        f"{CPU}/online": format_cpulist(one.cpu for one in up),
        f"{CPU}/present": format_cpulist(one.cpu for one in cpus),
        f"{CPU}/possible": f"0-{width - 1}",
        f"{CPU}/offline": format_cpulist(one.cpu for one in cpus if not one.online),
        "/proc/cpuinfo": cpuinfo,
    }

    def shared(name: str, of: Made, key: Share) -> dict[str, str]:
        members = [one.cpu for one in up if key(one) == key(of)]
        suffix = "" if name.endswith("_map") else "_list"
        listed = name.removesuffix("_map") + "_list" if name.endswith("_map") else name + suffix
        return {name: mask(members, width)} | ({} if masks_only else {listed: format_cpulist(members)})

    for one in cpus:
        files[f"{CPU}/cpu{one.cpu}/online"] = str(int(one.online))
    for one in up:
        top = {
            "core_id": str(one.core if one.core_id is None else one.core_id),
            "physical_package_id": str(one.socket if ids else -1),
            **shared("thread_siblings", one, lambda it: it.core),
            **shared("core_siblings", one, lambda it: (it.drawer, it.book, it.socket)),
        }
        if not masks_only:
            top |= {"die_id": str(one.die), **shared("core_cpus", one, lambda it: it.core)}
            top |= shared("package_cpus", one, lambda it: (it.drawer, it.book, it.socket))
        if one.cluster is not None:
            top |= {"cluster_id": str(one.cluster), **shared("cluster_cpus", one, lambda it: (it.socket, it.cluster))}
        if one.book is not None:
            top |= {"book_id": str(one.book), **shared("book_siblings", one, lambda it: (it.drawer, it.book))}
        if one.drawer is not None:
            top |= {"drawer_id": str(one.drawer), **shared("drawer_siblings", one, lambda it: it.drawer)}
        files |= {f"{CPU}/cpu{one.cpu}/topology/{name}": text for name, text in top.items()}
        own = [cache for cache in caches if cache.share(one) is not None]
        for index, cache in enumerate(own):
            values = {
                "level": str(cache.level), "type": cache.type, "size": cache.size,
                "coherency_line_size": str(cache.line), "ways_of_associativity": str(cache.ways),
                **shared("shared_cpu_map", one, cache.share),
            }  # fmt: skip
            files |= {f"{CPU}/cpu{one.cpu}/cache/index{index}/{name}": text for name, text in values.items()}
    for node in sorted({one.node for one in cpus} | set(bare_nodes)):
        members = [one.cpu for one in up if one.node == node]
        files |= {
            f"{NODE}/node{node}/cpumap": mask(members, width),
            f"{NODE}/node{node}/cpulist": format_cpulist(members),
        }
    return files


def snapshot(files: dict[str, str]) -> Snapshot:
    """Return the files as a snapshot, like a loader."""
    return Snapshot({path: text.rstrip() for path, text in files.items()})


def written(files: dict[str, str], root: Path) -> Path:
    """Write the files below a folder, for programs that read such a tree."""
    for path, text in files.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{text}\n")
    return root


def blocks(cpus: Sequence[Made], fields: Mapping[str, str | Callable[[Made], str]]) -> str:
    """Return the content of /proc/cpuinfo: a block for each online CPU, with these fields after the number."""
    texts = []
    for one in cpus:
        if one.online:
            values = {name: value if isinstance(value, str) else value(one) for name, value in fields.items()}
            lines = [f"processor\t: {one.cpu}", *(f"{name}\t: {value}" for name, value in values.items())]
            texts.append("\n".join(lines) + "\n")
    return "\n".join(texts)

"""The facts in the system-info output of Arm's ASCT, keyed by the labels that `machine_facts` uses.

A fact that ASCT formats differently has its own label, so that it is compared only with facts from ASCT.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from asct.analysis.grid import plain, size_text
from asct.analysis.machine.rows import TextRow, firmware_text, listed, phrase, yes

_RELEASE: Final = re.compile(r"/(?:lib/modules/|boot/config-)([^/]+)")
_POOL: Final = re.compile(r"([0-9]{1,9})kB: ([0-9]{1,9})")
_LONGEST: Final = 500
_LARGEST: Final = 10**18
_MODES: Final = ("always", "madvise", "never")


class _Info:
    """The content of system-info. Values that are missing or have an unexpected type are treated as unknown."""

    def __init__(self, content: object) -> None:
        self._content = content

    def get(self, path: str) -> object:
        """Return the value at a path such as `kern_cfg.ver`, or None if there is none."""
        found = self._content
        for part in path.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return found

    def text(self, path: str) -> str:
        """Return the text or number at a path as text, or an empty string if there is neither."""
        found = self.get(path)
        known = isinstance(found, str | int | float) and not isinstance(found, bool)
        return str(found).strip()[:_LONGEST] if known else ""

    def number(self, path: str) -> float | None:
        """Return the number at a path, or None if there is none."""
        return _plausible(self.get(path))


def node_count(content: object) -> int | None:
    """Return the number of NUMA nodes, or None if it is unknown."""
    found = _Info(content).number("sys_hw.n_numa_nodes")
    return None if found is None else int(found)


def _plausible(value: object) -> float | None:
    """Return a nonnegative number below 1e18, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value < _LARGEST else None


def arm_facts(content: object) -> dict[str, str]:
    """Return a mapping from labels to facts as text, in the order of `machine_facts`. Unknown facts are left out."""
    info = _Info(content)
    rows = (*_machine(info), *_memory(info), *_software(info))
    return {plain(label): plain(text) for label, text in rows if text}


def _machine(info: _Info) -> Iterable[TextRow]:
    yield "Machine", _joined(info, "sys_info.manufacturer", "sys_info.product_name", "sys_info.version")
    yield "CPU types", info.text("sys_hw.cpu_type")
    yield "Firmware", firmware_text(*(info.text(f"bios_info.{key}") for key in ("vendor", "version", "release_date")))
    yield "CPUs", info.text("sys_hw.n_cpus")
    yield "Sockets", info.text("sys_hw.sockets")


def _memory(info: _Info) -> Iterable[TextRow]:
    sizes = info.get("sys_hw.cache_size_dict")
    caches = sorted(sizes.items()) if isinstance(sizes, Mapping) else []
    yield "Caches", ", ".join(f"{name} {size_text(size)}" for name, size in caches if _plausible(size) is not None)
    total = info.number("memory.total_size")
    yield "Memory", "" if total is None else f"{total / 2**30:.0f} GiB"
    yield "Memory type", _joined(info, "memory.type_str", "memory.manufacturer", "memory.part_number")
    yield "Memory speed", phrase("{} MT/s", info.text("memory.speed"))
    yield "Memory modules found", info.text("memory.n_channels")
    yield "NUMA nodes", info.text("sys_hw.n_numa_nodes")
    pools = _POOL.findall(info.text("kern_cfg.huge_pages"))
    yield "Huge pages", ", ".join(f"{number} x {size_text(1024 * int(size))}" for size, number in pools)
    mode = info.text("kern_cfg.thp")
    yield "Transparent huge pages", mode if mode in _MODES else ""  # ASCT reports an unknown mode as `disabled`


def _software(info: _Info) -> Iterable[TextRow]:
    yield "System", info.text("kern_cfg.distro")
    arch = info.text("sys_hw.arch")
    release = _RELEASE.match(info.text("kern_cfg.build_dir")) or _RELEASE.match(info.text("kern_cfg.cfg_file"))
    yield "Linux kernel", _kernel(release[1], arch) if release else ""
    yield "Linux kernel version", "" if release else info.text("kern_cfg.ver")
    yield "Architecture", arch
    mitigations = info.get("vulnerabilities")
    for name, state in sorted(mitigations.items()) if isinstance(mitigations, Mapping) else ():
        yield f"Mitigation {name}", state if isinstance(state, str) else ""
    yield "C library", info.text("kern_cfg.libc_ver")
    root = info.get("report.run_as_root")
    yield "Run as root", yes(root if isinstance(root, bool) else None)


def _kernel(release: str, arch: str) -> str:
    """Return the release and the machine name as uname(1) prints them. On Arm, ASCT reports the architecture version
    instead of the machine name: `ARMv9.0` stands for `aarch64`."""
    return f"{release} {'aarch64' if arch.startswith('ARMv') else arch}".strip()


def _joined(info: _Info, *paths: str) -> str:
    return listed(*(info.text(path) for path in paths), by=" ")

"""Derive the output of an exchange's commands on another machine from a dump of that machine's files.

On a live host, commands provide the targets of links, the contents of binary files, and the Linux kernel's command
line, whose secrets are masked before it leaves the host.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from asct.facts.filetree import FileTree, Path_, paths, resolve, texts
from asct.facts.kernel import masked
from asct.facts.pci import class_name
from asct.facts.snapshot import CommandOutput
from asct.facts.sources import CPU

_PLACES = ("/sys/class/nvme/nvme*", "/sys/class/hwmon/hwmon*", "/sys/block/*", "/sys/class/net/*")
_OF_PCI = ("numa_node", "current_link_speed", "current_link_width", "max_link_speed", "max_link_width", "uevent")
_NAMES = ("drm/card[0-9]*", "infiniband/*")
_MOST = 2048
_MEMORY_TYPES = (16, 17)
_LAST_TYPE = 127
_MOST_MODULES = 1024
_VERSION = re.compile(r"Linux version (\S+) [^#]*(#.*)?", re.DOTALL)
_UNAME = (
    "/proc/sys/kernel/arch",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/version",
    "/proc/version",
)
_UDEV = re.compile(r"E:ID_(?:BUS|MODEL_ENC|REVISION|SERIAL_SHORT)=.*")
_RELEASES = re.compile(r"[.-](x86_64|amd64|aarch64|arm64|ppc64le|s390x|riscv64|loongarch64|i686|686)(?:[-+.]|$)")
_DEBIAN = {"amd64": "x86_64", "arm64": "aarch64", "686": "i686"}
_ARCHITECTURES = (
    (r"^flags[ \t]*:.* lm( |$)", "x86_64"), (r"^flags[ \t]*:", "i686"), (r"^Features[ \t]*: fp asimd( |$)", "aarch64"),
    (r"^CPU architecture[ \t]*: 7$", "armv7l"), (r"^isa[ \t]*: rv64", "riscv64"), (r"^isa[ \t]*: rv32", "riscv32"),
    (r"^ISA[ \t]*:.*loongarch64", "loongarch64"), (r"^vendor_id[ \t]*: IBM/S390", "s390x"),
)  # fmt: skip
"""Patterns for lines in /proc/cpuinfo, each with the machine name that `uname -m` prints for such a CPU. The first
match applies."""


def emulated(tree: FileTree, omitted: dict[str, int]) -> dict[str, CommandOutput]:
    """Return the output of the commands that asct would run, if it can be derived from the files in a dump. `omitted`
    counts omitted items."""
    found = {
        "devices": "\n".join(_devices(tree, omitted)),
        "pci": "\n".join(_functions(tree, omitted)),
        "command-line": masked(text_of(tree, "/proc/cmdline")),
        "uname": _uname(tree),
        "memory-devices": "\n".join(_memory_devices(tree)),
        "udev": "\n".join(_udev(tree)),
        "device-tree": "\n".join(_device_tree(tree)),
    }
    return {name: CommandOutput(0, text) for name, text in found.items() if text.strip()}


def text_of(tree: FileTree, path: str) -> str:
    """Return the content of a file, or an empty string if it is missing."""
    return next(iter(texts(tree, [tuple(path.strip("/").split("/"))]).values()), "")


def _uname(tree: FileTree) -> str:
    """Return the lines of `uname -m; uname -n; uname -r; uname -v`.

    The file that contains the first line has existed only since Linux 6.1. On older Linux kernels, the release often
    ends with the architecture (Fedora, Debian). Otherwise, the architecture of the CPUs is used, which is wrong only
    for a 32-bit Linux kernel.
    """
    arch, host, release, version, line = (text_of(tree, path) for path in _UNAME)
    match = _VERSION.match(line)
    if match:
        release, version = release or match[1], version or (match[2] or "")
    if not arch and (match := _RELEASES.search(release)):
        arch = _DEBIAN.get(match[1], match[1])
    return "\n".join((arch or _architecture(tree), host, release, version))


def _architecture(tree: FileTree) -> str:
    printed = text_of(tree, "/proc/cpuinfo")
    found = (arch for pattern, arch in _ARCHITECTURES if re.search(pattern, printed, re.MULTILINE))
    arm = "aarch64" if resolve(tree, (*CPU.strip("/").split("/"), "cpu0", "regs", "identification")) else ""
    return next(found, arm)


def _memory_devices(tree: FileTree) -> Iterator[str]:
    """Yield the SMBIOS structures of types 16 and 17 in hexadecimal, from the whole table or from one file per
    structure (Linux, Documentation/ABI/testing: sysfs-firmware-dmi-tables, sysfs-firmware-dmi-entries)."""
    found = list(_structures(_data(tree, ("sys", "firmware", "dmi", "tables", "DMI"))))
    if not found:
        each = [path for kind in _MEMORY_TYPES for path in paths(tree, f"/sys/firmware/dmi/entries/{kind}-*/raw")]
        found = [_data(tree, path) for path in sorted(each, key=lambda path: (len(path[-2]), path[-2]))]
    yield from (raw.hex() for raw in found[:_MOST_MODULES] if raw)


def _structures(table: bytes) -> Iterator[bytes]:
    """Yield the memory structures in a table. A structure contains its type, length, handle and fields, followed by
    strings that end with two zero bytes (DSP0134, 6.1)."""
    at = 0
    while at + 4 <= len(table) and table[at + 1] >= 4 and table[at] != _LAST_TYPE:
        end = table.find(b"\0\0", at + table[at + 1])
        end = len(table) if end < 0 else end + 2
        if table[at] in _MEMORY_TYPES:
            yield table[at:end]
        at = end


def _data(tree: FileTree, path: Path_) -> bytes:
    real = resolve(tree, path)
    return (tree.read(real) if real else None) or b""


def _udev(tree: FileTree) -> Iterator[str]:
    for path, text in texts(tree, paths(tree, "/run/udev/data/b[0-9]*")).items():
        yield from (f"{path}:{line}" for line in text.split("\n") if _UDEV.fullmatch(line))


def _device_tree(tree: FileTree) -> Iterator[str]:
    """Yield `name=value` for the text properties of the device tree's root, with spaces instead of zero bytes."""
    for top in ("/proc/device-tree", "/sys/firmware/devicetree/base"):
        for name in ("model", "compatible", "serial-number"):
            if text := text_of(tree, f"{top}/{name}"):
                yield f"{name}={text.replace(chr(0), ' ')}"


def _devices(tree: FileTree, omitted: dict[str, int]) -> Iterator[str]:
    """Yield the lines that the command `devices` would print."""
    every = [path for pattern in _PLACES for path in paths(tree, pattern)]
    found = [path for path in every if resolve(tree, (*path, "device"))]
    if len(found) > _MOST:
        omitted["block_devices.node"] = len(found) - _MOST
    for at in found[:_MOST]:
        real = resolve(tree, at)
        if real is not None:
            yield "|".join([_absolute(at), _absolute(real), *_queues(tree, at), *_pci(tree, real)])


def _functions(tree: FileTree, omitted: dict[str, int]) -> Iterator[str]:
    """Yield the lines that the command `pci` would print."""
    found = [path for path in paths(tree, "/sys/bus/pci/devices/*") if class_name(_line(tree, (*path, "class"))[2:])]
    if len(found) > _MOST:
        omitted["pci"] = len(found) - _MOST
    for at in found[:_MOST]:
        if real := resolve(tree, at):
            values = [_line(tree, (*real, name)) for name in ("class", "vendor", "device", *_OF_PCI)]
            own = [path[-1] for pattern in _NAMES for path in paths(tree, pattern, real)]
            physical = resolve(tree, (*real, "physfn")) or ("",)
            yield "|".join([_absolute(real), *values, " ".join(own), physical[-1]])


def _line(tree: FileTree, path: Path_) -> str:
    return next(iter(texts(tree, [path]).values()), "").partition("\n")[0]


def _queues(tree: FileTree, at: Path_) -> tuple[str, str]:
    if at[:2] == ("sys", "block"):
        return str(len(list(paths(tree, "mq/*", at)))), ""
    if at[:3] == ("sys", "class", "net"):
        first, second = (str(len(list(paths(tree, f"queues/{way}-*", at)))) for way in ("rx", "tx"))
        return first, second
    return "", ""


def _pci(tree: FileTree, real: Path_) -> list[str]:
    """Return the properties of the nearest folder in the path that contains a PCI configuration space."""
    while real and tree.entry((*real, "config")) is None:
        real = real[:-1]
    if not real:
        return []
    return [_line(tree, (*real, name)) for name in _OF_PCI]


def _absolute(path: Path_) -> str:
    return "/" + "/".join(path)

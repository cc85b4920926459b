"""Small libraries that replace those to which fio is linked for storage that no guest has: Ceph, Gluster, RDMA, ...

With these libraries, an emulated processor starts fio in a quarter of the time, and a guest with drives has to unpack
only a quarter of the data.
"""

from __future__ import annotations

from pathlib import Path

from tests.machines.commands import ran

NAMES = frozenset(
    {
        *("librados.so.2", "librbd.so.1", "libgfapi.so.0", "libnbd.so.0", "libibverbs.so.1", "librdmacm.so.1"),
        *("libpmemblk.so.1", "libpmem.so.1"),
    }
)
COMPILERS = {"x86_64": "gcc", "aarch64": "aarch64-linux-gnu-gcc"}


def make(library: Path, program: Path, arch: str, target: Path) -> None:
    """Create a library with the functions of `library` that `program` uses, in the same versions. A call ends the
    program. Raises ImageError."""
    wanted = {name for name, _, defined in _symbols(program) if not defined}
    versions: dict[str, list[str]] = {}
    for name, version, defined in _symbols(library):
        if defined and name in wanted:
            versions.setdefault(version, []).append(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    source, script = target.with_name(f"{target.name}.c"), target.with_name(f"{target.name}.map")
    names = sorted(name for group in versions.values() for name in group)
    source.write_text("".join(f"void {name}(void) {{ __builtin_trap(); }}\n" for name in names))
    groups = (f"{version} {{ {' '.join(f'{name};' for name in group)} }};\n" for version, group in versions.items())
    script.write_text("".join(groups))
    options = [f"-Wl,-soname,{library.name}", *([f"-Wl,--version-script={script}"] if any(versions) else [])]
    command = [COMPILERS[arch], "-shared", "-fPIC", "-nostdlib", "-w", *options, str(source), "-o", str(target)]
    ran(command)
    source.unlink()
    script.unlink()


def _symbols(file: Path) -> list[tuple[str, str, bool]]:
    """Return the dynamic symbols: the name, the version, and whether the symbol is defined in the file. A symbol with
    several versions has the default one."""
    found: dict[str, tuple[str, str, bool]] = {}
    for line in ran(["readelf", "--dyn-syms", "--wide", str(file)]).splitlines():
        columns = line.split()
        if len(columns) < 8 or not columns[0].rstrip(":").isdigit():
            continue
        name, _, version = columns[7].partition("@")
        if name not in found or version.startswith("@"):
            found[name] = name, version.removeprefix("@"), columns[6] != "UND"
    return list(found.values())

"""The images that the guests boot: a Debian kernel, and an initial file system with the programs and modules of a
recipe.

`python -m tests.machines.image` creates the images of all recipes (`.ci/setup test` runs this command). The packages
for any architecture come from the apt sources of this machine, but with a separate package state: nothing is installed,
and root is not required. The version of the Linux kernel is the one on which Debian's meta package depends.
"""

from __future__ import annotations

import fcntl
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.machines import commands, stand_ins
from tests.machines.commands import ImageError, ran
from tests.machines.recipes import RECIPES, Recipe

FOLDERS = (
    "dev",
    "proc",
    "sys",
    "sbin",
    "usr/bin",
    "usr/sbin",
    "etc/ssh",
    "root",
    "home/bench",
    "run/sshd",
    "var/tmp",
    "tmp",
)


@dataclass(frozen=True)
class Image:
    """A Linux kernel, and the parts of the initial file system that all guests of a recipe share (cpio archives): one
    part for all guests, and one for those with drives."""

    kernel: Path
    base: Path
    drives: Path


def cache_folder() -> Path:
    """Return $XDG_CACHE_HOME/asct-guests, or ~/.cache/asct-guests if the variable is not set. This is not asct's own
    cache, which is private."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if given.startswith("/") else Path.home() / ".cache") / "asct-guests"


def image(recipe: Recipe) -> Image:
    """Return the image of a recipe, which is created if it does not exist. Raises ImageError."""
    code = b"".join(Path(one).read_bytes() for one in (__file__, commands.__file__, stand_ins.__file__))
    made_by = hashlib.sha256(code + repr(recipe).encode()).hexdigest()[:16]
    folder = cache_folder() / f"{recipe.name}-{made_by}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f".{recipe.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(prefix=f".{recipe.name}-", dir=folder.parent) as name:
                made = Path(name) / "made"
                make(recipe, Path(name), made)
                made.rename(folder)
    return Image(folder / "kernel", folder / "base.cpio", folder / "drives.cpio")


def make(recipe: Recipe, scratch: Path, target: Path) -> None:
    """Fetch and unpack the packages, select files, and pack them into `target`."""
    apt = Apt(recipe.debian_arch, scratch / "apt")
    unpacked = scratch / "unpacked"
    for package in apt.fetch(recipe):
        ran(["dpkg", "-x", str(package), str(unpacked)])
    root = scratch / "root"
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True)
    for program in recipe.programs:
        add_program(unpacked, program, root, recipe.arch)
    add_modules(unpacked, recipe.modules, root)
    for program in recipe.drive_programs:
        add_program(unpacked, program, scratch / "drives", recipe.arch)
    target.mkdir()
    shutil.copy(only(unpacked, "boot/vmlinuz-*"), target / "kernel")
    pack(root, target / "base.cpio")
    pack(scratch / "drives", target / "drives.cpio")


class Apt:
    """apt-get with its own state in `folder`, in which nothing is installed, for one Debian architecture."""

    def __init__(self, debian_arch: str, folder: Path) -> None:
        self._folder = folder
        for place in ("state/lists/partial", "cache/archives/partial"):
            (folder / place).mkdir(parents=True)
        (folder / "status").touch()
        settings = {
            "Dir::State": folder / "state",
            "Dir::State::status": folder / "status",
            "Dir::Cache": folder / "cache",
            "APT::Architecture": debian_arch,
            "APT::Architectures": debian_arch,
            "APT::Sandbox::User": "",
            "Debug::NoLocking": 1,
        }
        self._options = ["-qq", *(word for name, value in settings.items() for word in ("-o", f"{name}={value}"))]

    def fetch(self, recipe: Recipe) -> list[Path]:
        """Return the files of the Linux kernel and of the packages, including all dependencies."""
        ran(["apt-get", *self._options, "update"])
        wanted = ["install", "-y", "--no-install-recommends", "--download-only", *recipe.packages]
        ran(["apt-get", *self._options, *wanted])
        archives = self._folder / "cache" / "archives"
        ran(["apt-get", *self._options, "download", self._kernel(recipe.kernel)], archives)
        return sorted(archives.glob("*.deb"))

    def _kernel(self, meta: str) -> str:
        found = re.search(r"Depends: (linux-image-\S+)", ran(["apt-cache", *self._options, "depends", meta]))
        if not found:
            raise ImageError(f"{meta} depends on no kernel")
        return found.group(1)


def add_program(unpacked: Path, program: str, root: Path, arch: str) -> None:
    """Add a program with the loader and the libraries that it needs directly or indirectly. A program that is a link to
    another one (mkfs.ext4) is also a link in the image."""
    source = (unpacked / program).resolve(strict=True)
    copy = root / source.relative_to(unpacked.resolve())
    add_file(source, copy)
    if not (root / program).exists():
        (root / program).parent.mkdir(parents=True, exist_ok=True)
        (root / program).symlink_to(f"/{copy.relative_to(root)}")
    pending = [copy]
    while pending:
        text = ran(["readelf", "-dlW", str(pending.pop())])
        for loader in re.findall(r"interpreter: /(\S+)\]", text):
            add_file(named(unpacked, Path(loader).name), root / loader)
        for name in re.findall(r"\(NEEDED\).*\[(.+)\]", text):
            if name in stand_ins.NAMES:
                stand_ins.make(named(unpacked, name), copy, arch, root / "lib" / name)
            elif not (root / "lib" / name).exists():
                add_file(named(unpacked, name), root / "lib" / name)
                pending.append(root / "lib" / name)


def add_file(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def add_modules(unpacked: Path, modules: Sequence[str], root: Path) -> None:
    """Add kernel modules, each after the modules that it depends on. `modules/order` contains their files and
    parameters in loading order."""
    order: dict[str, str] = {}

    def visit(name: str, *parameters: str) -> None:
        found = files_by_name(unpacked).get(f"{name}.ko") or files_by_name(unpacked).get(f"{name}.ko.xz")
        if name in order or found is None:  # no file: built into this kernel
            return
        data = found.read_bytes()
        data = lzma.decompress(data) if found.suffix == ".xz" else data
        needs = re.search(rb"\0depends=([^\0]*)\0", data)
        for other in needs.group(1).decode().split(",") if needs else ():
            visit(other)
        order[name] = " ".join((f"{name}.ko", *parameters))
        (root / "modules" / f"{name}.ko").write_bytes(data)

    (root / "modules").mkdir()
    for module in modules:
        visit(*module.split())
    (root / "modules" / "order").write_text("".join(line + "\n" for line in order.values()))


def pack(root: Path, archive: Path) -> None:
    """Pack a folder in the format that the Linux kernel reads (cpio, `newc`). Several concatenated archives form one
    file system."""
    names = [".", *sorted(str(path.relative_to(root)) for path in root.rglob("*"))]
    with archive.open("wb") as out:
        done = subprocess.run(
            ["busybox", "cpio", "-o", "-H", "newc"], input="\n".join(names).encode() + b"\n", cwd=root, stdout=out,
            stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
        out.write(bytes(-out.tell() % 512))
    if done.returncode != 0:
        raise ImageError(f"cpio failed: {done.stderr.decode()}")


def only(root: Path, pattern: str) -> Path:
    """Return the first file that matches the pattern."""
    for path in sorted(root.glob(pattern)):
        if path.is_file():
            return path
    raise ImageError(f"no {pattern} in the packages")


@cache
def files_by_name(root: Path) -> dict[str, Path]:
    """Return every file below a folder, keyed by the last component of its path."""
    return {name: Path(folder) / name for folder, _, names in os.walk(root) for name in names}


def named(root: Path, name: str) -> Path:
    """Return the file with this name."""
    if name not in files_by_name(root):
        raise ImageError(f"no {name} in the packages")
    return files_by_name(root)[name]


def main() -> int:
    """Create missing images, and remove those of older recipes."""
    try:
        kept = {image(recipe).kernel.parent.name for recipe in RECIPES}
    except ImageError as problem:
        print(f"the guests of tests/machines cannot be made: {problem}", file=sys.stderr)
        return 1
    for folder in cache_folder().glob("*-*"):
        if folder.name not in kept and not folder.name.startswith("."):
            shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

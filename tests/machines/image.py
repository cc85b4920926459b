"""What the guests boot: a Debian kernel, and an initial file system with busybox and sshd.

`python -m tests.machines.image` makes those of both architectures (`.ci/setup test` does). The packages come from the
sources of this machine's apt, for any architecture, through a package state of their own: nothing is installed, no root
is needed, and the version of the kernel is whatever Debian's meta package depends on.
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
from pathlib import Path

RECIPE = Path(__file__)
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
PACKAGES = ("busybox-static", "openssh-server")  # dropbear 2022.83 ends sessions at random: its issue 321
PROGRAMS = ("bin/busybox", "usr/sbin/sshd", "usr/bin/ssh-keygen")
MODULES = ("virtio_pci", "virtio_net")
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
    """A kernel and the part of the initial file system that all guests of an architecture share (a cpio archive)."""

    kernel: Path
    base: Path


class ImageError(RuntimeError):
    """A package, or what was expected in it, cannot be had."""


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/asct-guests, else ~/.cache/asct-guests: apart from asct's own cache, which is private."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if given.startswith("/") else Path.home() / ".cache") / "asct-guests"


def image(arch: str) -> Image:
    """The image of an architecture, made when this recipe has not made it yet. Raises ImageError."""
    recipe = hashlib.sha256(RECIPE.read_bytes()).hexdigest()[:16]
    folder = cache_folder() / f"{arch}-{recipe}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f".{arch}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(prefix=f".{arch}-", dir=folder.parent) as name:
                made = Path(name) / "made"
                make(DEBIAN[arch], Path(name), made)
                made.rename(folder)
    return Image(folder / "kernel", folder / "base.cpio")


def make(debian_arch: str, scratch: Path, target: Path) -> None:
    """Fetch, unpack, choose, and pack into `target`."""
    apt = Apt(debian_arch, scratch / "apt")
    unpacked = scratch / "unpacked"
    for package in apt.fetch(PACKAGES):
        ran(["dpkg", "-x", str(package), str(unpacked)])
    root = scratch / "root"
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True)
    for program in PROGRAMS:
        add_program(unpacked, program, root)
    add_modules(unpacked, root)
    target.mkdir()
    shutil.copy(only(unpacked, "boot/vmlinuz-*"), target / "kernel")
    pack(root, target / "base.cpio")


class Apt:
    """apt-get with a state of its own in `folder`, in which nothing is installed, for one Debian architecture."""

    def __init__(self, debian_arch: str, folder: Path) -> None:
        self._arch = debian_arch
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

    def fetch(self, packages: Sequence[str]) -> list[Path]:
        """The kernel, and `packages` with all they depend on, as files."""
        ran(["apt-get", *self._options, "update"])
        ran(["apt-get", *self._options, "install", "-y", "--no-install-recommends", "--download-only", *packages])
        archives = self._folder / "cache" / "archives"
        ran(["apt-get", *self._options, "download", self._kernel()], archives)
        return sorted(archives.glob("*.deb"))

    def _kernel(self) -> str:
        meta = f"linux-image-cloud-{self._arch}"
        found = re.search(r"Depends: (linux-image-\S+)", ran(["apt-cache", *self._options, "depends", meta]))
        if not found:
            raise ImageError(f"{meta} depends on no kernel")
        return found.group(1)


def add_program(unpacked: Path, program: str, root: Path) -> None:
    """A program with the loader and libraries that it needs, and those that they need."""
    pending = [unpacked / program]
    (root / program).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(pending[0], root / program)
    while pending:
        text = ran(["readelf", "-dlW", str(pending.pop())])
        names = set(re.findall(r"\(NEEDED\).*\[(.+)\]", text))
        for loader in re.findall(r"interpreter: /(\S+)\]", text):
            (root / loader).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(only(unpacked, f"**/{Path(loader).name}"), root / loader)
        for name in names:
            if not (root / "lib" / name).exists():
                (root / "lib").mkdir(exist_ok=True)
                pending.append(Path(shutil.copy(only(unpacked, f"**/{name}"), root / "lib" / name)))


def add_modules(unpacked: Path, root: Path) -> None:
    """Kernel modules, and before each what it depends on, numbered in the order of loading."""
    order: list[str] = []

    def visit(name: str) -> None:
        found = list(unpacked.glob(f"**/{name}.ko*"))
        if name in order or not found:  # no file: built into this kernel
            return
        data = found[0].read_bytes()
        data = lzma.decompress(data) if found[0].suffix == ".xz" else data
        needs = re.search(rb"\0depends=([^\0]*)\0", data)
        for other in needs.group(1).decode().split(",") if needs else ():
            visit(other)
        order.append(name)
        (root / "modules").mkdir(exist_ok=True)
        (root / "modules" / f"{len(order):02}-{name}.ko").write_bytes(data)

    for name in MODULES:
        visit(name)


def pack(root: Path, archive: Path) -> None:
    """A folder as the kernel reads it (cpio, `newc`). Several archives behind one another are one file system."""
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
    """The first file of that pattern."""
    for path in sorted(root.glob(pattern)):
        if path.is_file():
            return path
    raise ImageError(f"no {pattern} in the packages")


def ran(command: Sequence[str], folder: Path | None = None) -> str:
    """What a command printed. Raises ImageError with its own words when it fails."""
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ImageError(f"{' '.join(command)} ended with {done.returncode}: {(done.stderr or done.stdout)[-2000:]}")
    return done.stdout


def main() -> int:
    """Make what is missing; older recipes' images go."""
    try:
        kept = {image(arch).kernel.parent.name for arch in DEBIAN}
    except ImageError as problem:
        print(f"the guests of tests/machines cannot be made: {problem}", file=sys.stderr)
        return 1
    for folder in cache_folder().glob("*-*"):
        if folder.name not in kept and not folder.name.startswith("."):
            shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

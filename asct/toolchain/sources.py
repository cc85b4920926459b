"""The sources of a measurement kernel, its compile command, and the cache key of a build."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Lock

from asct import resources
from asct.diagnostics.model import Diagnostic
from asct.errors import NotMeasured

FLAGS = ("-O2", "-std=c11", "-static", "-pthread", "-D_GNU_SOURCE", "-I.")
ARCHES = ("x86_64", "aarch64")
KEY_DIGITS = 24
_READ_LOCK = Lock()


@dataclass(frozen=True, slots=True)
class KernelSources:
    """The files of a kernel and the files shared by all kernels, keyed by their paths relative to kernels/."""

    kernel: str
    arch: str
    files: Mapping[str, str]
    _keys: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    def flags(self) -> list[str]:
        """Return the compiler flags, without the input files and the output."""
        return [*FLAGS, f"-Iarch/{self.arch}"]

    def command(self, compiler: str, output: str) -> list[str]:
        """Return the compile command. It must run in a folder that contains the kernel's `files`."""
        own = sorted(name for name in self.files if name.startswith(f"{self.kernel}/") and name.endswith(".c"))
        return [compiler, *self.flags(), *own, "-o", output]

    def key(self, compiler: str) -> str:
        """Return the cache key: hexadecimal digits of the SHA-256 of the files, flags, kernel and compiler version."""
        if compiler not in self._keys:
            self._keys[compiler] = self._key(compiler)
        return self._keys[compiler]

    def _key(self, compiler: str) -> str:
        digest = hashlib.sha256()
        for part in (self.kernel, compiler, *self.flags()):
            digest.update(part.encode() + b"\0")
        for name in sorted(self.files):
            text = self.files[name].encode("utf-8", "surrogateescape")
            digest.update(f"{name}\0{len(text)}\0".encode() + text)
        return digest.hexdigest()[:KEY_DIGITS]


def own(kernel: str, arch: str | None) -> KernelSources:
    """Return the sources of one of asct's kernels (see `load`). They are read only once, so that all hosts in a run get
    the same sources."""
    with _READ_LOCK:  # the hosts of a run call this at the same time
        return _own(kernel, arch)


@cache
def _own(kernel: str, arch: str | None) -> KernelSources:
    return load(resources.folder("kernels"), kernel, arch)


def load(folder: Path, kernel: str, arch: str | None) -> KernelSources:
    """Read the sources of `kernel` for `arch` from `folder` (kernels/). Raises NotMeasured if there are none."""
    if arch not in ARCHES:
        hint = f"the measurement kernels support {' and '.join(ARCHES)}"
        raise NotMeasured(
            Diagnostic(
                "E401", f"there are no measurement kernels for the architecture `{arch or 'unknown'}`", hint=hint
            )
        )
    own = folder / kernel
    if not (own / f"{kernel}.c").is_file():
        known = sorted(path.parent.name for path in folder.glob("*/*.c") if path.stem == path.parent.name)
        hint = f"kernels: {', '.join(known)}"
        raise NotMeasured(Diagnostic("E402", f"there is no measurement kernel named `{kernel}` in {folder}", hint=hint))
    places = [own, folder / "kit", folder / "arch" / arch]
    paths = [path for place in places if place.is_dir() for path in sorted(place.rglob("*.[chS]"))]
    files = {path.relative_to(folder).as_posix(): path.read_text("utf-8", "surrogateescape") for path in paths}
    return KernelSources(kernel, arch, files)

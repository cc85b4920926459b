"""The cache of kernels on a host: <cache>/kernels/<kernel>-<key>/<kernel>, with its SHA-256 in a file beside it.

The sum is taken there by sha256sum; for a host without it here, of the file as it comes back.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory

from asct.diagnostics.model import Diagnostic
from asct.hosts.base import Host
from asct.toolchain.compilers import Compiler
from asct.toolchain.sources import Sources

_TAKE_SUM = 'sha256sum -- "$1" 2>/dev/null || true'
_VERIFY = (
    'read -r sum <"$1.sha256" && echo "$sum" && [ -x "$1" ] || exit 1;'
    ' command -v sha256sum >/dev/null || exit 0; exec sha256sum -- "$1"'
)
_INSTALL = (
    'set -e; umask 077; mkdir -p -- "${2%/*}"; chmod 700 "$1"; part="$2.$$.part";'
    ' cp -- "$1" "$part"; mv -f -- "$part" "$2"'
)
_SUM = re.compile(r"[0-9a-f]{64}")


def place(host: Host, tree: Sources, compiler: Compiler) -> str:
    """Where a build of these sources by this compiler stands on the host."""
    return f"{host.cache}/kernels/{tree.kernel}-{tree.arch}-{tree.key(compiler.identity)}/{tree.kernel}"


def verified(host: Host, path: str) -> str | None:
    """The SHA-256 of a cached kernel if it is whole and may be run, else None."""
    answer = host.answer(["sh", "-c", _VERIFY, "sh", path])
    recorded, _, taken = answer.stdout.partition("\n")
    if answer.status != 0 or not _SUM.fullmatch(recorded):
        return None
    return recorded if _sum(host, path, taken) == recorded else None


def _sum(host: Host, path: str, taken: str) -> str:
    """The SHA-256 of a file on the host, where `taken` is what sha256sum said. Raises HostError."""
    found = taken.partition(" ")[0]
    if _SUM.fullmatch(found):
        return found
    with TemporaryDirectory(prefix="asct-kernel-") as folder:
        copy = Path(folder) / "kernel"
        host.get(path, copy)
        return hashlib.sha256(copy.read_bytes()).hexdigest()


def unusable(host: str, kernel: str, path: str) -> Diagnostic:
    """The finding for a binary that did not get into the cache."""
    hint = "check free space and rights of the cache folder, and that it is not mounted noexec"
    return Diagnostic("E405", f"{host}: the kernel `{kernel}` cannot be kept at {path}", hint=hint)


def install(host: Host, built: str, path: str) -> bool:
    """Move a binary that was built on the host into the cache, under a temporary name first, and note its sum."""
    if host.answer(["sh", "-c", _INSTALL, "sh", built, path]).status != 0:
        return False
    taken = host.answer(["sh", "-c", _TAKE_SUM, "sh", path]).stdout
    _note_sum(host, path, _sum(host, path, taken))
    return True


def push(host: Host, binary: Path, path: str, sha256: str) -> None:
    """Copy a binary of this machine into the host's cache; the sum comes first, so that it is never missing."""
    _note_sum(host, path, sha256)
    host.put(binary, path, mode=0o700)


def _note_sum(host: Host, path: str, sha256: str) -> None:
    with NamedTemporaryFile("w", suffix=".sha256") as file:
        file.write(f"{sha256}\n")
        file.flush()
        host.put(Path(file.name), f"{path}.sha256")

"""The cache of kernels on a host: <cache>/kernels/<kernel>-<key>/<kernel>, with its SHA-256 in a file beside it."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import NamedTemporaryFile

from asct.diagnostics.model import Diagnostic
from asct.hosts.base import Host
from asct.toolchain.compilers import Compiler
from asct.toolchain.sources import Sources

# Kept in one answer, so that a kernel that is there costs a single exchange.
_VERIFY = 'sha256sum <"$1" && cat "$1.sha256" && [ -x "$1" ]'
_INSTALL = (
    'set -e; umask 077; mkdir -p -- "${2%/*}"; chmod 700 "$1"; part="$2.$$.part"; cp -- "$1" "$part";'
    ' sum=$(sha256sum <"$part"); printf "%s\\n" "${sum%% *}" >"$part.sum";'
    ' mv -f -- "$part.sum" "$2.sha256"; mv -f -- "$part" "$2"'
)
_SUM = re.compile(r"[0-9a-f]{64}")


def place(host: Host, tree: Sources, compiler: Compiler) -> str:
    """Where a build of these sources by this compiler stands on the host."""
    return f"{host.cache}/kernels/{tree.kernel}-{tree.arch}-{tree.key(compiler.identity)}/{tree.kernel}"


def verified(host: Host, path: str) -> str | None:
    """The SHA-256 of a cached kernel if it is whole and may be run, else None."""
    answer = host.answer(["sh", "-c", _VERIFY, "sh", path])
    lines = answer.stdout.split("\n")
    if answer.status != 0 or len(lines) < 2:
        return None
    found, recorded = lines[0].split(" ")[0], lines[1].strip()
    return found if found == recorded and _SUM.fullmatch(found) else None


def unusable(host: str, kernel: str, path: str) -> Diagnostic:
    """The finding for a binary that did not get into the cache."""
    hint = "check free space and rights of the cache folder, and that it has sha256sum and is not mounted noexec"
    return Diagnostic("E405", f"{host}: the kernel `{kernel}` cannot be kept at {path}", hint=hint)


def install(host: Host, built: str, path: str) -> bool:
    """Move a binary that was built on the host into the cache, under a temporary name first."""
    return host.answer(["sh", "-c", _INSTALL, "sh", built, path]).status == 0


def push(host: Host, binary: Path, path: str, sha256: str) -> None:
    """Copy a binary of this machine into the host's cache; the sum comes first, so that it is never missing."""
    with NamedTemporaryFile("w", suffix=".sha256") as file:
        file.write(f"{sha256}\n")
        file.flush()
        host.put(Path(file.name), f"{path}.sha256")
    host.put(binary, path, mode=0o700)

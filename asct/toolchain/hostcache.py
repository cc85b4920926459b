"""Kernels built on a host and cached there as <cache>/kernels/<kernel>-<key>/<kernel>, each with a SHA-256 file. The
checksum is computed on the host with sha256sum or, if the host lacks this program, by asct from a copy of the file.
"""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory

from asct.diagnostics.model import Diagnostic
from asct.hosts.base import Host, Process, Task
from asct.toolchain.compilers import BuildFailed, Compiler, compile_error
from asct.toolchain.sources import KernelSources

_GUARD = threading.Lock()
_ENDED: dict[str, threading.Event] = {}


@contextmanager
def build_lock(path: str) -> Iterator[bool]:
    """Let only the first thread that needs `path` build it while the other threads wait. Yield False in the first
    thread, which must build, and True in the others, once the first has finished.

    If several hosts share a home folder, one of them builds the kernel and the others find the result. A thread waits
    only for the first one, so a host that does not share the folder waits for at most one build on another host.
    """
    with _GUARD:
        first = path not in _ENDED
        ended = _ENDED.setdefault(path, threading.Event())
    if not first:
        ended.wait()
        yield True
        return
    try:
        yield False
    finally:
        ended.set()


_TAKE_SUM = 'sha256sum -- "$1" 2>/dev/null || true'
_INSTALL = (
    'umask 077; mkdir -p -- "${2%/*}" && chmod 700 "$1" || exit 1; part="$2.$$.part";'
    ' trap "exit 1" HUP INT TERM; trap \'rm -f -- "$part"\' EXIT;'
    ' cp -- "$1" "$part" && mv -f -- "$part" "$2"'
)
_SUM = re.compile(r"[0-9a-f]{64}")
TIMEOUT_S = 120.0


def place(host: Host, tree: KernelSources, compiler: Compiler) -> str:
    """Return the path in the host's cache for these sources and this compiler."""
    return f"{host.cache}/kernels/{tree.kernel}-{tree.arch}-{tree.key(compiler.identity)}/{tree.kernel}"


def verified(host: Host, path: str) -> str | None:
    """Return the SHA-256 of a cached measurement kernel, or None if it is missing, damaged or not executable."""
    recorded, actual, *_ = [*host.sums(path), "", ""]
    if not _SUM.fullmatch(recorded):
        return None
    return recorded if _sum(host, path, actual) == recorded else None


def _sum(host: Host, path: str, printed: str) -> str:
    """Return the SHA-256 of a file on the host. Raises HostError.

    The hash is taken from `printed`, the output of sha256sum, if that is valid; otherwise, it is computed from a copy
    of the file.
    """
    found = printed.partition(" ")[0]
    if _SUM.fullmatch(found):
        return found
    with TemporaryDirectory(prefix="asct-kernel-") as folder:
        copy = Path(folder) / "kernel"
        host.get(path, copy)
        return hashlib.sha256(copy.read_bytes()).hexdigest()


def unusable(host: str, kernel: str, path: str) -> Diagnostic:
    """Return the diagnostic for a binary that could not be stored in the host's cache."""
    hint = (
        "check the free space and permissions of the cache folder, and make sure that its file system is not mounted "
        "noexec"
    )
    return Diagnostic("E405", f"{host}: the measurement kernel `{kernel}` cannot be stored at {path}", hint=hint)


def install(host: Host, built: str, path: str) -> bool:
    """Copy a binary that was built on the host into the cache, and store its SHA-256 there. Return whether the copy
    succeeded. The binary is copied under a temporary name and then renamed, so that the cache never contains a partial
    binary."""
    if host.execute(["sh", "-c", _INSTALL, "sh", built, path]).status != 0:
        return False
    printed = host.execute(["sh", "-c", _TAKE_SUM, "sh", path]).stdout
    _store_sum(host, path, _sum(host, path, printed))
    return True


def push(host: Host, binary: Path, path: str, sha256: str) -> None:
    """Copy a binary from this machine to the host's cache. The SHA-256 is copied first, so that the cache never
    contains a binary without its checksum."""
    _store_sum(host, path, sha256)
    host.put(binary, path, mode=0o700)


def _store_sum(host: Host, path: str, sha256: str) -> None:
    with NamedTemporaryFile("w", suffix=".sha256") as file:
        file.write(f"{sha256}\n")
        file.flush()
        host.put(Path(file.name), f"{path}.sha256")


def append(log: Path, text: str) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(text)


def build(host: Host, tree: KernelSources, compiler: Compiler, target: str, log: Path) -> str:
    """Compile a measurement kernel on the host in one task, store it at `target` in the host's cache, and return its
    SHA-256.

    Raises BuildFailed or HostError.
    """
    folder = f"{host.work}/build-{tree.kernel}"
    command = tree.command(compiler.path, "kernel.out")
    process = Process(tuple(command), folder, stdout_file="build.out", stderr_file="build.err")
    into = log.parent / f".{tree.kernel}"
    done = host.run(Task(process, into, files=tree.files, timeout_s=TIMEOUT_S))
    text = "".join((into / name).read_text("utf-8", "replace") for name in done.fetched)
    shutil.rmtree(into)
    append(log, f"on {host.name}, {compiler.identity}\n$ {shlex.join(command)}\n{text}[status {done.status}]\n")
    if done.status != 0:
        ended = "timed out" if done.status is None else f"exit status {done.status} without output"
        raise compile_error(tree.kernel, compiler.path, host.name, text or ended, log)
    installed = install(host, f"{folder}/kernel.out", target)
    host.remove(folder)
    sha256 = verified(host, target) if installed else None
    if sha256 is None:
        raise BuildFailed(unusable(host.name, tree.kernel, target))
    return sha256

"""Build a kernel on this machine for the architecture of a host; kept in this account's cache."""

from __future__ import annotations

import hashlib
import os
import secrets
import shlex
import subprocess
import tempfile
from pathlib import Path

from asct.toolchain.compilers import Compiler, compile_error
from asct.toolchain.hostcache import build_lock
from asct.toolchain.sources import KernelSources

TIMEOUT_S = 120.0


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/asct/cross, else ~/.cache/asct/cross."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if given.startswith("/") else Path.home() / ".cache") / "asct" / "cross"


def build(tree: KernelSources, compiler: Compiler, log: Path) -> tuple[Path, str]:
    """The binary here and its SHA-256; from the cache when it is there and whole. Raises BuildFailed."""
    kept = cache_folder() / f"{tree.kernel}-{tree.arch}-{tree.key(compiler.identity)}"
    with build_lock(str(kept)):
        sha256 = _verified(kept)
        if sha256 is None:
            return kept, _built(tree, compiler, kept, log)
    _append(log, f"cached on this machine: {kept}\n")
    return kept, sha256


def _built(tree: KernelSources, compiler: Compiler, kept: Path, log: Path) -> str:
    """Compile into the cache; the SHA-256 of the binary."""
    _make_private(kept.parent)
    with tempfile.TemporaryDirectory(prefix="asct-cross-") as name:
        folder = Path(name)
        for path, text in tree.files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8", "surrogateescape")
        _compile(tree, compiler, folder, log)
        return _keep((folder / "kernel.out").read_bytes(), kept)


def _make_private(folder: Path) -> None:
    """Make asct's cache and `folder` in it for this account alone: `parents=True` would give the cache mode 0755."""
    for place in (folder.parent, folder):
        place.mkdir(parents=True, mode=0o700, exist_ok=True)


def _compile(tree: KernelSources, compiler: Compiler, folder: Path, log: Path) -> None:
    command = tree.command(compiler.path, "kernel.out")
    _append(log, f"on this machine, {compiler.identity}\n$ {shlex.join(command)}\n")
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise compile_error(tree.kernel, compiler.path, "here", "timed out", log) from None
    text = done.stdout + done.stderr
    _append(log, f"{text}[status {done.returncode}]\n")
    if done.returncode != 0:
        raise compile_error(tree.kernel, compiler.path, "here", text, log)


def _keep(data: bytes, kept: Path) -> str:
    """Into the cache, the sum first, each under a temporary name."""
    sha256 = hashlib.sha256(data).hexdigest()
    for target, content in ((_sum_file(kept), f"{sha256}\n".encode()), (kept, data)):
        partial = target.with_name(f"{target.name}.{secrets.token_hex(6)}.part")
        partial.write_bytes(content)
        partial.chmod(0o700)
        partial.replace(target)
    return sha256


def _sum_file(kept: Path) -> Path:
    return kept.with_name(f"{kept.name}.sha256")


def _verified(kept: Path) -> str | None:
    try:
        recorded = _sum_file(kept).read_text().strip()
        found = hashlib.sha256(kept.read_bytes()).hexdigest()
    except OSError:
        return None
    return found if found == recorded else None


def _append(log: Path, text: str) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(text)

"""Provide a measurement kernel on a host: take it from the cache, build it there, or build it on this machine and copy
it.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shlex
import subprocess
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from asct.errors import NotMeasured
from asct.hosts.base import Host
from asct.sdk.facts import HostFacts
from asct.toolchain import compilers, hostcache, sources
from asct.toolchain.compilers import BuildFailed, Compiler, compile_error, no_compiler
from asct.toolchain.hostcache import TIMEOUT_S, append, build_lock
from asct.toolchain.sources import KernelSources


@dataclass(frozen=True, slots=True)
class BuiltKernel:
    """A measurement kernel on a host. `path` is its absolute path there, and `log` is the build log on this machine.

    `key` identifies sources, flags and compiler.
    """

    path: str
    compiler: str
    flags: tuple[str, ...]
    key: str
    cached: bool
    log: Path
    sha256: str
    where: str
    """Where the kernel was compiled: `host` or `here`."""
    elapsed_s: float


def provide(host: Host, kernel: str, facts: HostFacts, build_folder: Path, kernels: Path | None = None) -> BuiltKernel:
    """Prepare a measurement kernel so that it can run on an open host, and write <kernel>.json and <kernel>.log to
    `build_folder`.

    All compilers on the host are tried, then one on this machine that builds for the host's architecture. A cached
    binary is used only if its SHA-256 matches the one recorded by the build. Raises NotMeasured (E401 to E404) or
    HostError.
    """
    began = time.monotonic()
    arch = facts.system.arch
    tree = sources.own(kernel, arch) if kernels is None else sources.load(kernels, kernel, arch)
    build_folder.mkdir(parents=True, exist_ok=True)
    log = build_folder / f"{kernel}.log"
    log.write_text("")
    found = _from_host_compilers(host, tree, compilers.on_host(host, facts), log) or _from_here(host, tree, log)
    path, compiler, where, cached, sha256 = found
    key, elapsed = tree.key(compiler.identity), time.monotonic() - began
    built = BuiltKernel(path, compiler.identity, tuple(tree.flags()), key, cached, log, sha256, where, elapsed)
    document = {**asdict(built), "log": log.name, "kernel": kernel, "arch": tree.arch}
    (build_folder / f"{kernel}.json").write_text(json.dumps(document, indent=1) + "\n")
    return built


_Found = tuple[str, Compiler, str, bool, str]
"""The path, the compiler, where the kernel was compiled (see BuiltKernel), whether it was cached, and its SHA-256."""


def _from_host_compilers(host: Host, tree: KernelSources, known: Iterable[Compiler], log: Path) -> _Found | None:
    """Return the kernel built on the host, or None if no compiler there can build it, for example because the host has
    no static C library. If this machine has no suitable compiler either, raise the error that the host's compiler
    reported.
    """
    failure: BuildFailed | None = None
    for compiler in known:
        target = hostcache.place(host, tree, compiler)
        sha256 = hostcache.verified(host, target)
        if sha256 is not None:
            append(log, f"cached on the host: {target}\n")
            return target, compiler, "host", True, sha256
        try:
            sha256, cached = _built_there(host, tree, compiler, target, log)
        except BuildFailed as error:
            failure = error
            continue
        return target, compiler, "host", cached, sha256
    if failure is not None and compilers.here(tree.arch) is None:
        raise failure
    return None


def _built_there(host: Host, tree: KernelSources, compiler: Compiler, target: str, log: Path) -> tuple[str, bool]:
    """Build a kernel that is missing from the host's cache. Return its SHA-256, and whether another host built it in
    the meantime."""
    with build_lock(target) as later:
        sha256 = hostcache.verified(host, target) if later else None
        if sha256 is not None:
            append(log, f"built by another host that shares the cache: {target}\n")
            return sha256, True
        return hostcache.build(host, tree, compiler, target, log), False


def _from_here(host: Host, tree: KernelSources, log: Path) -> _Found:
    """Build a kernel on this machine and copy it to the host."""
    compiler = compilers.here(tree.arch)
    if compiler is None:
        raise NotMeasured(no_compiler(host.name, tree.arch, compilers.PACKAGES[tree.arch]))
    target = hostcache.place(host, tree, compiler)
    binary, sha256 = _cross_built(tree, compiler, log)
    if hostcache.verified(host, target) == sha256:
        append(log, f"cached on the host: {target}\n")
        return target, compiler, "here", True, sha256
    with build_lock(target) as later:
        if not later or hostcache.verified(host, target) != sha256:
            hostcache.push(host, binary, target, sha256)
            append(log, f"copied to the host: {target}\n")
    if hostcache.verified(host, target) != sha256:
        raise NotMeasured(hostcache.unusable(host.name, tree.kernel, target))
    return target, compiler, "here", False, sha256


# ---- on this machine: cached in $XDG_CACHE_HOME/asct/cross, with a SHA-256 file each


def _cross_built(tree: KernelSources, compiler: Compiler, log: Path) -> tuple[Path, str]:
    """Return a binary for the host's architecture, taken from the cache if possible, and its SHA-256. Raises
    BuildFailed."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    cache = (Path(base) if base.startswith("/") else Path.home() / ".cache") / "asct"
    binary = cache / "cross" / f"{tree.kernel}-{tree.arch}-{tree.key(compiler.identity)}"
    sum_file = binary.with_name(f"{binary.name}.sha256")
    with build_lock(str(binary)):
        try:
            sha256 = hashlib.sha256(binary.read_bytes()).hexdigest()
            if sha256 == sum_file.read_text().strip():
                append(log, f"cached on this machine: {binary}\n")
                return binary, sha256
        except OSError:
            pass
        data = _compiled(tree, compiler, log)
        sha256 = hashlib.sha256(data).hexdigest()
        for folder in (cache, binary.parent):  # `parents=True` would give the cache mode 0755
            folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        for target, content in ((sum_file, f"{sha256}\n".encode()), (binary, data)):
            partial = target.with_name(f"{target.name}.{secrets.token_hex(6)}.part")
            partial.write_bytes(content)
            partial.chmod(0o700)
            partial.replace(target)
    return binary, sha256


def _compiled(tree: KernelSources, compiler: Compiler, log: Path) -> bytes:
    """Compile a kernel in a temporary folder on this machine."""
    command = tree.command(compiler.path, "kernel.out")
    append(log, f"on this machine, {compiler.identity}\n$ {shlex.join(command)}\n")
    environment = {**os.environ, "LC_ALL": "C"}
    with TemporaryDirectory(prefix="asct-cross-") as folder:
        for path, text in tree.files.items():
            target = Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8", "surrogateescape")
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise compile_error(tree.kernel, compiler.path, "here", "timed out", log) from None
        text = done.stdout + done.stderr
        append(log, f"{text}[status {done.returncode}]\n")
        if done.returncode != 0:
            raise compile_error(tree.kernel, compiler.path, "here", text, log)
        return (Path(folder) / "kernel.out").read_bytes()

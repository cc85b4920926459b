"""Put a kernel on a host: from its cache, by its own compiler, or by one of this machine."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from asct.errors import NotMeasured
from asct.hosts.base import Host
from asct.sdk.facts import HostFacts
from asct.toolchain import compilers, cross, hostcache, sources
from asct.toolchain.compilers import BuildFailed, Compiler, no_compiler
from asct.toolchain.hostcache import build_lock
from asct.toolchain.sources import KernelSources


@dataclass(frozen=True, slots=True)
class BuiltKernel:
    """A kernel on a host. `path` is absolute there, `log` is here; `key` identifies sources, flags and compiler."""

    path: str
    compiler: str
    flags: tuple[str, ...]
    key: str
    cached: bool
    log: Path
    sha256: str
    where: str
    """`host` or `here`: who compiled it."""
    elapsed_s: float


def provide(host: Host, kernel: str, facts: HostFacts, build_folder: Path, kernels: Path | None = None) -> BuiltKernel:
    """The kernel `kernel`, ready to run on an open `host`; <kernel>.json and <kernel>.log go into `build_folder`.

    Tries each compiler of the host, then one of this machine for the host's architecture. A binary from a cache is
    used only if its SHA-256 is the one recorded when it was built. Raises NotMeasured (E401-E404), HostError.
    """
    began = time.monotonic()
    arch = facts.system.arch
    tree = sources.own(kernel, arch) if kernels is None else sources.load(kernels, kernel, arch)
    build_folder.mkdir(parents=True, exist_ok=True)
    log = build_folder / f"{kernel}.log"
    log.write_text("")
    found = _from_host_compilers(host, tree, compilers.on_host(host, facts), log)
    if found is None:
        found = _from_here(host, tree, log)
    path, compiler, where, cached, sha256 = found
    key = tree.key(compiler.identity)
    elapsed = time.monotonic() - began
    built = BuiltKernel(path, compiler.identity, tuple(tree.flags()), key, cached, log, sha256, where, elapsed)
    document = {**asdict(built), "log": log.name, "kernel": kernel, "arch": tree.arch}
    (build_folder / f"{kernel}.json").write_text(json.dumps(document, indent=1) + "\n")
    return built


_Found = tuple[str, Compiler, str, bool, str]


def _from_host_compilers(host: Host, tree: KernelSources, known: Iterable[Compiler], log: Path) -> _Found | None:
    """Built on the host; None when no compiler there makes it (a host without the static C library, for instance).

    When this machine has no compiler to fall back on, the host's own failure is raised.
    """
    failure: BuildFailed | None = None
    for compiler in known:
        target = hostcache.place(host, tree, compiler)
        sha256 = hostcache.verified(host, target)
        if sha256 is not None:
            _append(log, f"cached on the host: {target}\n")
            return target, compiler, "host", True, sha256
        try:
            sha256, cached = _built_there(host, tree, compiler, target, log)
        except BuildFailed as error:
            failure = error
            continue
        return target, compiler, "host", cached, sha256
    if failure is not None and compilers.here(tree.arch) is None:
        raise NotMeasured(failure.diagnostic)
    return None


def _built_there(host: Host, tree: KernelSources, compiler: Compiler, target: str, log: Path) -> tuple[str, bool]:
    """The SHA-256 of a kernel that was not in the host's cache, and whether another host has built it since."""
    with build_lock(target) as later:
        sha256 = hostcache.verified(host, target) if later else None
        if sha256 is not None:
            _append(log, f"built by another host that shares the cache: {target}\n")
            return sha256, True
        return hostcache.build(host, tree, compiler, target, log), False


def _from_here(host: Host, tree: KernelSources, log: Path) -> _Found:
    compiler = compilers.here(tree.arch)
    if compiler is None:
        raise NotMeasured(no_compiler(host.name, tree.arch, compilers.PACKAGES[tree.arch]))
    target = hostcache.place(host, tree, compiler)
    try:
        binary, sha256 = cross.build(tree, compiler, log)
    except BuildFailed as error:
        raise NotMeasured(error.diagnostic) from error
    if hostcache.verified(host, target) == sha256:
        _append(log, f"cached on the host: {target}\n")
        return target, compiler, "here", True, sha256
    with build_lock(target) as later:
        if not later or hostcache.verified(host, target) != sha256:
            hostcache.push(host, binary, target, sha256)
            _append(log, f"copied to the host: {target}\n")
    if hostcache.verified(host, target) != sha256:
        raise NotMeasured(hostcache.unusable(host.name, tree.kernel, target))
    return target, compiler, "here", False, sha256


def _append(log: Path, text: str) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(text)

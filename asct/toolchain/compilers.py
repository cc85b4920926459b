"""The compilers on a host, and those on this machine that can build for the host's architecture."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from asct.diagnostics.model import Diagnostic
from asct.errors import NotMeasured
from asct.hosts.base import Host
from asct.sdk.facts import HostFacts

SHOWN_LINES = 5
_ERROR = re.compile(r"error|undefined reference|cannot find", re.IGNORECASE)


class BuildFailed(NotMeasured):
    """Raised if a measurement kernel could not be compiled or stored."""


def compile_error(kernel: str, compiler: str, place: str, text: str, log: Path) -> BuildFailed:
    """Return the error for a failed compilation. Its notes are the first error lines in `text`, the compiler's
    output."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    notes = [line for line in lines if _ERROR.search(line)][:SHOWN_LINES] or lines[:SHOWN_LINES]
    code, hint = "E404", f"the full output is in {log}"
    if re.search(r"cannot find .*-l(c|pthread)\b|cannot find .*lib(c|pthread)\.a", text):
        code, hint = "E406", "install the static C library (Debian: libc6-dev, Fedora: glibc-static, Alpine: musl-dev)"
    message = f"{place}: {compiler} failed to build the measurement kernel `{kernel}`"
    return BuildFailed(Diagnostic(code, message, hint=hint, notes=tuple((line, None) for line in notes)))


def no_compiler(host: str, arch: str, package: str) -> Diagnostic:
    """Return the diagnostic for a measurement kernel that no compiler on the host or on this machine can build."""
    hint = (
        f"install gcc and the C library headers on {host} (Debian: gcc libc6-dev, Fedora: gcc glibc-static), "
        f"or a compiler for {arch} on this machine (Debian: {package}, or gcc libc6-dev on an {arch} machine)"
    )
    return Diagnostic("E403", f"{host}: no C compiler for {arch} on the host or on this machine", hint=hint)


NAMES = ("gcc", "cc", "clang")
CROSS = {"x86_64": ("x86_64-linux-gnu-gcc",), "aarch64": ("aarch64-linux-gnu-gcc",)}
PACKAGES = {"x86_64": "gcc-x86-64-linux-gnu", "aarch64": "gcc-aarch64-linux-gnu"}


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler. `identity` is the first line of its --version output and identifies it in cache keys and reports."""

    path: str
    identity: str


def on_host(host: Host, facts: HostFacts) -> Iterator[Compiler]:
    """Yield the compilers on the host, best first. If the facts do not contain a compiler's version, the version is
    queried when the caller reaches that compiler."""
    yielded: set[str] = set()
    for name in NAMES:
        tool = facts.tools.get(name)
        if tool is None:
            continue
        line = tool.banner
        if not line:
            answer = host.execute([tool.path, "--version"])
            line = answer.stdout.partition("\n")[0].strip() if answer.status == 0 else ""
        if line and line not in yielded:
            yielded.add(line)
            yield Compiler(tool.path, line)


def here(arch: str) -> Compiler | None:
    """Return a compiler on this machine that builds for `arch`, or None if there is none. If the architectures match,
    this is the native compiler, otherwise a cross compiler."""
    own = NAMES if platform.machine() == arch else ()
    for name in (*own, *CROSS.get(arch, ())):
        path = shutil.which(name)
        if path is None:
            continue
        done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
        line = done.stdout.partition("\n")[0].strip()
        if done.returncode == 0 and line:
            return Compiler(path, line)
    return None

"""Compilers: on the host, and here for the host's architecture."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from asct.diagnostics.model import Diagnostic
from asct.hosts.base import Host
from asct.sdk.facts import HostFacts

SHOWN_LINES = 5
_ERROR = re.compile(r"error|undefined reference|cannot find", re.IGNORECASE)


class BuildFailed(Exception):
    """A failed compilation, with a diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(diagnostic.message)


def compile_error(kernel: str, compiler: str, place: str, text: str, log: Path) -> BuildFailed:
    """The error for a compiler's output: its first error lines become notes; `log` contains the complete output."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    shown = [line for line in lines if _ERROR.search(line)][:SHOWN_LINES] or lines[:SHOWN_LINES]
    code, hint = "E404", f"the full output is in {log}"
    if re.search(r"cannot find .*-l(c|pthread)\b|cannot find .*lib(c|pthread)\.a", text):
        code, hint = "E406", "install the static C library (Debian: libc6-dev, Fedora: glibc-static, Alpine: musl-dev)"
    message = f"{place}: {compiler} failed to build the kernel `{kernel}`"
    return BuildFailed(Diagnostic(code, message, hint=hint, notes=tuple((line, None) for line in shown)))


def no_compiler(host: str, arch: str, package: str) -> Diagnostic:
    """Neither there nor here."""
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
    """A compiler: its path and the first line of its --version, which names it in keys and reports."""

    path: str
    identity: str


def on_host(host: Host, facts: HostFacts) -> Iterator[Compiler]:
    """The compilers of the host, best first; one without a version in the facts is run only when its turn comes."""
    given: set[str] = set()
    for name in NAMES:
        tool = facts.tools.get(name)
        if tool is None:
            continue
        line = tool.banner or _asked(host, tool.path)
        if line and line not in given:
            given.add(line)
            yield Compiler(tool.path, line)


def _asked(host: Host, path: str) -> str:
    """The first line of a host compiler's --version; empty if it does not run."""
    answer = host.execute([path, "--version"])
    return answer.stdout.partition("\n")[0].strip() if answer.status == 0 else ""


def here(arch: str) -> Compiler | None:
    """One of this machine that makes code for `arch`: its own when it has that architecture, else a cross compiler."""
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

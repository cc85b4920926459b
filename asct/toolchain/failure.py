"""Why a kernel could not be built."""

from __future__ import annotations

import re
from pathlib import Path

from asct.diagnostics.model import Diagnostic

SHOWN_LINES = 5
_ERROR = re.compile(r"error|undefined reference|cannot find", re.IGNORECASE)


class BuildFailed(Exception):
    """A compiler that ran and failed. `diagnostic` is for people."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(diagnostic.message)


def compile_error(kernel: str, compiler: str, place: str, text: str, log: Path) -> BuildFailed:
    """From what the compiler printed: its first lines with an error stand in the notes, all of it in `log`."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    shown = [line for line in lines if _ERROR.search(line)][:SHOWN_LINES] or lines[:SHOWN_LINES]
    code, hint = "E404", f"all of its output is in {log}"
    if re.search(r"cannot find .*-l(c|pthread)\b|cannot find .*lib(c|pthread)\.a", text):
        code, hint = "E406", "install the static C library (Debian: libc6-dev, Fedora: glibc-static, Alpine: musl-dev)"
    message = f"{place}: {compiler} could not build the kernel `{kernel}`"
    return BuildFailed(Diagnostic(code, message, hint=hint, notes=tuple((line, None) for line in shown)))


def no_compiler(host: str, arch: str, package: str) -> Diagnostic:
    """Neither there nor here."""
    hint = (
        f"install gcc and the C library's headers on {host} (Debian: gcc libc6-dev, Fedora: gcc glibc-static), "
        f"or a compiler for {arch} on this machine (Debian: {package}, on an {arch} machine gcc libc6-dev)"
    )
    return Diagnostic("E403", f"{host}: no C compiler for {arch}, neither there nor here", hint=hint)

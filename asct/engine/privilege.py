"""Determines which kernels run as root on a host with `sudo: true`: each is tried through sudo before a job.

A kernel is run through sudo once, with the option that only makes it describe itself. This shows more than `sudo -l`:
whether sudo requires a password or a terminal, and whether the file may be executed in its folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from asct.diagnostics.model import Diagnostic
from asct.engine.programs import Programs
from asct.errors import HostTimeout
from asct.hosts.base import Host
from asct.sdk.needs import Privilege

_ASK_S: Final = 20.0
"""Time limit of sudo: looking up an account on a directory server may take a while."""
_DESCRIBED: Final = '{"t":"describe"'


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why sudo refused a kernel, and the line of sudoers that allows it."""

    why: str
    line: str


class Rights:
    """The privileges on one host. `granted` are the kernels that run through sudo."""

    def __init__(self, host: str, *, sudo: bool) -> None:
        self._host = host
        self._sudo = sudo
        self._refusals: dict[str, _Refusal] = {}
        self._reported: set[Privilege] = set()
        self.granted: set[str] = set()

    def ask(self, connection: Host, programs: Programs, wanted: Iterable[Privilege]) -> list[Diagnostic]:
        """Try the kernels that are built; returns a diagnostic for each refusal: an error if the job cannot run without
        it, otherwise a warning, once. Raises HostLost."""
        if not self._sudo or programs.facts.system.uid == 0:
            return []
        found = []
        for item in wanted:
            if item.kernel not in programs.kernels:
                continue
            refusal = self._refusal(connection, programs, item.kernel)
            if refusal is not None and (item.needed or item not in self._reported):
                self._reported.add(item)
                found.append(_finding(self._host, item, refusal))
        return found

    def _refusal(self, connection: Host, programs: Programs, kernel: str) -> _Refusal | None:
        """Why sudo does not run a kernel; each kernel is tried once."""
        if kernel not in self.granted and kernel not in self._refusals:
            path = programs.kernels[kernel]
            why = _tried(connection, path)
            if why is None:
                self.granted.add(kernel)
            else:
                account = connection.execute(["id", "-un"]).stdout.strip()
                self._refusals[kernel] = _Refusal(why, sudoers_line(account, path, programs.built[kernel].sha256))
        return self._refusals.get(kernel)


def _tried(connection: Host, path: str) -> str | None:
    """Why a kernel cannot be run through sudo; None if it was run."""
    try:
        answer = connection.execute([path, "--sudo", "", "--describe"], timeout_s=_ASK_S)
    except HostTimeout:
        return f"sudo did not respond within {_ASK_S:g} s"
    if answer.status == 0 and answer.stdout.startswith(_DESCRIBED):
        return None
    lines = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
    return lines[-1] if lines else f"exit status {answer.status}, no output"


def sudoers_line(account: str, path: str, sha256: str) -> str:
    """The line of sudoers that allows `account` to run the program at `path` as root, only with this checksum."""
    return f"{_escaped(account)} ALL=(root) NOPASSWD: sha256:{sha256} {_escaped(path)}"


def _escaped(text: str) -> str:
    """Escape what would end a word or start a comment. Wildcards in a path are harmless because of the checksum."""
    return re.sub(r"[\\,:=#\s]", r"\\\g<0>", text)


def _finding(host: str, item: Privilege, refusal: _Refusal) -> Diagnostic:
    lost = "" if item.needed else "; measured without it"
    return Diagnostic(
        "E428",
        f"host {host}: sudo refuses to run {item.kernel} ({refusal.why}), which as root {item.why}{lost}",
        hint="add this line to sudoers on the host (`visudo -f /etc/sudoers.d/asct`), or remove `sudo: true`",
        verbatim=refusal.line,
        severity="error" if item.needed else "warning",
    )

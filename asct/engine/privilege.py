"""What runs as root on a host whose plan says `sudo: true`: asked of sudo itself, kernel by kernel, before a job.

A kernel that is allowed to is run through sudo once, with the one option that does nothing but describe it. That tells
more than `sudo -l`: whether a password is wanted, whether a terminal is, whether the file may be run from where it is.
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
"""Time for an answer of sudo: an account from a directory server may take a while."""
_DESCRIBED: Final = '{"t":"describe"'


@dataclass(frozen=True, slots=True)
class _Refusal:
    """What sudo said to a kernel, and the line of sudoers that changes its mind."""

    why: str
    line: str


class Rights:
    """One host of a run. `granted` are the kernels that run through sudo."""

    def __init__(self, host: str, *, sudo: bool) -> None:
        self._host = host
        self._sudo = sudo
        self._refusals: dict[str, _Refusal] = {}
        self._told: set[Privilege] = set()
        self.granted: set[str] = set()

    def ask(self, connection: Host, programs: Programs, wanted: Iterable[Privilege]) -> list[Diagnostic]:
        """Try the kernels that are there: what is refused. A warning for what is only lost, told once; an error for
        what keeps the job from running. Raises HostLost."""
        if not self._sudo or programs.facts.system.uid == 0:
            return []
        found = []
        for item in wanted:
            if item.kernel not in programs.kernels:
                continue
            refusal = self._refusal(connection, programs, item.kernel)
            if refusal is not None and (item.needed or item not in self._told):
                self._told.add(item)
                found.append(_finding(self._host, item, refusal))
        return found

    def _refusal(self, connection: Host, programs: Programs, kernel: str) -> _Refusal | None:
        """Why sudo does not run a kernel; asked once."""
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
    """What keeps a kernel from being run through sudo; None when it was."""
    try:
        answer = connection.execute([path, "--sudo", "", "--describe"], timeout_s=_ASK_S)
    except HostTimeout:
        return f"sudo gave no answer within {_ASK_S:g} s"
    if answer.status == 0 and answer.stdout.startswith(_DESCRIBED):
        return None
    lines = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
    return lines[-1] if lines else f"it ended with status {answer.status} and said nothing"


def sudoers_line(account: str, path: str, sha256: str) -> str:
    """The line of sudoers that lets `account` run the program at `path` as root: the very file with that sum only."""
    return f"{_escaped(account)} ALL=(root) NOPASSWD: sha256:{sha256} {_escaped(path)}"


def _escaped(text: str) -> str:
    """What would end a word, or begin a remark. Wildcards in a path are left: the sum says which file is meant."""
    return re.sub(r"[\\,:=#\s]", r"\\\g<0>", text)


def _finding(host: str, item: Privilege, refusal: _Refusal) -> Diagnostic:
    lost = "" if item.needed else "; measured without"
    return Diagnostic(
        "E428",
        f"host {host}: sudo does not run {item.kernel} ({refusal.why}), which as root {item.why}{lost}",
        hint="add this line to sudoers on the host (`visudo -f /etc/sudoers.d/asct`), or take `sudo: true` out",
        verbatim=refusal.line,
        severity="error" if item.needed else "warning",
    )

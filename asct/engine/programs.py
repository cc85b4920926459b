"""The programs on a host: paths of measurement kernels and tools, and the kernels that may run as root through sudo."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from asct.diagnostics.model import Diagnostic
from asct.errors import HostTimeout
from asct.hosts.base import Host, Process
from asct.sdk.facts import HostFacts
from asct.sdk.needs import Privilege
from asct.sdk.step import Companion, Kernel, Program, Step
from asct.toolchain.provide import BuiltKernel


class MissingProgram(LookupError):
    """Raised if a program is missing on the host. The argument is the program's name."""


@dataclass(slots=True)
class Programs:
    """The paths of programs on a host, keyed by name.

    `found` contains the tools that are on the host's PATH but not in the facts. `elevated` contains the measurement
    kernels that may run as root through sudo.
    """

    facts: HostFacts
    kernels: dict[str, str] = field(default_factory=dict)
    built: dict[str, BuiltKernel] = field(default_factory=dict)
    """The build of each measurement kernel, keyed by name."""
    found: dict[str, str] = field(default_factory=dict)
    elevated: set[str] = field(default_factory=set)

    def path(self, program: Program) -> str:
        """Return the absolute path of a program on the host. Raises MissingProgram if the host does not have it."""
        if isinstance(program, Kernel):
            path = self.kernels.get(program.name)
        else:
            fact = self.facts.tools.get(program.name)
            path = fact.path if fact is not None else self.found.get(program.name)
        if path is None:
            raise MissingProgram(program.name)
        return path

    def through_sudo(self, step: Step) -> bool:
        """Return whether a step runs as root, through sudo."""
        return step.as_root and isinstance(step.program, Kernel) and step.program.name in self.elevated

    def unknown(self, names: Mapping[str, object]) -> list[str]:
        """Return the tools in `names` that are neither in the facts nor on the host's PATH."""
        return [name for name in names if name not in self.facts.tools and name not in self.found]


def process_of(part: Step | Companion, path: str, folder: str, *, sudo: bool = False) -> Process:
    """Return the process for a step or companion on the host. The process runs the program at `path` in `folder`.

    With `sudo`, the program must be a measurement kernel: while still running as the account, it creates the files to
    be collected; then it restarts itself as root.
    """
    argv = (path, *part.arguments)
    if isinstance(part, Step):
        return Process((path, "--sudo", ",".join(part.collect), *part.arguments) if sudo else argv, folder, part.env)
    name = part.stdout_file
    return Process(argv, folder, part.env, stdout_file=name, stderr_file=f"{name}.stderr")


def texts(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the contents of the fetched files as text, keyed by file name. Invalid bytes become replacement
    characters."""
    found = {}
    for name in names:
        with open(f"{folder}/{name}", "rb") as file:  # noqa: PTH123 - pathlib doubles the time for thousands of files
            found[name] = file.read().decode("utf-8", errors="replace")
    return found


_ASK_S: Final = 20.0
"""Time limit for sudo, in seconds. Looking up an account on a directory server may take several seconds."""
_DESCRIBED: Final = '{"t":"describe"'


class Rights:
    """The measurement kernels that asct runs as root on one host if the plan contains `sudo: true`. `granted` contains
    the kernels that sudo is known to allow.

    asct runs each kernel once through sudo with an option that only prints the kernel's description. Unlike `sudo -l`,
    this shows whether sudo requires a password or a terminal, and whether the file can be executed in its folder.
    """

    def __init__(self, host: str, *, sudo: bool) -> None:
        self._host = host
        self._sudo = sudo
        self._refusals: dict[str, tuple[str, str]] = {}
        """Maps each refused kernel to the reason and the sudoers line that would allow it."""
        self._reported: set[Privilege] = set()
        self.granted: set[str] = set()

    def ask(self, connection: Host, programs: Programs, privileges: Iterable[Privilege]) -> list[Diagnostic]:
        """Try to run the kernels in `privileges` through sudo, skipping those that have not been built. Return one
        diagnostic per refusal: an error if the job cannot run without the privilege, otherwise a warning. Each warning
        is returned only once. Raises HostLost."""
        if not self._sudo or programs.facts.system.uid == 0:
            return []
        found = []
        for item in privileges:
            if item.kernel not in programs.kernels:
                continue
            refusal = self._refusal(connection, programs, item.kernel)
            if refusal is not None and (item.needed or item not in self._reported):
                self._reported.add(item)
                found.append(_refused(self._host, item, *refusal))
        return found

    def _refusal(self, connection: Host, programs: Programs, kernel: str) -> tuple[str, str] | None:
        if kernel not in self.granted and kernel not in self._refusals:
            path = programs.kernels[kernel]
            why = _sudo_refusal(connection, path)
            if why is None:
                self.granted.add(kernel)
            else:
                account = connection.execute(["id", "-un"]).stdout.strip()
                self._refusals[kernel] = why, sudoers_line(account, path, programs.built[kernel].sha256)
        return self._refusals.get(kernel)


def _sudo_refusal(connection: Host, path: str) -> str | None:
    """Return the reason why a kernel could not be run through sudo, or None if it could."""
    try:
        answer = connection.execute([path, "--sudo", "", "--describe"], timeout_s=_ASK_S)
    except HostTimeout:
        return f"sudo did not respond within {_ASK_S:g} s"
    if answer.status == 0 and answer.stdout.startswith(_DESCRIBED):
        return None
    lines = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
    return lines[-1] if lines else f"exit status {answer.status}, no output"


def sudoers_line(account: str, path: str, sha256: str) -> str:
    """Return a sudoers line that allows `account` to run the program at `path` as root.

    The line is valid only for a program with this checksum.
    """
    return f"{_escaped(account)} ALL=(root) NOPASSWD: sha256:{sha256} {_escaped(path)}"


def _escaped(text: str) -> str:
    """Escape characters that would end a word or start a comment in sudoers. Wildcards in a path are harmless, because
    the line applies to only one checksum."""
    return re.sub(r"[\\,:=#\s]", r"\\\g<0>", text)


def _refused(host: str, item: Privilege, why: str, line: str) -> Diagnostic:
    lost = "" if item.needed else "; the measurement runs without root"
    return Diagnostic(
        "E428",
        f"host {host}: sudo refuses to run {item.kernel} ({why}); the kernel needs root because it {item.why}{lost}",
        hint="add this line to sudoers on the host (`visudo -f /etc/sudoers.d/asct`), or remove `sudo: true`",
        verbatim=line,
        severity="error" if item.needed else "warning",
    )

"""Run measurement kernels for read-only commands. The host is opened when the first kernel is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from asct.engine.host import owner_of
from asct.engine.programs import Programs, Rights, process_of, texts
from asct.engine.services import Services
from asct.errors import NotMeasured
from asct.hosts.base import Host, SessionSpec, Task
from asct.plan.model import HostSpec
from asct.sdk.facts import HostFacts
from asct.sdk.needs import Privilege
from asct.sdk.step import Kernel, Step


@dataclass(frozen=True, slots=True)
class KernelExit:
    """The exit status (None after a timeout) and the output of a measurement kernel."""

    status: int | None
    stdout: str
    stderr: str

    @property
    def last_lines(self) -> str:
        """The last line of stderr or, if stderr is empty, a description of how the kernel ended."""
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        ended = "timed out" if self.status is None else f"exit status {self.status}"
        return lines[-1].partition(": ")[2] or lines[-1] if lines else ended


class HostKernels:
    """Builds and runs measurement kernels on one host. `as_root` is true if they can run as root, directly or through
    sudo."""

    def __init__(self, host: Host, spec: HostSpec, ports: Services, folder: Path, facts: HostFacts) -> None:
        self._host = host
        self._ports = ports
        self._folder = folder
        self._rights = Rights(spec.name, sudo=spec.uses_sudo)
        self._programs = Programs(facts, elevated=self._rights.granted)
        self._numbers = count()
        self._open = False
        self.facts = facts
        self.undisturbed = False
        """Whether the remaining work must be completed even if the user stops the command. Such work takes little
        time."""
        self.root = facts.system.uid == 0
        self.as_root = self.root or spec.uses_sudo

    def run(
        self,
        kernel: str,
        arguments: tuple[str, ...],
        why: str,
        *,
        files: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] | None = None,
        timeout_s: float = 120.0,
    ) -> KernelExit:
        """Run a measurement kernel, as root if sudo was requested. `why` states the reason why root is needed.

        Raises NotMeasured, HostError or HostLocked.
        """
        self._provide(kernel, why)
        step = Step(kernel, Kernel(kernel), arguments, files or {}, as_root=True)
        name = f"{kernel}-{next(self._numbers)}"
        sudo = self._programs.through_sudo(step)
        process = process_of(step, self._programs.path(step.program), f"{self._host.work}/{name}", sudo=sudo)
        into = self._folder / name
        result = self._host.run(Task(process, into, step.files, timeout_s=timeout_s), on_line)
        found = texts(into, result.fetched)
        return KernelExit(result.status, found.get("stdout", ""), found.get("stderr", ""))

    def keep(self, name: str, text: str) -> None:
        """Write a file to the account's cache on the host. Raises HostError."""
        source = self._folder / name
        source.write_text(text, encoding="utf-8")
        self._host.put(source, f"{self._host.cache}/{name}")

    def _provide(self, kernel: str, why: str) -> None:
        if not self._open:
            self._host.open(SessionSpec("look", owner_of("look")))
            self._open = True
        if kernel not in self._programs.kernels:
            built = self._ports.provide(self._host, kernel, self._programs.facts, self._folder / "build")
            self._programs.kernels[kernel], self._programs.built[kernel] = built.path, built
        refused = self._rights.ask(self._host, self._programs, [Privilege(why, kernel, needed=True)])
        if refused:
            raise NotMeasured(*refused)

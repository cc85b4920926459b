"""Paths of the programs on a host: kernels that were built for it, and tools that it has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from asct.hosts.base import Process
from asct.sdk.facts import HostFacts
from asct.sdk.step import Companion, Kernel, Program, Step
from asct.toolchain.provide import BuiltKernel


class MissingProgram(LookupError):
    """The host does not have a program; the argument is its name."""


@dataclass(slots=True)
class Programs:
    """Paths by name. `found` has tools on the host's PATH that are not in the facts, `elevated` the kernels that sudo
    allows to run as root."""

    facts: HostFacts
    kernels: dict[str, str] = field(default_factory=dict)
    built: dict[str, BuiltKernel] = field(default_factory=dict)
    """How the kernels were built."""
    found: dict[str, str] = field(default_factory=dict)
    elevated: set[str] = field(default_factory=set)

    def path(self, program: Program) -> str:
        """Absolute path of a program on the host; raises MissingProgram."""
        if isinstance(program, Kernel):
            path = self.kernels.get(program.name)
        else:
            fact = self.facts.tools.get(program.name)
            path = fact.path if fact is not None else self.found.get(program.name)
        if path is None:
            raise MissingProgram(program.name)
        return path

    def through_sudo(self, step: Step) -> bool:
        """Whether a step is run as root, through sudo."""
        return step.as_root and isinstance(step.program, Kernel) and step.program.name in self.elevated

    def unknown(self, names: Mapping[str, object]) -> list[str]:
        """The tools among `names` that are not in the facts and were not looked up yet."""
        return [name for name in names if name not in self.facts.tools and name not in self.found]


def process_of(part: Step | Companion, path: str, folder: str, *, sudo: bool = False) -> Process:
    """The program at `path` with the arguments of a step or companion, in `folder` of the host.

    With `sudo` it is a kernel that restarts itself as root; before, it creates the files that are collected.
    """
    argv = (path, *part.arguments)
    if isinstance(part, Step):
        return Process((path, "--sudo", ",".join(part.collect), *part.arguments) if sudo else argv, folder, part.env)
    name = part.stdout_file
    return Process(argv, folder, part.env, stdout_file=name, stderr_file=f"{name}.stderr")


def texts(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """The fetched files as text; invalid bytes become replacement characters."""
    return {name: _text(f"{folder}/{name}") for name in names}


def _text(path: str) -> str:
    with open(path, "rb") as file:  # noqa: PTH123 - thousands of small files: pathlib would double the time
        return file.read().decode("utf-8", errors="replace")

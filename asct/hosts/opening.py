"""Find a transport by its name: a module of this package that defines `make`. Nothing is registered anywhere."""

from __future__ import annotations

import ast
import importlib
from functools import cache
from pathlib import Path
from typing import cast

import asct.hosts as package
from asct.errors import UsageError
from asct.hosts import problems
from asct.hosts.base import Host
from asct.plan.model import HostSpec


@cache
def transports() -> tuple[tuple[str, str], ...]:
    """(name, one line) of every transport, sorted; read from the files' text, so that none is loaded for it."""
    found = []
    for file in sorted(file for folder in package.__path__ for file in Path(folder).glob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        if any(isinstance(node, ast.FunctionDef) and node.name == "make" for node in tree.body):
            found.append((file.stem, (ast.get_docstring(tree) or "").partition("\n")[0]))
    return tuple(found)


def make_host(spec: HostSpec, *, transport: str | None = None, folder: Path | None = None) -> Host:
    """The host of `spec`, not yet open. `transport` overrides the plan's (dryrun); relative paths start at `folder`.

    Raises UsageError for a transport that does not exist.
    """
    name = transport or spec.transport
    there = any(Path(place, f"{name}.py").is_file() for place in package.__path__)
    make = getattr(importlib.import_module(f"asct.hosts.{name}"), "make", None) if there else None
    if make is None:
        raise UsageError(problems.unknown_transport(name, [one for one, _ in transports()], spec.span))
    return cast(Host, make(spec, folder or Path.cwd()))


def open_host(spec: HostSpec, *, transport: str | None = None, folder: Path | None = None) -> Host:
    """The host of `spec`, open. Raises UsageError, or ConnectError with the way out."""
    host = make_host(spec, transport=transport, folder=folder)
    host.open()
    return host

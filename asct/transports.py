"""The transports of this installation by name, and the keys that each of them adds to the hosts of a plan.

A transport is a module or package in asct/hosts that defines `make(spec, folder)`; the first line of its docstring
describes it. If it adds keys to plans, it declares them as `TRANSPORT`. Plans, schemas and lists use this registry;
other modules name a transport only where asct chooses one or treats this machine specially: for a host without
`transport` (plan/hosts.py), a connection in an inventory (plan/inventory.py), `--host` (cli/targets.py) and the display
of a run (cli/execution.py). Listing the transports imports none of them, and only `make` imports the libraries needed
to reach a host.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Literal, NamedTuple

PACKAGE = "asct.hosts"
_PLACES = ("*.py", "*/__init__.py")


class Option(NamedTuple):
    """A key that a transport adds to the hosts in a plan. Its value is stored in `HostSpec.options` (durations in
    seconds), or in the field of `HostSpec` with the same name if the key is one of OPTION_FIELDS.

    A `path` is a readable file on this machine, and a `whole` number must lie within `bounds`. `check` returns the
    reason why a text is invalid, or an empty string. `hint` is shown together with that reason.
    """

    kind: Literal["scalar", "text", "texts", "path", "whole", "duration"]
    description: str
    check: Callable[[str], str] = lambda _: ""
    hint: str = ""
    bounds: tuple[int, int] = (0, 0)


Split = Callable[[Mapping[str, object]], list[tuple[str, Mapping[str, str]]]]
"""A function that returns the hosts to which an entry expands, given the values of `Transport.split_keys`. Each item
consists of a suffix for the host's name, and a map of the keys to keep. Raises BadValueError.
"""


class Transport(NamedTuple):
    """What a transport adds to the plan language."""

    options: Mapping[str, Option] = {}
    split_keys: tuple[str, ...] = ()
    """The keys that let one entry describe several hosts."""
    split: Split = lambda _: []


@cache
def sources() -> Mapping[str, str]:
    """Return the source code of every transport by name, sorted."""
    folders = map(Path, importlib.import_module(PACKAGE).__path__)
    files = [file for folder in folders for place in _PLACES for file in folder.glob(place)]
    named = {file.parent.name if file.name == "__init__.py" else file.stem: file for file in files}
    texts = {name: named[name].read_text(encoding="utf-8") for name in sorted(named)}
    return {name: text for name, text in texts.items() if "\ndef make(" in text}


def transports() -> tuple[tuple[str, str], ...]:
    """Return the name and one-line description of every transport, sorted."""
    return tuple((name, text.partition("\n")[0].strip('"')) for name, text in sources().items())


def module(name: str) -> ModuleType | None:
    """Import the module of a transport; return None if there is no such transport."""
    return importlib.import_module(f"{PACKAGE}.{name}") if name in sources() else None


def transport(name: str) -> Transport:
    """Return what a transport adds to the plan language, which is nothing for an unknown transport."""
    if "TRANSPORT" not in sources().get(name, ""):  # the transport need not be imported
        return Transport()
    declared = getattr(module(name), "TRANSPORT", None)
    if not isinstance(declared, Transport):
        raise TypeError(f"{PACKAGE}.{name}.TRANSPORT is not a Transport")
    return declared

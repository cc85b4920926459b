"""Report formats, one file each, found by scanning. A format never imports another.

A module of this package is a format when it defines `NAME`, `SUFFIX`, `FILE` (the file it writes, as in the results
tree), `SUMMARY` and either `render(view) -> str | bytes` or, when it writes several files, `write(view, folder)`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol, cast

from asct.analysis.view import RunView
from asct.diagnostics.model import Diagnostic
from asct.diagnostics.suggest import did_you_mean
from asct.errors import UsageError
from asct.store.files import write_atomic, writing


class Format(Protocol):
    """The interface of the modules in this package."""

    NAME: str
    SUFFIX: str
    FILE: str
    SUMMARY: str


class OneFile(Format, Protocol):
    """A format that is one document."""

    def render(self, view: RunView) -> str | bytes:
        """The whole document; the same view gives the same bytes."""
        ...


class ManyFiles(Format, Protocol):
    """A format that writes several files."""

    def write(self, view: RunView, folder: Path) -> list[Path]:
        """Write into `folder`, which exists; returns the files in order."""
        ...


def formats() -> dict[str, Format]:
    """All formats by name, sorted. One that cannot be imported fails here, loudly."""
    found: dict[str, Format] = {}
    for info in pkgutil.iter_modules(__path__):
        module = cast(Format, importlib.import_module(f"{__name__}.{info.name}"))
        if not all(isinstance(getattr(module, key, None), str) for key in ("NAME", "SUFFIX", "FILE", "SUMMARY")):
            raise TypeError(f"{__name__}.{info.name} is not a format: NAME, SUFFIX, FILE and SUMMARY are needed")
        if not (hasattr(module, "render") or hasattr(module, "write")):
            raise TypeError(f"{__name__}.{info.name} is not a format: it defines neither render nor write")
        found[module.NAME] = module
    return dict(sorted(found.items()))


def get(name: str) -> Format:
    """The format `name`; raises UsageError (E702) with the nearest name otherwise."""
    known = formats()
    if name not in known:
        raise UsageError(Diagnostic("E702", f"no report format `{name}`", hint=did_you_mean(name, known)))
    return known[name]


def render(view: RunView, name: str) -> str | bytes:
    """The document of a one-file format; raises UsageError (E702, E703)."""
    module = get(name)
    if not hasattr(module, "render"):
        message = f"`{name}` consists of several files and cannot be printed"
        raise UsageError(Diagnostic("E703", message, hint="choose a folder with `--output-dir`"))
    return cast(OneFile, module).render(view)


def write(view: RunView, name: str, folder: Path) -> list[Path]:
    """Write the report `name` into `folder` (made when missing); each file appears as a whole. Returns the files.

    Raises UsageError for an unknown format or one whose library is missing, StoreError when writing fails.
    """
    module = get(name)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    if hasattr(module, "write"):
        return cast(ManyFiles, module).write(view, folder)
    path = folder / module.FILE
    write_atomic(path, cast(OneFile, module).render(view))
    return [path]


def write_all(view: RunView, names: Iterable[str], folder: Path) -> dict[str, list[Path]]:
    """Several reports; every name is checked before the first is written."""
    chosen: Sequence[str] = list(dict.fromkeys(names))
    for name in chosen:
        get(name)
    return {name: write(view, name, folder) for name in chosen}

"""Report formats, one module each. A format never imports another.

A format defines, on three consecutive lines, `NAME`, `FILE` (the file it writes, as in the results tree) and `SUMMARY`,
and either `render(view) -> str | bytes` or, if it writes several files, `write(view, folder) -> list[Path]`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from asct.analysis.view import RunView
from asct.diagnostics.model import Diagnostic
from asct.diagnostics.suggest import did_you_mean
from asct.errors import UsageError
from asct.plan.formats import report_formats
from asct.store.files import write_atomic, writing


def get(name: str) -> ModuleType:
    """Import the format `name`. Raises UsageError (E702) with the nearest name if there is none."""
    known = report_formats()
    if name not in known:
        raise UsageError(Diagnostic("E702", f"no report format `{name}`", hint=did_you_mean(name, known)))
    module = importlib.import_module(f"{__name__}.{known[name].module}")
    if not (hasattr(module, "render") or hasattr(module, "write")):
        raise TypeError(f"{module.__name__} is not a format: it defines neither render nor write")
    return module


def render(view: RunView, name: str) -> str | bytes:
    """Return the document of a format; equal views give equal bytes. Raises UsageError (E702, E703)."""
    module = get(name)
    if not hasattr(module, "render"):
        message = f"`{name}` consists of several files and cannot be printed"
        raise UsageError(Diagnostic("E703", message, hint="choose a folder with `--output-dir`"))
    document: str | bytes = module.render(view)
    return document


def write(view: RunView, name: str, folder: Path) -> list[Path]:
    """Write the report `name` to `folder`, each file atomically, and return the paths. The folder is created if needed.

    Raises UsageError if the format is unknown or its library is missing, StoreError if writing fails.
    """
    module = get(name)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    if hasattr(module, "write"):
        paths: list[Path] = module.write(view, folder)
        return paths
    path = folder / module.FILE
    write_atomic(path, module.render(view))
    return [path]


def write_all(view: RunView, names: Iterable[str], folder: Path) -> dict[str, list[Path]]:
    """Write several reports; an unknown name is refused before the first one is written."""
    chosen = dict.fromkeys(names)
    for name in chosen:
        get(name)
    return {name: write(view, name, folder) for name in chosen}

"""Report formats, each in a module of the same name. No format imports another.

Each format defines `NAME`, `FILE` (the name of the file that it writes to the results tree) and `SUMMARY` on three
consecutive lines. It also defines either `render(view) -> str | bytes` or, if it writes several files or depends on the
folder, `documents(view, folder) -> dict[str, str]`, which returns the contents of the files, keyed by name.
"""

from __future__ import annotations

import errno
import importlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType

from asct.analysis.view import RunView
from asct.diagnostics.model import Diagnostic
from asct.errors import UsageError
from asct.plan.formats import report_formats
from asct.store.files import write_atomic, writing
from asct.store.outputs import check_output
from asct.store.ownership import record_reports, require_own
from asct.values.suggest import did_you_mean


def get(name: str) -> ModuleType:
    """Import the format `name`. Raises UsageError (E702) if there is no such format; the error suggests the closest
    name or lists all names."""
    known = report_formats()
    if name not in known:
        parts = [part.strip() for part in name.split(",")]
        several = " ".join(f"--format {part}" for part in parts)
        hint = (
            f"write `{several}`" if len(parts) > 1 else did_you_mean(name, known) or f"choose one of {', '.join(known)}"
        )
        raise UsageError(Diagnostic("E702", f"no report format `{name}`", hint=hint))
    module = importlib.import_module(f"{__name__}.{name}")
    if not (hasattr(module, "render") or hasattr(module, "documents")):
        raise TypeError(f"{module.__name__} is not a format: it defines neither `render` nor `documents`")
    return module


def render(view: RunView, name: str) -> str | bytes:
    """Return the view as a document in the format `name`, as text or bytes. Equal views result in equal documents.

    Raises UsageError if the format is unknown (E702) or consists of several files (E703).
    """
    module = get(name)
    if not hasattr(module, "render"):
        message = f"`{name}` consists of several files and cannot be printed"
        raise UsageError(Diagnostic("E703", message, hint="specify an output directory with `--output-dir`"))
    document: str | bytes = module.render(view)
    return document


def write(view: RunView, name: str, folder: Path) -> list[Path]:
    """Write one report as `write_all` does, and return the paths of its files."""
    return write_all(view, (name,), folder)[name]


def write_all(view: RunView, names: Iterable[str], folder: Path, *, replace: bool = True) -> dict[str, list[Path]]:
    """Write several reports to `folder`, each file atomically, and return the paths. Create the folder if necessary.

    Raises UsageError before anything is written if a format is unknown, its library is missing, or `replace` is false
    and a file exists. In the run folder, `replace` concerns only files that asct did not write. Raises StoreError if
    writing fails.
    """
    documents = documents_of(view, names, folder)
    files = {file: content for found in documents.values() for file, content in found.items()}
    inside = folder.resolve() == view.root.resolve()
    if not replace and inside:
        require_own(folder, files)
    elif not replace:
        for file in files:
            check_output(folder / file)
    if inside:
        record_reports(folder, files)
    for found in documents.values():
        for file, content in found.items():
            _make_parent(folder / file, folder)
            write_atomic(folder / file, content)
    return {name: [folder / file for file in found] for name, found in documents.items()}


def documents_of(view: RunView, names: Iterable[str], folder: Path) -> dict[str, Mapping[str, str | bytes]]:
    """Return the files of several formats, keyed by format and then by name in `folder`. Raises UsageError if a format
    is unknown or its library is missing."""
    modules = {name: get(name) for name in names}
    return {name: _documents(module, view, folder) for name, module in modules.items()}


def _make_parent(path: Path, folder: Path) -> None:
    """Create the folder of a file. Raises StoreError if the folder is a link, which may lead outside `folder`."""
    with writing(path):
        if path.parent != folder and path.parent.is_symlink():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        path.parent.mkdir(parents=True, exist_ok=True)


def pictures_of(view: RunView, ending: str) -> dict[str, bytes]:
    """Return the figures of a report as pictures of one kind (`png` or `svg`), keyed by file name. Raises UsageError
    (E711) if there are none."""
    from asct.analysis.earlier import with_earlier_run
    from asct.analysis.hostnames import section_with_short_hosts, short_forms
    from asct.analysis.pictures import pictures, source
    from asct.analysis.report import build
    from asct.figures.axes import Neighbors
    from asct.figures.layout import caption
    from asct.figures.render import render_sections
    from asct.figures.static import picture

    forms = short_forms([host.name for host in view.run.hosts])
    sections = [section_with_short_hosts(one, forms) for one in with_earlier_run(view, build(view).sections)]
    drawn = render_sections([Neighbors(one.figures, one.headings) for one in sections], [*forms.values()])
    captions = {figure.slug: caption(figure) for section in sections for figure in section.figures}
    return {
        f"{name}.{ending}": picture(drawn[figure.slug], figure.title, captions[figure.slug], source(view), ending)
        for name, figure in pictures(view).items()
    }


def _documents(module: ModuleType, view: RunView, folder: Path) -> Mapping[str, str | bytes]:
    """Return the file contents of a format, keyed by file name."""
    if hasattr(module, "documents"):
        found: Mapping[str, str | bytes] = module.documents(view, folder)
        return found
    return {module.FILE: module.render(view)}

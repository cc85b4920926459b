"""Open the runs that `asct diff` compares."""

from __future__ import annotations

from pathlib import Path

from asct.analysis.diff.arm_asct import read_arm_asct
from asct.analysis.diff.arm_folder import MANIFEST, is_arm_asct
from asct.analysis.diff.source import DiffSource, of_stored
from asct.sdk.benchmark import Catalog
from asct.store.find import holds_run, open_run


def open_source(results: Path, name: str, catalog: Catalog) -> DiffSource:
    """Return the run that `name` selects: a path, `latest`, `<plan>/latest`, an id or the start of one, or a label.

    Only this function determines which tool wrote a folder; it does so from the content of the folder. Raises NoSuchRun
    or StoreError.
    """
    path = Path(name)
    folder = path.parent if path.name == MANIFEST else path
    if is_arm_asct(folder) and not holds_run(folder):
        return read_arm_asct(folder, catalog)
    return of_stored(open_run(results, name), catalog)

"""Distinguish the files that asct wrote to a run folder from files of the user.

A report can be written at any time, and its file may have the name of a file of the user. Therefore, asct records the
checksum of each report in `.reports`, in the format of SHA256SUMS. A report that a user changed is a file of the user.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from asct.diagnostics.model import Diagnostic
from asct.errors import UsageError
from asct.store.checksums import checksum, content, is_intact, scan, sums_text, text_checksum
from asct.store.documents import inside, unreadable
from asct.store.files import write_atomic
from asct.store.layout import RunLayout
from asct.store.outputs import log_names

_REPORTS = ("report.html", "summary.md", "junit.xml")
RESERVED = ("run.json", "plan.yaml", "plan.resolved.json", "journal.jsonl", "records.jsonl", "facts", "jobs", "build",
            "disturbances", "SHA256SUMS", *_REPORTS, "asct.log", ".lock", ".reports", ".reserve",
           )  # fmt: skip
"""The names in a run folder that are reserved for asct."""


def record_reports(root: Path, reports: Mapping[str, str | bytes]) -> None:
    """Record the checksums of reports, keyed by path, before they are written to the run folder `root`. Earlier
    checksums remain valid in case the reports cannot be written. Raises StoreError."""
    known = _recorded(root)
    found = known | {(_checksum_of(document), path) for path, document in reports.items()}
    if found != known:
        lines = (sums_text({path: digest}) for digest, path in sorted(found, key=lambda item: item[::-1]))
        write_atomic(RunLayout(root).reports, "".join(lines))


def require_own(root: Path, reports: Iterable[str]) -> None:
    """Raise UsageError (E911) if one of the paths `reports` in the run folder `root` is a file that asct did not write,
    or that was changed since.

    Nothing is checked in a run without `.reports`, such as a run from an older version or from an archive, because
    asct may have written its reports.
    """
    recorded = _recorded(root)
    for report in reports if recorded else ():
        try:
            own = (checksum(root / report), report) in recorded
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:  # a link, a folder, or a file that cannot be read
            own = False
        if not own:
            message = f"{root / report} already exists and differs from every report that asct wrote there"
            hint = (
                "write the reports to another directory with `--output-dir DIRECTORY`, or add `--force` to overwrite it"
            )
            raise UsageError(Diagnostic("E911", message, hint=hint))


def own_reports(root: Path) -> list[Path]:
    """Return the reports that asct wrote to the run folder `root` and that were not changed since, and all reports with
    reserved names. Raises StoreError."""
    found = [root / name for name in _REPORTS if (root / name).is_file()]
    for digest, report in sorted(_recorded(root)):
        path = inside(root, report)
        if path not in found and path.is_file() and is_intact(root, report, digest):
            found.append(path)
    return found


def _checksum_of(document: str | bytes) -> str:
    return text_checksum(document) if isinstance(document, str) else hashlib.sha256(document).hexdigest()


def _recorded(root: Path) -> set[tuple[str, str]]:
    """Return the recorded checksums of reports with their paths. A run without reports has none."""
    path = RunLayout(root).reports
    try:
        lines = content(path).decode("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return set()
    except OSError as error:
        raise unreadable(path, error) from error
    return {(digest, report) for digest, _, report in (line.partition("  ") for line in lines)}


def foreign(root: Path) -> str:
    """Return the path of a file or folder next to run.json that asct did not write, or an empty string if there is
    none. The log of this command is ignored. Raises StoreError if the folder cannot be read."""
    recorded = _recorded(root)
    reports = {path for _, path in recorded}
    known = {*RESERVED, *log_names(root)}
    try:
        for entry in sorted(root.iterdir()):
            if entry.name in known or entry.match(".*.tmp"):
                continue
            files = [f"{entry.name}/{path}" for path in scan(entry).files] if entry.is_dir() else [entry.name]
            for path in files or [entry.name]:  # an empty folder is not a report
                if path not in reports or (checksum(root / path), path) not in recorded:
                    return path
    except OSError as error:
        raise unreadable(root, error) from error
    return ""

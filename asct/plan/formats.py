"""The report formats available in this installation: all modules in asct/export that contain NAME, FILE and SUMMARY.

These constants are read from the source text, because importing the formats takes a long time and is not necessary to
check a plan.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

FOLDER = Path(__file__).parents[1] / "export"
_CONSTANTS: Final = re.compile(r'^NAME = "([^"]+)"\nFILE = "([^"]+)"\nSUMMARY = "([^"]+)"$', re.MULTILINE)


class ReportFormat(NamedTuple):
    """A report format: the file that it writes and a one-line description."""

    file: str
    summary: str


def report_formats() -> dict[str, ReportFormat]:
    """Return the report formats by name, sorted."""
    found = [match for file in FOLDER.glob("*.py") for match in _CONSTANTS.findall(file.read_text(encoding="utf-8"))]
    return {name: ReportFormat(*parts) for name, *parts in sorted(found)}

"""The report formats of this installation: all modules in asct/export that contain NAME, FILE and SUMMARY.

These constants are read from the source text, because importing the formats is slow and not needed to check a plan.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

FOLDER = Path(__file__).parents[1] / "export"
_CONSTANTS: Final = re.compile(r'^NAME = "([^"]+)"\nFILE = "([^"]+)"\nSUMMARY = "([^"]+)"$', re.MULTILINE)


class ReportFormat(NamedTuple):
    """A report format: the file that it writes, a one-line description, and the name of its module."""

    file: str
    summary: str
    module: str


def report_formats() -> dict[str, ReportFormat]:
    """Return the report formats by name, sorted."""
    texts = {file.stem: file.read_text(encoding="utf-8") for file in FOLDER.glob("*.py")}
    found = ((*match, module) for module, text in texts.items() for match in _CONSTANTS.findall(text))
    return {name: ReportFormat(*parts) for name, *parts in sorted(found)}

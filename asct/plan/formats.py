"""The report formats of this installation, for `report: formats:` of a plan: every NAME in a module of asct/export.

A plan is read before anything is reported, so the modules are not imported here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

FOLDER = Path(__file__).parents[1] / "export"
_NAME: Final = re.compile(r'^NAME = "([^"]+)"$', re.MULTILINE)


def report_formats() -> tuple[str, ...]:
    """The names, sorted."""
    texts = (file.read_text(encoding="utf-8") for file in FOLDER.glob("*.py"))
    return tuple(sorted(name for text in texts for name in _NAME.findall(text)))

"""Error codes. Each is a Markdown file in errors/, found by its name and read only when its text is requested."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent / "errors"
_CODE = re.compile(r"E[1-9][0-9]{2}")


@dataclass(frozen=True, slots=True)
class ErrorText:
    """The output of `asct explain E104`. `title` is a few words; `text` is Markdown: meaning, example, fix."""

    title: str
    text: str


def lookup(code: str) -> ErrorText | None:
    """The text of a code, or None if there is no such code."""
    path = _FOLDER / f"{code}.md"
    if not _CODE.fullmatch(code) or not path.is_file():
        return None
    heading, _, text = path.read_text(encoding="utf-8").partition("\n")
    return ErrorText(heading.removeprefix("# "), text.strip())


def all_codes() -> list[str]:
    """Every code, sorted."""
    return sorted(path.stem for path in _FOLDER.glob("E*.md"))

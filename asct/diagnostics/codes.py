"""Error codes. Each code has a Markdown file of the same name in errors/, which is read only when it is needed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent / "errors"
_CODE = re.compile(r"E[1-9][0-9]{2}")


@dataclass(frozen=True, slots=True)
class ErrorText:
    """The explanation of an error code, as printed by `asct explain E104`: a short `title`, and Markdown that contains
    the meaning, an example and a fix."""

    title: str
    text: str


def lookup(code: str) -> ErrorText | None:
    """Return the explanation of a code, or None if the code does not exist."""
    path = _FOLDER / f"{code}.md"
    if not _CODE.fullmatch(code) or not path.is_file():
        return None
    heading, _, text = path.read_text(encoding="utf-8").partition("\n")
    return ErrorText(heading.removeprefix("# "), text.strip())


def all_codes() -> list[str]:
    """Return all codes, sorted."""
    return sorted(path.stem for path in _FOLDER.glob("E*.md"))

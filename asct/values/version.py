"""Extract version numbers from the output of programs."""

from __future__ import annotations

import re


def version_key(text: str) -> tuple[int, ...]:
    """Return the first dotted number in `text` ("fio-3.33" becomes (3, 33)), or an empty tuple if there is none."""
    match = re.search(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in match[0].split(".")) if match else ()

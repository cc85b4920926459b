"""Every error code and its long text, merged from the modules `codes_*.py` of this package."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable, Mapping
from functools import cache

import asct.diagnostics
from asct.diagnostics.codetext import CodeText

_CODE = re.compile(r"E[1-9][0-9]{2}")


@cache
def _all() -> Mapping[str, CodeText]:
    names = sorted(item.name for item in pkgutil.iter_modules(asct.diagnostics.__path__))
    return merge(
        (name, importlib.import_module(f"asct.diagnostics.{name}").CODES) for name in names if name.startswith("codes_")
    )


def merge(parts: Iterable[tuple[str, Mapping[str, CodeText]]]) -> dict[str, CodeText]:
    """One table of all parts, sorted by code. Raises ValueError for a malformed code or one that two parts claim."""
    owners: dict[str, str] = {}
    merged: dict[str, CodeText] = {}
    for owner, codes in parts:
        for code, text in codes.items():
            if not _CODE.fullmatch(code):
                raise ValueError(f"{owner}: `{code}` is not an error code such as E104")
            if code in owners:
                raise ValueError(f"error code {code} is claimed by {owners[code]} and by {owner}")
            owners[code] = owner
            merged[code] = text
    return dict(sorted(merged.items()))


def lookup(code: str) -> CodeText | None:
    """The long text of a code, or None when there is no such code."""
    return _all().get(code)


def all_codes() -> list[str]:
    """Every code, sorted."""
    return list(_all())

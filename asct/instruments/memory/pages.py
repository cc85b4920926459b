"""The pages that a kernel says its memory has, as flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

PAGE_FLAGS: Final = {
    "unverified-pages": "the kernel could not check which pages it got (an emulator hides it)",
    "other-pages": "pages of another kind than asked for",
    "smaller-pages": "larger pages could not be had (`pages_lost` in the kernel's output says why), so that more TLB "
    "misses are part of the value",
}
"""Every flag of `page_flags` and its meaning."""


def page_flags(meta: Mapping[str, Any]) -> tuple[str, ...]:
    """Flags of the pages that a kernel says it got."""
    flags = {
        "other-pages": meta.get("pages_asked") not in ("auto", meta.get("pages")),
        "smaller-pages": isinstance(meta.get("pages_lost"), str),
        "unverified-pages": meta.get("pages_verified") is False,
    }
    return tuple(flag for flag, holds in flags.items() if holds)

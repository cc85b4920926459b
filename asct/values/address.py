"""Host names and IP addresses."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

_NAME: Final = re.compile(r"[\w-]+(\.[\w-]+)*\.?(%[\w.-]+)?")
"""Matches a host name, an IPv4 address, an alias from ~/.ssh/config or the name of a container, optionally followed by
an IPv6 zone."""
_FOUR_NUMBERS: Final = re.compile(r"[0-9]+(\.[0-9]+){3}")
"""Matches what can only be an IPv4 address, valid or not."""


def is_address(text: str) -> bool:
    """Return whether `text` is a host name or an IP address."""
    if ":" not in text and not _FOUR_NUMBERS.fullmatch(text):
        return _NAME.fullmatch(text) is not None
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def is_malformed_ipv4(text: str) -> bool:
    """Return whether `text` consists of four numbers, but is not an IPv4 address."""
    return _FOUR_NUMBERS.fullmatch(text) is not None and not is_address(text)

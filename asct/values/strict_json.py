"""JSON as RFC 8259 defines it, without the constants NaN and Infinity, which Python also accepts by default."""

from __future__ import annotations

import json
from typing import NoReturn


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


DECODER = json.JSONDecoder(parse_constant=_refuse)
"""A single decoder for all documents, because creating one takes as long as decoding a line."""

"""What the shared options say about output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Colour = Literal["auto", "always", "never"]


@dataclass
class Look:
    """How much to print, in which form, in which colours."""

    verbosity: int = 0
    quiet: bool = False
    json: bool = False
    colour: Colour = "auto"
    progress: bool = True

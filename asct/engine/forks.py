"""How many hosts are measured side by side unless a command says otherwise."""

from __future__ import annotations

from typing import Final

FORKS: Final = 32

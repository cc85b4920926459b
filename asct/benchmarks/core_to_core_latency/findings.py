"""What speaks against a value, and what is noted beside it: words, each with its meaning."""

from __future__ import annotations

from typing import Final

from asct.instruments.memory.noise import NOISE_FLAGS
from asct.instruments.memory.pages import PAGE_FLAGS

INTERFERENCE: Final = "noisy-interference"
SIBLINGS: Final = "smt-siblings"
MISSING: Final = "noisy-missing"

FLAGS: Final = {
    **NOISE_FLAGS,
    "noisy": "the 95 % interval is wider than 5 %; of several pairs: that of more than half of them",
    INTERFERENCE: "pairs measured at the same time disturbed one another: alone they were more than 10 % faster; "
    "set `parallel: false`",
    SIBLINGS: "the two CPUs are threads of one core",
    MISSING: "between some CPUs no batch was left alone, so they have no value; repeat on an idle machine",
    **PAGE_FLAGS,
}
"""Flags of values."""

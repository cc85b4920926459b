"""What speaks against a value, and what the curve does not show: words, each with its meaning."""

from __future__ import annotations

from typing import Final

from asct.instruments.memory.noise import NOISE_FLAGS
from asct.instruments.memory.pages import PAGE_FLAGS
from asct.instruments.memory.stream_sizes import SET_FLAG

SMALL_CHAIN: Final = "small-working-set"
NOT_REACHED: Final = "invalid-target"
NO_LOAD: Final = "invalid-load"
GAPS: Final = "noisy-missing"
FLAGS: Final[dict[str, str]] = {
    **NOISE_FLAGS,
    **PAGE_FLAGS,
    SET_FLAG: "a load thread walks less than twice its share of the caches, so a part of its traffic never reached "
    "memory: free memory, or set a larger `load_size`",
    "switched": "more than a quarter of the windows were dropped since a thread lost its CPU",
    SMALL_CHAIN: "the chain is shorter than twice the last cache, so that some of its loads hit it",
    NOT_REACHED: "the load threads do not reach this bandwidth: the nearest level was measured instead",
    NO_LOAD: "in every window a thread had lost its CPU to other programs: no value under the load that was asked for",
    GAPS: "levels of load without a value were left out of the curve: measure again on an idle machine",
    "no-knee": "more load kept buying bandwidth in proportion: the memory was not saturated, so there is no knee",
    "no-latency-at-80": "no level lies below 80 % of the peak: add larger numbers of NOPs",
    "no-bandwidth-at-115": "the latency did not rise to 115 % of the idle one",
    "coarse-levels": "the next level below or above this value is more than a quarter of the peak bandwidth away",
    "above-theoretical": "more than the theoretical peak: the modules are not as the firmware or the setting says, or "
    "the caches served a part",
}
"""Every flag of this benchmark."""

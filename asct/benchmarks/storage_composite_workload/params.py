"""Settings for storage-composite-workload: the block sizes, access ranges and read share of the workload."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import AfterValidator

from asct.instruments.fio.params import Distribution
from asct.instruments.qualification.demand_plan import DemandParams
from asct.instruments.qualification.settings import SEQUENTIAL_BLOCK, Workload
from asct.sdk.benchmark import Unsuitable
from asct.sdk.params import Count, Size, setting
from asct.values.size import parse_size

_MIX: Final = re.compile(r"[0-9]+[KM]?/[0-9]{1,3}(:[0-9]+[KM]?/[0-9]{1,3}){0,63}")


def _known(text: str) -> str:
    """Check that the text describes a mix of request sizes, and return it in uppercase. Raises ValueError if it does
    not."""
    if not _MIX.fullmatch(text.upper()):
        raise ValueError(
            f"`{text}` is not a mix of request sizes; write each size with its share in percent, such as `4K/70:64K/30`"
        )
    return text.upper()


Mix = Annotated[str, AfterValidator(_known)]
"""Request sizes with their shares; accepts text such as `4k/70:64k/30`."""
JESD219_SIZES: Final = "512/4:1K/1:1536/1:2K/1:2560/1:3K/1:3584/1:4K/67:8K/10:16K/7:32K/3:64K/3"
JESD219_RANGES: Final = "zoned:50/5:30/15:20/80"
"""The enterprise workload from JEDEC JESD219, which SNIA uses: half of the requests go to the first 5 % of the range,
30 % to the next 15 %, and 20 % to the rest."""
_LARGEST: Final = 128 * 2**20
_SECTOR: Final = 512


class CompositeParams(DemandParams):
    """Settings for the demand test and the composite workload."""

    bssplit: Mix = setting(
        JESD219_SIZES,
        "Request sizes and their shares in percent, in the form `size/percent:size/percent`",
        aliases=("mix",),
    )
    random_distribution: Distribution = setting(
        JESD219_RANGES, "Distribution of the offsets; `zoned:50/5` directs 50 % of the requests to 5 % of the range"
    )
    rwmixread: Count = setting(40, "Percentage of reads in the measured workload", le=100)
    blockalign: Size = setting(
        4096,
        "Alignment of the requests",
        ge=_SECTOR,
        le=2**20,
        pitfalls="With an alignment of 512 bytes, most requests span two pages of the flash memory, which slows "
        "down every drive.",
    )

    @property
    def sizes(self) -> tuple[int, ...]:
        """The block sizes that must divide the active range evenly. The request sizes of the mix are not included,
        because the offsets of these requests are random."""
        return (SEQUENTIAL_BLOCK,)

    @property
    def queue_depths(self) -> tuple[int, ...]:
        """All queue depths per job that the test uses."""
        return self.demand_plan().depths

    @property
    def shares(self) -> dict[int, int]:
        """Maps each request size in bytes to its share in percent."""
        pairs = (part.split("/") for part in self.bssplit.split(":"))
        return {parse_size(size): int(share) for size, share in pairs}

    @property
    def prewrites(self) -> Workload:
        """The composite workload without reads, which brings the drive to steady state."""
        return self._workload(0)

    @property
    def demanded(self) -> Workload:
        """The composite workload to measure, which has the read percentage in the settings."""
        return self._workload(self.rwmixread)

    def _workload(self, reads: int) -> Workload:
        mean = sum(size * share for size, share in self.shares.items()) / 100.0
        options: dict[str, str | int] = {
            "bssplit": ":".join(f"{size}/{share}" for size, share in self.shares.items()),
            "random_distribution": self.random_distribution, "blockalign": self.blockalign,
        }  # fmt: skip
        return Workload(round(mean / _SECTOR) * _SECTOR, reads, title="mix", options=tuple(options.items()))

    def on(self, logical_block: int) -> CompositeParams:
        """Return the settings for a target with this logical block size: request sizes smaller than a block are
        omitted, and their share is added to the share of the smallest remaining size. Raises Unsuitable if the target
        supports none of the sizes."""
        shares = {size: share for size, share in self.shares.items() if size % logical_block == 0}
        if not shares:
            raise Unsuitable(
                f"no request size in `bssplit` is a multiple of the target's logical block size ({logical_block} bytes)"
                "; use 4K or more"
            )
        shares[min(shares)] += 100 - sum(shares.values())
        split = ":".join(f"{size}/{share}" for size, share in shares.items())
        return self.model_copy(update={"bssplit": split, "blockalign": max(self.blockalign, logical_block)})


def mix_at_odds(params: CompositeParams) -> Iterator[tuple[str, str]]:
    """Yield each contradictory setting with a message and a hint."""
    shares = params.shares
    if len(shares) <= params.bssplit.count(":"):
        yield "bssplit", "contains a size twice; combine the shares of equal sizes"
    elif sum(shares.values()) != 100:
        yield "bssplit", f"the shares add up to {sum(shares.values())} %, but must add up to 100 %"
    if any(size % _SECTOR or not 0 < size <= _LARGEST for size in shares):
        yield "bssplit", "the size of direct requests must be a multiple of 512 bytes and at most 128 MiB"
    if params.blockalign % _SECTOR:
        yield "blockalign", "is not a multiple of 512; round it"

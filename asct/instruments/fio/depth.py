"""Select an engine that supports the queue depth in the settings.

For io_uring, fio before 3.39 rounds `iodepth` up to a power of two, but resumes submitting only once the queue has
drained to `iodepth` (engines/io_uring.c; verified with 3.33). With a depth of 5, it fills the queue to 8 and lets it
drain to 5, so 7 requests are in flight on average. libaio supports every depth for direct requests, but submits
buffered ones one at a time.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from asct.instruments.fio.jobfile import ENGINE_OPTIONS
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.sections import chosen_engine, has_engine
from asct.sdk.benchmark import Benchmark
from asct.sdk.params import Params
from asct.values.cpulist import format_cpulist
from asct.values.version import version_key

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts

EXACT_FIO: Final = "3.39"
"""The first version of fio whose io_uring engine does not round the depth."""
_IO_URING_ONLY: Final = ENGINE_OPTIONS["io_uring"] - ENGINE_OPTIONS["libaio"]

P = TypeVar("P", bound=Params)


def is_rounded(load: FioParams, facts: HostFacts) -> bool:
    """Return whether the host's fio rounds the queue depth of `load`. An unknown version is treated as an old one."""
    tool = facts.tools.get("fio")
    return rounds(chosen_engine(load, facts), load.iodepth, (tool.version if tool else "") or "")


def rounds(engine: str, iodepth: int, version: str) -> bool:
    """Return whether this version of fio rounds a queue depth."""
    return engine == "io_uring" and iodepth.bit_count() != 1 and version_key(version) < version_key(EXACT_FIO)


class DepthBenchmark(Benchmark[P]):
    """A benchmark that runs fio with an engine that supports every queue depth in the job."""

    @abstractmethod
    def loads(self, params: P) -> Sequence[FioParams]:
        """Return the fio settings for a point: one item per section and depth."""

    def settle(self, points: Sequence[P], facts: HostFacts) -> Sequence[P]:
        """Return the points of a job, with `auto` replaced by an engine that supports every depth.

        If fio would round the depth of any point, all points use libaio, so that no curve mixes engines. The points
        remain unchanged if the host or a point does not permit libaio; in that case, `cautions` reports that fio will
        round the depths.
        """
        chosen = [load for point in points for load in self.loads(point) if load.engine == "auto"]
        permitted = has_engine("libaio", facts) and all(map(_suits_libaio, chosen))
        if not permitted or not any(is_rounded(load, facts) for load in chosen):
            return points
        return [
            point.model_copy(update={"engine": "libaio"})
            if any(load.engine == "auto" for load in self.loads(point))
            else point
            for point in points
        ]

    def cautions(self, points: Sequence[P], facts: HostFacts) -> Iterator[tuple[str, str]]:
        """Yield a message and a hint if fio will round the depth of any point."""
        rounded = [load for point in points for load in self.loads(point) if is_rounded(load, facts)]
        if not rounded:
            return
        tool = facts.tools.get("fio")
        have = f"the host has {tool.version}" if tool and tool.version else "the version on the host is unknown"
        depths = format_cpulist({load.iodepth for load in rounded})
        cures = [f"set `iodepth` to powers of two, or install fio {EXACT_FIO} or newer"]
        if not all(load.direct for load in rounded):
            cures.insert(0, "set `direct` to true; libaio then maintains every depth")
        elif all(map(_suits_libaio, rounded)) and has_engine("libaio", facts):
            cures.insert(0, "set `engine` to libaio")
        what = f"fio before {EXACT_FIO} rounds it up to a power of two, so more requests are in flight ({have})"
        yield f"io_uring does not maintain `iodepth` {depths}: {what}", ", ".join(cures)


def _suits_libaio(load: FioParams) -> bool:
    return (load.direct or load.iodepth == 1) and _IO_URING_ONLY.isdisjoint(load.options)

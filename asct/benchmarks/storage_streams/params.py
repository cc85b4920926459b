"""Settings for storage-streams: the streams, and the workloads that run them alone and together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator

from asct.instruments.fio.params import Pattern
from asct.instruments.qualification.settings import (
    SEQUENTIAL_BLOCK,
    Phase,
    QualificationParams,
    TrackedMetric,
    Workload,
    size_name,
)
from asct.sdk.benchmark import Unsuitable
from asct.sdk.params import Count, listed, setting
from asct.values.size import parse_size

_STREAM: Final = re.compile(r"(RND|SEQ) ([0-9]+[KM]?) ([RW])(?: Q([0-9]{1,5}))?")
ALL: Final = "all"
ALONE: Final = "alone"
TOGETHER: Final = "together"
_SECTOR: Final = 512
_DEEPEST: Final = 65536
_LARGEST: Final = 128 * 2**20


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of requests that have the same pattern, size and direction. `depth` is its queue depth per job, or None
    for the depth in the settings."""

    random: bool
    block_size: int
    reads: bool
    depth: int | None

    @classmethod
    def of(cls, text: str) -> Stream:
        """Read a stream such as `RND 4K W` or `SEQ 128K R Q8`. Raises ValueError for anything else."""
        found = _STREAM.fullmatch(text)
        if found is None:
            raise ValueError(
                f"`{text}` is not a stream; write `RND` or `SEQ`, a request size, `R` or `W` and, optionally, "
                "a queue depth, such as `RND 4K W` or `SEQ 128K R Q8`"
            )
        access, size, direction, depth = found.groups()
        return cls(access == "RND", parse_size(size), direction == "R", int(depth) if depth else None)

    @property
    def name(self) -> str:
        """SNIA's notation, without the queue depth: `RND 4k W`."""
        return f"{'RND' if self.random else 'SEQ'} {size_name(self.block_size)} {'R' if self.reads else 'W'}"

    @property
    def slug(self) -> str:
        """The name used in step names and in the job file."""
        return self.name.lower().replace(" ", "-")

    @property
    def rw(self) -> Pattern:
        """fio's name for the pattern."""
        return self.alone.rw

    @property
    def alone(self) -> Workload:
        """The workload in which this stream runs alone."""
        place = (("stream", self.name), ("load", ALONE))
        options = () if self.depth is None else (("iodepth", self.depth),)
        return Workload(self.block_size, 100 if self.reads else 0, self.random, self.slug, options, place)

    @property
    def section(self) -> str:
        """The section that describes the stream in a fio job file."""
        depth = "" if self.depth is None else f"iodepth={self.depth}\n"
        return f"[{self.slug}]\nrw={self.rw}\nbs={self.block_size}\n{depth}"


def together(streams: Sequence[Stream]) -> Workload:
    """Return the workload in which all streams run at the same time. The workload is treated as a write workload if any
    stream writes."""
    sections = "".join(stream.section for stream in streams)
    return Workload(
        max(stream.block_size for stream in streams),
        100 if all(stream.reads for stream in streams) else 0,
        random=False,
        title=TOGETHER,
        options=(("job_file", sections),),
        place=(("stream", ALL), ("load", TOGETHER)),
    )


def _known(text: str) -> str:
    """Check that the text describes a stream, and return it in uppercase. Raises ValueError if it does not."""
    Stream.of(text.upper())
    return text.upper()


StreamTexts = Annotated[tuple[Annotated[str, AfterValidator(_known)], ...], BeforeValidator(listed)]
"""Streams; accepts text such as `SEQ 128K W, RND 4K W`."""


class StorageStreamsParams(QualificationParams):
    """Settings for the streams, in addition to the shared settings."""

    streams: StreamTexts = setting(
        ("SEQ 128K W", "RND 4K W"),
        "Streams to measure; each consists of `RND` or `SEQ`, a request size, `R` or `W` and, optionally, a queue "
        "depth per job, for example `RND 4K W` or `SEQ 128K R Q8`",
        aliases=("io_streams",),
        min_length=1,
        max_length=16,
        pitfalls="Each stream issues as many requests as its queue depth permits. To give a stream a smaller share of "
        "the requests, lower its queue depth.",
    )
    numjobs: Count = setting(
        1,
        "Number of concurrent processes for each stream",
        aliases=("nj",),
        ge=1,
        le=1024,
        pitfalls="With several processes, a sequential stream does not continue where its previous round stopped.",
    )
    iodepth: Count = setting(32, "Queue depth per job", aliases=("iod", "queue_depth"), ge=1, le=65536)

    def parsed(self) -> tuple[Stream, ...]:
        """Return the streams that the texts in the settings describe."""
        return tuple(map(Stream.of, self.streams))

    @property
    def sizes(self) -> tuple[int, ...]:
        """All block sizes that the test uses, including the one for preconditioning."""
        return (SEQUENTIAL_BLOCK, *(stream.block_size for stream in self.parsed()))

    @property
    def queue_depths(self) -> tuple[int, ...]:
        """All queue depths per job that the streams use."""
        return tuple(self.iodepth if stream.depth is None else stream.depth for stream in self.parsed())

    def supported(self, logical_block: int) -> tuple[Stream, ...]:
        """Return the streams that the target supports. Raises Unsuitable if it does not support all of them, because
        fewer streams would form a different workload."""
        small = [stream.name for stream in self.parsed() if stream.block_size % logical_block]
        if small:
            raise Unsuitable(
                f"the request sizes of {', '.join(small)} are not multiples of the target's logical block size "
                f"({logical_block} bytes); use 4K or more"
            )
        return self.parsed()

    def phases(self, logical_block: int) -> tuple[Phase, ...]:
        """Return a phase for all streams together and for each stream alone (with the `pts` profile), or a single phase
        that tracks all streams together (with the `fast` profile)."""
        streams = self.supported(logical_block)
        cells = (together(streams), *(stream.alone for stream in streams))
        groups = [cells] if self.profile == "fast" else [(cell,) for cell in cells]
        return tuple(self._phase(group, len(groups) > 1) for group in groups)

    def _phase(self, cells: tuple[Workload, ...], several: bool) -> Phase:
        name = f"{cells[0].title}-" if several else ""
        tracked = (TrackedMetric(cells[0], "iops"),)
        return Phase(name, cells, tracked, SEQUENTIAL_BLOCK, self.round_time, self.ramp_time)


def streams_at_odds(params: StorageStreamsParams) -> Iterator[tuple[str, str]]:
    """Yield each contradictory setting with a message and a hint."""
    streams = params.parsed()
    if len(streams) < 2:
        yield "streams", "contains only one stream; specify at least two, or use storage-iops or storage-throughput"
    if len({stream.name for stream in streams}) < len(streams):
        yield "streams", "contains a stream twice; list each stream only once, or raise `numjobs`"
    if not all(0 < depth <= _DEEPEST for depth in params.queue_depths):
        yield "streams", f"the queue depth of a stream must be between 1 and {_DEEPEST}"
    if any(stream.block_size % _SECTOR or not 0 < stream.block_size <= _LARGEST for stream in streams):
        yield "streams", "the size of direct requests must be a multiple of 512 bytes and at most 128 MiB"

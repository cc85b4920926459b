"""The settings of storage-write-saturation."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BeforeValidator

from asct.benchmarks.storage_write_saturation.course import Goal
from asct.instruments.qualification.phase import Cell, Phase
from asct.instruments.qualification.settings import QualificationParams
from asct.sdk.params import Count, Duration, Size, setting

Pattern = Literal["randwrite", "randrw", "write", "rw"]

RUN: Final = ("profile", "round_time", "rw", "rwmixread", "block_size", "numjobs", "iodepth")
"""Coordinates of `rounds`: what was really run, for tables and reports."""


def _pattern(value: object) -> object:
    """fio's long spelling of a mixed sequential pattern."""
    return "rw" if value == "readwrite" else value


class SaturationParams(QualificationParams):
    """The shared settings, the workload, and what ends the test."""

    precondition: Count = setting(
        0,
        "Times the active range is written before the rounds; the test begins on a purged drive",
        aliases=("preconditioning",),
        le=10,
    )
    rw: Annotated[Pattern, BeforeValidator(_pattern)] = setting(
        "randwrite", "Access pattern of the rounds", aliases=("rw_pattern", "readwrite")
    )
    block_size: Size = setting(4096, "Bytes per request", aliases=("blocksize", "bs"), ge=512, le=2**27)
    rwmixread: Count = setting(0, "Share of reads in a mixed pattern, in percent", le=99)
    volume_factor: float = setting(4.0, "Times the active range that is written", gt=0, le=1000)
    time_cap: Duration = setting(
        86400.0, "Time after which the test ends, whatever was written", gt=0, le=60 * 86400, aliases=("max_time",)
    )
    sample_time: Duration | None = setting(
        None,
        "Time of one sample of the steady state that may end the test (SNIA: 30m); 0s: it ends nothing. Unless set: "
        "0s with the profile pts, one round with fast",
        le=86400,
    )
    histogram_time: Duration = setting(
        1200.0, "Time of the last run, whose latencies make the histogram; 0s leaves it out", le=86400
    )

    @property
    def cell(self) -> Cell:
        """The workload."""
        mixed = self.rw in ("randrw", "rw")
        return Cell(self.block_size, self.rwmixread if mixed else 0, random=self.rw.startswith("rand"))

    @property
    def phase(self) -> Phase:
        """Purge and preconditioning; the rounds end by rules of their own, so nothing is tracked."""
        return Phase("", (self.cell,), (), self.sizes[0], self.round_time, self.ramp_time)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Every block size that is used."""
        return (*super().sizes, self.block_size)

    def goal(self, span: int) -> Goal:
        """What ends the test on an active range of `span` bytes."""
        sample_s = self.sample_time
        if sample_s is None:
            sample_s = self.round_time if self.profile == "fast" else 0.0
        written = round(self.volume_factor * span)
        return Goal(written, self.time_cap, sample_s, self.steady_volume * span, self.rule)

"""The processes of a point: fio with its job file, mpstat beside it, and once per job the layout of the file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from asct.sdk.benchmark import Context
from asct.sdk.fio.engines import chosen_engine
from asct.sdk.fio.jobfile import job_file
from asct.sdk.fio.params import SCRATCH_NAME, FioParams
from asct.sdk.fio.span import span_of
from asct.sdk.step import Companion, Step, Tool

JOB_FILE: Final = "job.fio"
RESULT_FILE: Final = "fio.json"
CPU_FILE: Final = "mpstat.json"
LOG_FILE: Final = "point_iops.log"
_SECTION: Final = "point"
_SLOWEST_LAYOUT_BYTES_PER_S: Final = 10_000_000
_LAYOUT_BLOCK: Final = 2**20
_LOG_SAMPLES: Final = 12
_CPU_SAMPLES: Final = 120
_CPU_GRACE_S: Final = 60.0
"""How long mpstat goes on after fio should have ended: when asct is killed, nobody ends it."""
_SHORTEST_LOG_MS: Final = 100
_ENV: Final = {"LC_ALL": "C"}
_CPU_ENV: Final = {"LC_ALL": "C", "S_TIME_FORMAT": "ISO", "TZ": "UTC0"}


def layout_steps(points: Sequence[FioParams], context: Context) -> Sequence[Step]:
    """Write the temporary file whole, if any point uses it: random content, allocated, synced.

    A sparse or preallocated file would be read from memory at any speed. It is as large as the largest point needs.
    """
    sizes = [scratch_bytes(point) for point in points if point.makes_file]
    if not sizes:
        return ()
    size = max(sizes)
    options = {
        "rw": "write", "bs": str(_LAYOUT_BLOCK), "size": str(size), "ioengine": "psync", "direct": "0",
        "fallocate": "none", "refill_buffers": "1", "randrepeat": "1", "randseed": str(points[0].seed),
        "end_fsync": "1",
    }  # fmt: skip
    return (
        Step(
            name="layout",
            program=Tool("fio"),
            arguments=("--output-format=json", f"--output={RESULT_FILE}", "--eta=never", JOB_FILE),
            files={JOB_FILE: job_file("layout", options, [scratch_path(context)])},
            collect=(RESULT_FILE,),
            env=_ENV,
            timeout_s=60.0 + size / _SLOWEST_LAYOUT_BYTES_PER_S,
        ),
    )


def scratch_bytes(params: FioParams) -> int:
    """Size of the temporary file for one point: whole MiB, so that the layout writes it to the last byte."""
    return -(-(params.span_bytes or 0) // _LAYOUT_BLOCK) * _LAYOUT_BLOCK


def scratch_path(context: Context) -> str:
    """The temporary file of the job."""
    return f"{context.work.rstrip('/')}/{SCRATCH_NAME}"


def point_steps(params: FioParams, context: Context) -> Sequence[Step]:
    """One fio process; nothing more when it is done."""
    if context.done:
        return ()
    names = [scratch_path(context)] if params.makes_file else list(params.file_names)
    arguments = ["--output-format=json+", f"--output={RESULT_FILE}", "--eta=never"]
    if not params.writes:
        arguments.append("--readonly")
    return (
        Step(
            name=_SECTION,
            program=Tool("fio"),
            arguments=(*arguments, JOB_FILE),
            files={JOB_FILE: job_file(_SECTION, _options(params, chosen_engine(params, context.facts)), names)},
            collect=(RESULT_FILE, LOG_FILE, CPU_FILE),
            companions=_companions(params, context),
            env=_ENV,
        ),
    )


def _companions(params: FioParams, context: Context) -> tuple[Companion, ...]:
    if "mpstat" not in context.facts.tools:
        return ()
    interval = cpu_interval_s(params)
    samples = math.ceil((params.ramp_time + params.duration + _CPU_GRACE_S) / interval)
    arguments = ("-o", "JSON", "-P", "ALL", str(interval), str(samples))
    return (Companion(Tool("mpstat"), arguments, CPU_FILE, _CPU_ENV),)


def cpu_interval_s(params: FioParams) -> int:
    """Seconds between samples of mpstat: 1, more in long runs so that hundreds of CPUs still make a small file."""
    return max(1, math.ceil(params.duration / _CPU_SAMPLES))


def log_interval_ms(params: FioParams) -> int:
    """Length of one sample of the rate log: 1 s, shorter for runs below 12 s."""
    return min(1000, max(_SHORTEST_LOG_MS, round(params.duration * 1000 / _LOG_SAMPLES)))


def _options(params: FioParams, engine: str) -> dict[str, str]:
    """fio's options. Sizes are plain byte counts (fio reads 4KiB as 4000), times are in milliseconds."""
    span = span_of(params)
    options = {"rw": params.rw, "bs": str(params.block_size)}
    if params.mixed:
        options["rwmixread"] = str(params.rwmixread)
    options |= {"ioengine": engine, "iodepth": str(params.iodepth)}
    if params.iodepth_batch > 1:
        options["iodepth_batch_submit"] = str(min(params.iodepth_batch, params.iodepth))
    options |= {"numjobs": str(params.numjobs), "group_reporting": "0", "direct": str(int(params.direct))}
    if span.size is not None:
        options["size"] = span.size
    if span.offset_increment is not None:
        options["offset_increment"] = span.offset_increment
    options |= {"time_based": "1", "runtime": _milliseconds(params.duration)}
    if params.ramp_time > 0:
        options["ramp_time"] = _milliseconds(params.ramp_time)
    options |= {
        "randrepeat": "1", "randseed": str(params.seed), "norandommap": "1",
        "allow_file_create": "0", "fallocate": "none",
        "slat_percentiles": "1", "clat_percentiles": "1", "lat_percentiles": "1",
        "write_iops_log": _SECTION, "log_avg_msec": str(log_interval_ms(params)), "per_job_logs": "0",
    }  # fmt: skip
    return options


def _milliseconds(seconds: float) -> str:
    return f"{max(1, round(seconds * 1000))}ms"

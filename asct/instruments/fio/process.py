"""The processes of a point: fio under guard, and mpstat. Once per job, a process lays out the temporary file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from asct.instruments.fio.jobfile import job_file, option_text
from asct.instruments.fio.params import SCRATCH_NAME, FioParams, passed_options
from asct.instruments.fio.raid import raid_set
from asct.instruments.fio.sections import (
    LAYOUT_BLOCK,
    chosen_engine,
    job_count,
    node_matters,
    range_options,
    scratch_bytes,
    sections_of,
    stages_of,
    used_cpus,
    writes,
)
from asct.instruments.guard_output import GuardTarget, read_guard_output
from asct.sdk.benchmark import Context
from asct.sdk.facts import HostFacts
from asct.sdk.guard import Access, StopRule, Target, guarded, handle_path, inspection
from asct.sdk.needs import Needs
from asct.sdk.step import Companion, Step, Tool
from asct.values.cpulist import format_cpulist


def section_options(params: FioParams, facts: HostFacts, cpus: Sequence[int]) -> dict[str, str]:
    """Return the fio options for one section. Raises ValueError if the host's fio does not support one of them.

    Sizes are plain byte counts, because fio reads 4KiB as 4000. Times include their unit.
    """
    engine = chosen_engine(params, facts)
    options = {"rw": params.rw, "bs": str(params.block_size)}
    if params.mixed:
        options["rwmixread"] = str(params.rwmixread)
    options |= {"ioengine": engine, "iodepth": str(params.iodepth)}
    if params.iodepth_batch > 1:
        options["iodepth_batch_submit"] = str(min(params.iodepth_batch, params.iodepth))
    options |= {"numjobs": str(params.numjobs), "group_reporting": "0", "direct": str(int(params.direct))}
    options |= range_options(params) | _length(params)
    if cpus:
        options |= {"cpus_allowed": format_cpulist(cpus), "cpus_allowed_policy": "split"}
    if params.memory_node is not None:
        options["numa_mem_policy"] = f"bind:{params.memory_node}"
    options |= {
        "randrepeat": "1", "randseed": str(params.seed), "scramble_buffers": "1",
        "allow_file_create": "0", "fallocate": "none", "verify_state_save": "0",
        "slat_percentiles": "1", "clat_percentiles": "1", "lat_percentiles": "1",
    }  # fmt: skip
    return options | _unchanged_options(params, engine, facts)


def _length(params: FioParams) -> dict[str, str]:
    """Return the options that end the run after a given time or, with a time limit, after a given amount of data (in
    whole requests)."""
    options = {"runtime": f"{max(1, round(params.duration * 1000))}ms"}
    if params.io_size is None:
        options["time_based"] = "1"
    else:
        options["io_size"] = str(-(-params.io_size // params.numjobs // params.block_size) * params.block_size)
    if params.ramp_time > 0:
        options["ramp_time"] = f"{max(1, round(params.ramp_time * 1000))}ms"
    return options


def _unchanged_options(params: FioParams, engine: str, facts: HostFacts) -> dict[str, str]:
    """Return the settings and options that are passed to fio unchanged, except those that the engine does not
    support."""
    found = passed_options(params, engine) | {name: option_text(value) for name, value in params.options.items()}
    tool = facts.tools.get("fio")
    known = set(tool.options if tool else ())
    missing = [name for name in found if known and name not in known and f"{engine}.{name}" not in known]
    if missing:
        raise ValueError(
            f"fio on this host does not support {', '.join(missing)} (see `fio --cmdhelp=all` and `fio "
            f"--enghelp={engine}`); remove the option, or install a newer fio"
        )
    return found


JOB_FILE: Final = "job.fio"
RESULT_FILE: Final = "fio.json"
CPU_FILE: Final = "mpstat.json"
PROGRAM_FILE: Final = "program.stdout"
"""File for fio's output other than its result. guard does not mix this output with its own."""
INSPECTION: Final = "inspect"
_SLOWEST_LAYOUT_BYTES_PER_S: Final = 10_000_000
_REPORTS: Final = 12
_MOST_REPORTS: Final = 120
_MOST_JOB_REPORTS: Final = 600
"""Maximum number of job reports. Each takes 15 to 30 kB, so this limit keeps the result file of a long run with many
jobs below 20 MB."""
_SHORTEST_REPORT_S: Final = 0.3
_CPU_SAMPLES: Final = 120
_CPU_GRACE_S: Final = 60.0
"""Delay, in seconds, between fio's expected end and the time at which mpstat exits on its own. If asct is killed,
nothing else stops mpstat."""
_ENV: Final = {"LC_ALL": "C"}
_CPU_ENV: Final = {"LC_ALL": "C", "S_TIME_FORMAT": "ISO", "TZ": "UTC0"}


def layout_steps(points: Sequence[FioParams], context: Context) -> Sequence[Step]:
    """Return the step that fills the temporary file with random content and syncs it, if any point uses the file.

    The file is large enough for every point. If it had no content, reads would not reach the drive. guard has nothing
    to check, because the file is new and is in the work folder.
    """
    sizes = [scratch_bytes(point) for point in points if point.makes_file]
    if not sizes:
        return ()
    size = max(sizes)
    options = {
        "rw": "write", "bs": str(LAYOUT_BLOCK), "size": str(size), "ioengine": "psync", "direct": "0",
        "fallocate": "none", "refill_buffers": "1", "randrepeat": "1", "randseed": str(points[0].seed),
        "end_fsync": "1",
    }  # fmt: skip
    return (
        Step(
            name="layout",
            program=Tool("fio"),
            arguments=("--output-format=json", f"--output={RESULT_FILE}", "--eta=never", JOB_FILE),
            files={JOB_FILE: job_file({"layout": options}, [scratch_path(context)])},
            collect=(RESULT_FILE,),
            env=_ENV,
            timeout_s=60.0 + size / _SLOWEST_LAYOUT_BYTES_PER_S,
        ),
    )


def scratch_path(context: Context) -> str:
    """Return the path of the job's temporary file."""
    return f"{context.work.rstrip('/')}/{SCRATCH_NAME}"


def targets_of(params: FioParams, context: Context, *, dirty: bool = False) -> tuple[Target, ...]:
    """Return the targets of the point. Write access is requested only for a pattern that changes its target, and for
    the members of a RAID set.

    A target is dirty if `dirty` is set, or if the run has already written to it.
    """
    access: Access = "write" if writes(params) or params.raid_level is not None else "read"
    if params.makes_file:
        return (Target(scratch_path(context), access, dirty=True),)
    return tuple(
        _target(name, access, params, context, dirty or name in context.written_paths) for name in params.file_names
    )


def _target(name: str, access: Access, params: FioParams, context: Context, dirty: bool) -> Target:
    consent = context.consents.get(name)
    if access == "read" or consent is None:
        return Target(name, access, overwrite=params.overwrite and access == "write", dirty=dirty)
    return Target(name, access, consent.serial, consent.overwrite, dirty)


def fio_step(
    params: FioParams,
    context: Context,
    name: str = "point",
    *,
    dirty: bool = False,
    stop: StopRule | None = None,
) -> Step:
    """Return the step that runs one fio process under guard, and mpstat at the same time.

    `dirty` means that this repeat has already written to its targets. `stop` lets guard stop fio early.
    """
    targets = targets_of(params, context, dirty=dirty)
    cpus = used_cpus(params, context.facts, _drive_node(context))
    sections = {title: section_options(section, context.facts, cpus) for title, section in sections_of(params)}
    arguments = ["--output-format=json+", f"--output={RESULT_FILE}", "--eta=never"]
    arguments.append(f"--status-interval={round(report_interval_s(params) * 1000)}ms")
    if not writes(params):
        arguments.append("--readonly")
    step = Step(
        name=name,
        program=Tool("fio"),
        arguments=(*arguments, JOB_FILE),
        files={JOB_FILE: job_file(sections, [handle_path(index) for index in range(params.target_count)])},
        collect=(RESULT_FILE, CPU_FILE, PROGRAM_FILE),
        companions=_companions(params, context),
        env=_ENV,
    )
    tool, raid = context.facts.tools.get("fio"), raid_set(params, context.facts)
    return guarded(step, tool.path if tool else "fio", targets, stop=stop, raid=raid)


def limit_s(params: FioParams) -> float:
    """Return the time limit, in seconds, for one process in a long test. Because of this limit, a hanging process does
    not block the whole test."""
    return Needs(seconds=params.duration + params.ramp_time).limit_s


def point_steps(params: FioParams, context: Context) -> Sequence[Step]:
    """Return the next steps: one fio process per stage, preceded by an inspection if the choice of CPUs depends on the
    drive's NUMA node."""
    names = [output.step.name for output in context.done]
    if not names and node_matters(params, context.facts):
        return (inspection([Target(one.path, "read") for one in targets_of(params, context)], INSPECTION),)
    return () if names and names[-1] != INSPECTION else tuple(_stage_steps(params, context))


def _stage_steps(params: FioParams, context: Context) -> Iterator[Step]:
    """Yield the step of each stage. A target is dirty if an earlier stage of the point writes to it."""
    stages = stages_of(params)
    if len(stages) == 1:
        yield fio_step(stages[0].params, context)
        return
    dirty = False
    for number, stage in enumerate(stages, start=1):
        step = fio_step(stage.params, context, f"stage-{number}", dirty=dirty)
        yield replace(step, label=f"stage {number} of {len(stages)}: {stage.name}")
        dirty = dirty or writes(stage.params)


def _drive_node(context: Context) -> int | None:
    """Return the NUMA node of the drives according to the preceding inspection, or None if there was no inspection."""
    output = next((one for one in context.done if one.step.name == INSPECTION), None)
    return None if output is None else node_of(read_guard_output(output).drives)


def node_of(devices: Sequence[GuardTarget]) -> int | None:
    """Return the NUMA node of all drives, or None if it is unknown or the drives are on different nodes."""
    nodes = {device.scalar("numa_node") for device in devices}
    node = nodes.pop() if len(nodes) == 1 else None
    return node if isinstance(node, int) and node >= 0 else None


def _companions(params: FioParams, context: Context) -> tuple[Companion, ...]:
    if "mpstat" not in context.facts.tools:
        return ()
    interval = cpu_interval_s(params)
    samples = math.ceil((params.ramp_time + params.duration + _CPU_GRACE_S) / interval)
    arguments = ("-o", "JSON", "-P", "ALL", str(interval), str(samples))
    return (Companion(Tool("mpstat"), arguments, CPU_FILE, _CPU_ENV),)


def cpu_interval_s(params: FioParams) -> int:
    """Return the seconds between mpstat samples: 1, or more in long runs to limit the output for many CPUs."""
    return max(1, math.ceil(params.duration / _CPU_SAMPLES))


def report_interval_s(params: FioParams) -> float:
    """Return the seconds between fio's reports: usually 1, but less in runs shorter than 12 s, and more in runs that
    would otherwise have too many reports. If possible, the result is a multiple of 0.1 s: Linux limits the rate of a
    device in slices of 0.1 s (blk-throttle.c), so intervals with different numbers of slices would seem to have
    different rates.
    """
    tenths = math.floor(10.0 * params.duration / _REPORTS) / 10.0
    short = min(1.0, max(_SHORTEST_REPORT_S, tenths))
    most = min(_MOST_REPORTS, max(1, _MOST_JOB_REPORTS // job_count(params)))
    return max(short, math.ceil(params.duration / most)) if params.duration > most * short else short

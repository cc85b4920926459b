"""Checks for contradictory settings, before any host is contacted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from asct.instruments.fio.jobfile import option_problem, refusal
from asct.instruments.fio.params import SYNCHRONOUS, FioParams, option_of
from asct.instruments.fio.raid import raid_problems
from asct.instruments.fio.sections import JobFileError, option_line, sections_of, slice_bytes
from asct.sdk.benchmark import LineError
from asct.values.size import format_size

MAX_SCRATCH_BYTES: Final = 64 * 2**30
"""Maximum size, in bytes, of the temporary file that asct creates."""
_SECTOR: Final = 512
_NOT_FILES: Final = ("/proc", "/sys")


def contradictions(params: FioParams) -> Iterator[tuple[str, str]]:
    """Yield each contradictory setting with a message and a hint."""
    for name, value in params.options.items():
        if problem := option_problem(name, value, FioParams.aliases()):
            yield "options", f"`{name}` {problem}"
    try:
        sections = sections_of(params)
    except JobFileError as error:
        yield from (("job_file", problem) for problem in error.problems)
        return
    yield from _target(params, sections)
    yield from raid_problems(params, params.file_names)
    for name in params.file_names:
        yield from _named(name)
    found = (
        _located(params, name, setting, problem)
        for name, section in sections
        for setting, problem in (*_amount(section), *_sizes(section), *_engine(section))
    )
    yield from dict.fromkeys(found)  # an option of [global] can be wrong in several sections


def _located(params: FioParams, section: str, setting: str, problem: str) -> tuple[str, str]:
    """Return a problem with a setting or fio option of a section, and the setting that contains it: `job_file`, with
    the line of the option, if the job file sets it."""
    place = option_line(params, section, setting)
    if place is None:
        return "options" if setting in params.options else setting, problem
    key, line = place
    return "job_file", LineError.at(line, problem if problem.startswith(f"`{key}`") else f"`{key}`: {problem}")


def _amount(params: FioParams) -> Iterator[tuple[str, str]]:
    if "number_ios" in params.options and params.io_size is None:
        yield (
            "number_ios",
            "`number_ios` has no effect, because the run lasts for `duration` regardless of the amount of data; set "
            "`io_size` instead or in addition, so that the run ends when it reaches either limit",
        )


def _engine(params: FioParams) -> Iterator[tuple[str, str]]:
    if params.engine in SYNCHRONOUS and params.iodepth > 1:
        yield (
            "engine",
            f"{params.engine} keeps only one request in flight per job, so `iodepth` {params.iodepth} has no effect; "
            f"set `iodepth` to 1 and raise `numjobs`, or use io_uring, libaio, posixaio or auto",
        )
    if params.engine == "mmap" and params.direct:
        yield "direct", "cannot be combined with mmap, which uses the page cache; set `direct` to false"
    for name in params.model_fields_set:
        how = option_of(type(params), name)
        engines = how["engines"] if how else []
        if engines and getattr(params, name) is not None and params.engine not in engines:
            yield name, f"is supported only by {' and '.join(engines)}; set `engine` to {' or '.join(engines)}"


def _target(params: FioParams, sections: Sequence[tuple[str, FioParams]]) -> Iterator[tuple[str, str]]:
    if params.create_temp_file and params.file_names:
        yield "create_temp_file", "cannot be on if `file_names` is set; remove one of the two settings"
    if params.create_temp_file is False and not params.file_names:
        yield "create_temp_file", "is off, but `file_names` is not set; set `file_names` to a file or device"
    if params.makes_file and any(section.trims for _, section in sections):
        yield "rw", "discards blocks, which fio supports on block devices only; set `file_names` to a block device"
    if len(set(params.file_names)) < len(params.file_names):
        yield "file_names", "contains a target twice; list each target once"


def _named(name: str) -> Iterator[tuple[str, str]]:
    path = PurePosixPath(name)
    reason = refusal(name)
    if reason:
        yield "file_names", f"{reason} cannot appear in a fio job file; rename the file or use a symbolic link"
    elif not path.is_absolute() or ".." in path.parts:
        yield "file_names", f"`{name}` must be an absolute path without `..`; give the complete path from /"
    elif any(path.is_relative_to(folder) for folder in _NOT_FILES):
        yield "file_names", f"`{name}` cannot be a target; use a file or device outside {', '.join(_NOT_FILES)}"


def _sizes(params: FioParams) -> Iterator[tuple[str, str]]:
    total = params.span_bytes
    if params.direct and params.block_size % _SECTOR:
        block = format_size(params.block_size)
        yield (
            "block_size",
            f"{block} is not a multiple of 512, which `direct` requires; round it or set `direct` to false",
        )
    if params.makes_file and total is not None and total > MAX_SCRATCH_BYTES:
        yield (
            "filesize",
            f"a temporary file of {format_size(total)} exceeds the limit of {format_size(MAX_SCRATCH_BYTES)}; create "
            "a file of that size yourself and set `file_names` to it",
        )
    if total is not None and total < params.block_size:
        sizes = f"{format_size(total)} is smaller than a request of {format_size(params.block_size)}"
        yield "filesize", f"{sizes}; raise `filesize` or lower `block_size`"
    elif params.sequential and params.numjobs > 1:
        yield from _slices(params, total)


def _slices(params: FioParams, total: int | None) -> Iterator[tuple[str, str]]:
    """Check that every sequential job gets a slice of the target."""
    if total is None and params.offset:
        yield "offset", "requires `filesize` if several sequential jobs share the target; set `filesize` as well"
    elif total is None and params.numjobs > 100:
        yield (
            "numjobs",
            f"{params.numjobs} sequential jobs cannot share a named target, because fio can split it only in steps "
            "of 1 %; set `numjobs` to 100 or less",
        )
    elif total is not None and slice_bytes(params, total) == 0:
        yield (
            "filesize",
            f"{format_size(total)} cannot be divided into {params.numjobs} slices of whole requests for "
            "sequential jobs; raise `filesize`, or lower `numjobs` or `block_size`",
        )

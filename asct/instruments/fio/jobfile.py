r"""Write fio job files, and reject values that fio would misread, because the format has no quoting.

fio truncates a line at `;` or `#`, replaces `$name` and `${NAME}`, strips spaces at both ends, starts a section at `[`,
and treats `\:` in a file name as a plain colon (fio documentation, "Job file format"; verified with 3.33).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from asct.sdk.record import Scalar

_OPTION: Final = re.compile(r"[a-z][a-z0-9_]*")
_SECTION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MISREAD: Final = ";#[]$\\"


def refusal(value: str) -> str:
    """Return the part of `value` that a job file cannot contain, as the subject of a sentence, or an empty string if
    `value` is valid."""
    if not value:
        return "an empty value"
    if not value.isprintable():
        return "a line break or control character"
    if value != value.strip():
        return f"trailing space in `{value}`"
    found = next((mark for mark in value if mark in _MISREAD), None)
    return f"`{found}` in `{value}`" if found else ""


def option_text(value: Scalar) -> str:
    """Format a value for fio: flags as 1 and 0, numbers without an exponent."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return f"{value:.9f}".rstrip("0").rstrip(".")
    return str(value)


def joined_names(names: Sequence[str]) -> str:
    """Join file names for fio's `filename`, escaping colons inside a name. Raises ValueError for an invalid name."""
    for name in names:
        _check(name)
    return ":".join(name.replace(":", "\\:") for name in names)


def job_file(sections: Mapping[str, Mapping[str, str]], names: Sequence[str]) -> str:
    """Return a job file with these sections, all of which use the files `names`.

    Raises ValueError for a section, option or value that fio would misread.
    """
    return "".join(_section(name, options, names) for name, options in sections.items())


def _section(section: str, options: Mapping[str, str], names: Sequence[str]) -> str:
    if not _SECTION.fullmatch(section) or section == "global":
        raise ValueError(f"`{section!r}` is not a valid job name")
    lines = [f"[{section}]", f"filename={joined_names(names)}"]
    for key, value in options.items():
        if not _OPTION.fullmatch(key) or key == "filename":
            raise ValueError(f"`{key!r}` is not a valid job file option")
        _check(value)
        if "=" in value:
            raise ValueError(f"the value of `{key}` contains `=`: `{value}`")
        lines.append(f"{key}={value}")
    return "\n".join(lines) + "\n"


def _check(value: str) -> None:
    reason = refusal(value)
    if reason:
        raise ValueError(f"{reason} cannot appear in a fio job file")


# fio options can run commands (`exec_prerun`), load libraries (`ioengine=external:`), read and write any file
# (`write_iolog`, `mem=mmap:`), change the host (`ioscheduler`, `cgroup`) and name targets in a dozen ways, and newer
# versions add more. Therefore, only options that are known to affect nothing but the requests are permitted.


HARMLESS: Final = frozenset({
    "atomic", "bs_unaligned", "bsrange", "clocksource", "cmdprio", "cmdprio_bssplit", "cmdprio_class",
    "cmdprio_percentage", "dedupe_global", "dedupe_mode", "dedupe_working_set_percentage", "do_verify",
    "experimental_verify", "fadvise_hint", "file_service_type", "force_async", "fsync_on_close", "hipri_percentage",
    "ignore_zone_limits", "invalidate", "latency_run", "libaio_vectored", "max_latency", "mem", "nowait",
    "number_ios", "offset_align", "rate_cycle", "rate_ignore_thinktime", "rate_iops_min", "rate_min",
    "read_beyond_wp", "rw_sequencer", "serialize_overlap", "sprandom",
    "sqthread_poll_cpu", "sync_file_range", "thinktime_blocks_type", "thinktime_iotime", "thp",
    "uncached", "userspace_reap", "verify_async", "verify_backlog_batch", "verify_fatal", "verify_header_seed",
    "verify_offset", "verify_write_sequence", "write_barrier", "write_hint", "zone_reset_frequency",
    "zone_reset_threshold", "zonecapacity",
})  # fmt: skip
"""Options of fio 3.30 to 3.42 (HOWTO) that affect only the requests, listed under fio's primary names."""
ENGINE_OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    "io_uring": frozenset({"force_async", "nowait", "sqthread_poll_cpu", "uncached", "cmdprio", "cmdprio_bssplit",
                           "cmdprio_class", "cmdprio_percentage"}),
    "libaio": frozenset({"cmdprio", "cmdprio_bssplit", "cmdprio_class", "cmdprio_percentage", "libaio_vectored",
                         "nowait", "userspace_reap"}),
    "pvsync2": frozenset({"hipri_percentage", "nowait", "uncached"}),
    "mmap": frozenset({"thp"}),
}  # fmt: skip
"""Harmless engine-specific options. `fio --enghelp=ENGINE` lists them, but `fio --cmdhelp` does not."""
WAITS: Final = ("stonewall", "wait_for_previous")
"""Options that make a section wait until all earlier sections have ended: the option and its alias."""
WITHOUT_EFFECT: Final = frozenset({*WAITS, "description", "group_reporting", "new_group", "time_based"})
"""Options that a job file may contain but that asct does not pass to fio: asct itself starts the stages, every run has
a fixed duration (unless `io_size` is set), and the other options only change the report that fio prints."""
_REFUSED: Final[Mapping[str, frozenset[str]]] = {
    "asct starts the sections of a stage together and measures all of them for the same duration; remove it, or use "
    "`stonewall` to run sections one after the other":
        frozenset({"wait_for", "exitall", "exit_what", "startdelay", "start_delay"}),
    "the length of the run is set by `duration`, or by `io_size`; remove it":
        frozenset({"time_based", "loops", "steadystate", "ss", "fill_device"}),
    "it orders the sections of a job file; use it in a job file": frozenset(WAITS),
    "it selects or creates files, but asct measures either `file_names` or a temporary file; remove it, and set "
    "`file_names` (with a job file: set `file_names` next to `job_file`)": frozenset({
        "create_fsync", "create_on_open", "create_only", "create_serialize", "directory", "file_append",
        "filename_format", "nrfiles", "openfiles", "opendir", "pre_read", "unlink", "unlink_each_loop",
    }),
    "it disables time measurements that asct requires; remove it": frozenset({
        "clat_percentiles", "disable_bw", "disable_bw_measurement", "disable_clat", "disable_lat", "disable_slat",
        "gtod_cpu", "gtod_reduce", "lat_percentiles", "percentile_list", "slat_percentiles",
    }),
    "it writes log files, but asct records the progress of each run itself; remove it": frozenset({
        "log_avg_msec", "log_hist_msec", "log_max_value", "log_offset", "log_prio", "log_unix_epoch", "per_job_logs",
        "write_bw_log", "write_hist_log", "write_iops_log", "write_lat_log",
    }),
    "`cpus` selects the CPUs; remove this option": frozenset({"cpumask", "cpus_allowed_policy", "numa_cpu_nodes"}),
    "it changes how fio interprets sizes; write sizes in bytes, and remove it": frozenset({"kb_base", "unit_base"}),
    "a section is named by the text in brackets; change this text, and remove the option": frozenset({"name"}),
    "asct sets it itself; remove it": frozenset({
        "allow_file_create", "description", "fallocate", "group_reporting", "new_group", "offset_increment",
        "randrepeat", "scramble_buffers", "unified_rw_reporting", "verify_state_save",
    }),
    "it can run commands; remove it": frozenset({"exec_prerun", "exec_postrun"}),
}  # fmt: skip
_UNKNOWN: Final = "asct does not know it, or it could access files or change the host; remove it, or correct its name"
_VALUE: Final = re.compile(r"[A-Za-z0-9_.,:%+/-]*")
_MEMORY: Final = frozenset({"malloc", "shm", "shmhuge", "mmap", "mmapshared", "mmaphuge"})
_UNSAFE: Final = re.compile(r"^/|:/|\.\.")


def option_hint(name: str) -> str:
    """Return a hint for a setting that asct does not have but that has the name of a fio option, or an empty string if
    asct does not know such an option."""
    if name in HARMLESS:
        return f"`{name}` is a fio option; write `options: {{{name}: ...}}`"
    return next((f"do not set this fio option: {reason}" for reason, names in _REFUSED.items() if name in names), "")


def option_problem(name: str, value: Scalar, settings: Mapping[str, str]) -> str:
    """Return the reason why an option is not permitted, as the predicate of a sentence that begins with the option
    name, or an empty string if the option is permitted.

    `settings` maps fio options to the asct settings that replace them.
    """
    if name in settings:
        return f"corresponds to the asct setting `{settings[name]}`; use this setting instead"
    if name not in HARMLESS:
        why = next((reason for reason, names in _REFUSED.items() if name in names), _UNKNOWN)
        return f"is not a permitted option: {why} (`asct explain storage-fio` lists the permitted options)"
    text = option_text(value)
    reason = refusal(text)
    if reason:
        return f"has {reason}, which a fio job file cannot contain"
    if not _VALUE.fullmatch(text) or _UNSAFE.search(text):
        return f"has the value `{text}`, which could be a file name; use only letters, digits and . , : % + -"
    if name in ("mem", "iomem") and text not in _MEMORY:
        return f"has the value `{text}`; use one of {', '.join(sorted(_MEMORY))}"
    return ""

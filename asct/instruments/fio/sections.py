"""The sections of a point: a single one, or those of a job file supplied by the user.

A job file is interpreted as settings: each of its options is an asct setting (under fio's name) or a permitted entry of
`options`. Options are therefore checked like settings and can do no more than settings can; asct itself writes the file
that fio reads. All sections use the same targets.

`stonewall` divides the sections into stages, which run one after the other: the sections of a stage run at the same
time, in a fio process that starts when the process of the previous stage has ended. fio itself waits for the end of all
earlier jobs before it starts a section with `stonewall` (fio documentation, "Job description"; verified with 3.33), so
the load is the same. Because each stage has its own process, it also has its own times, counters and checks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from asct.instruments.fio.jobfile import WAITS, WITHOUT_EFFECT, option_problem
from asct.instruments.fio.params import SYNCHRONOUS, FioParams, option_of
from asct.sdk.benchmark import LineError
from asct.sdk.setting_errors import setting_errors
from asct.values.cpulist import parse_cpulist
from asct.values.grouping import split

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts
    from asct.sdk.record import Scalar

ONE: Final = "point"
_SECTION: Final = re.compile(r"\[([A-Za-z0-9][A-Za-z0-9._-]*)\]")
_SIZE: Final = re.compile(r"([0-9]{1,15})([kKmMgGtTpP])([iI]?[bB]?)")
_COMMENT: Final = re.compile(r"[#;].*")
"""Matches a comment: fio truncates a line at the first of these characters, wherever it is."""
_MOST_SECTIONS: Final = 64
LAYOUT_BLOCK: Final = 2**20
"""Block size, in bytes, for writing the temporary file."""
_SHARED: Final = frozenset({
    "cpus", "create_temp_file", "file_names", "io_size", "job_file", "memory_node", "options", "overwrite",
    "raid_chunk", "raid_level", "seed",
})  # fmt: skip
"""Settings that a job file cannot contain, because they apply to the whole point."""
_TIMES: Final = ("duration", "ramp_time")
"""Settings that must be the same in all sections of a stage."""
INVERSE: Final = {"buffered": ("direct", 1), "rwmixwrite": ("rwmixread", 100)}
"""fio options that complement a setting: the option value is the given number minus the setting value."""


class JobFileError(ValueError):
    """Raised for an invalid job file. `problems` contains one message per error, including the line number."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


@dataclass(slots=True)
class _Section:
    """A section of a job file. `options` maps each option to its value and line number."""

    name: str
    line: int
    options: dict[str, tuple[str, int]]

    @property
    def waits(self) -> bool:
        """Whether the section starts only after all earlier ones have ended."""
        return any(self.options[name][0] != "0" for name in WAITS if name in self.options)


@dataclass(frozen=True, slots=True)
class Stage:
    """Sections that run at the same time. `params` contains the point's settings, with a job file that contains only
    these sections."""

    name: str
    params: FioParams


def stages_of(params: FioParams) -> tuple[Stage, ...]:
    """Return the stages in order of execution. Raises JobFileError with all errors if the job file is invalid.

    A stage is named after its sections: `readers+log`. Without a job file, the point is the only stage.
    """
    if not params.job_file:
        return (Stage(ONE, params),)
    return tuple(_stage(part, params) for part in _read(params))


def _read(params: FioParams) -> list[list[tuple[_Section, FioParams]]]:
    """Return the sections of each stage with their settings. Raises JobFileError with all errors."""
    problems: list[str] = []
    parts = split(_read_sections(params.job_file, problems), lambda _, section: not section.waits)
    found = [[(section, _settings(section, params, problems)) for section in part] for part in parts]
    known = [[(section, settings) for section, settings in part if settings is not None] for part in found]
    problems += [problem for part in known if (problem := _unequal_times(part))]
    if problems:
        raise JobFileError(list(dict.fromkeys(problems)))
    return known


def _stage(part: Sequence[tuple[_Section, FioParams]], params: FioParams) -> Stage:
    text = "".join(
        f"[{section.name}]\n" + "".join(f"{key}={value}\n" for key, (value, _) in section.options.items())
        for section, _ in part
    )
    times = {name: getattr(part[0][1], name) for name in _TIMES}
    return Stage("+".join(section.name for section, _ in part), params.model_copy(update={"job_file": text, **times}))


def _unequal_times(part: Sequence[tuple[_Section, FioParams]]) -> str:
    """Return an error message if sections of a stage would run for different times, or an empty string if their times
    are equal."""
    times = [tuple(getattr(settings, name) for name in _TIMES) for _, settings in part]
    other = next((section for (section, _), time in zip(part, times, strict=True) if time != times[0]), None)
    if other is None:
        return ""
    return LineError.at(
        other.line,
        f"[{other.name}] runs at the same time as [{part[0][0].name}], but has a different `runtime` or `ramp_time`; "
        "give both the same times, or separate them with `stonewall`",
    )


def sections_of(params: FioParams) -> tuple[tuple[str, FioParams], ...]:
    """Return the name and settings of each section. Raises JobFileError with all errors if the job file is invalid."""
    if not params.job_file:
        return ((ONE, params),)
    return tuple((section.name, settings) for part in _read(params) for section, settings in part)


def option_line(params: FioParams, section: str, setting: str) -> tuple[str, int] | None:
    """Return the fio option that sets `setting` (or is called that) in a section of the job file, and its line number.
    Return None if the job file does not set it."""
    for one in _read_sections(params.job_file, []):
        for key, (_, line) in reversed(one.options.items()):
            if one.name == section and setting in (key, setting_of(key)):
                return key, line
    return None


def _read_sections(job_file: str, problems: list[str]) -> list[_Section]:
    """Return the sections, including the options from the preceding [global] sections. Append errors to `problems`."""
    found: list[_Section] = []
    shared: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(job_file.splitlines(), start=1):
        text = _COMMENT.sub("", line).strip()
        if not text:
            continue
        name = _SECTION.fullmatch(text)
        if name is not None:
            if name[1] != "global" and any(one.name == name[1] for one in found):
                problems.append(LineError.at(number, f"duplicate section {text}; section names must be unique"))
            found.append(_Section(name[1], number, {} if name[1] == "global" else dict(shared)))
        elif text[0] == "[":
            message = f"`{text}` is not a valid section name: use letters, digits and . _ -"
            problems.append(LineError.at(number, message))
            found.append(_Section("", number, {}))
        elif not found:
            message = (
                f"`{text}` is not in a section; write the lines of a job file, starting with a section such as "
                "[readers]"
            )
            problems.append(LineError.at(number, message))
        else:
            key, _, value = text.partition("=")
            for options in (found[-1].options, shared) if found[-1].name == "global" else (found[-1].options,):
                options[key.strip()] = (value.strip() or "1", number)
    named = [one for one in found if one.name not in ("global", "")]
    if len(named) > _MOST_SECTIONS or not (named or problems):
        problems.append(f"needs 1 to {_MOST_SECTIONS} sections in addition to [global], but has {len(named)}")
    return named


def _settings(section: _Section, params: FioParams, problems: list[str]) -> FioParams | None:
    """Combine the point's settings with the options from one section, which take precedence.

    Append errors to `problems`, and return None if there are any.
    """
    changes: dict[str, object] = {}
    others: dict[str, Scalar] = dict(params.options)
    places: dict[str, tuple[str, int]] = {}
    before = len(problems)
    for key, (value, line) in section.options.items():
        setting = setting_of(key)
        if problem := _option_problem(key, setting, value, params):
            problems.append(LineError.at(line, f"`{key}` {problem}"))
        elif setting and (setting, value) != ("engine", "auto"):  # auto is resolved for the whole job
            changes[setting], places[setting] = fio_value(key, setting, value), (key, line)
        elif not setting and key not in WITHOUT_EFFECT:
            others[key] = value
    explicit = (params.model_fields_set & FioParams.model_fields.keys()) - {"job_file"}
    values = {name: getattr(params, name) for name in explicit} | changes | {"options": others}
    try:
        settings = FioParams.model_validate(values)
    except ValidationError as error:
        for one in setting_errors(error.errors(), list(FioParams.model_fields)):
            key, line = places.get(one.setting, (one.setting, section.line))
            problems.append(LineError.at(line, f"`{key}`: {one.text}" if key else one.text))
        return None
    return settings if len(problems) == before else None


def _option_problem(key: str, setting: str | None, value: str, params: FioParams) -> str:
    """Return the reason why a job file cannot contain an option, as the predicate of a sentence, or an empty string if
    the option is permitted."""
    if setting in _SHARED:
        return f"corresponds to the setting `{setting}`, which applies to all sections; set it next to `job_file`"
    if key == "time_based" and value != "0" and params.io_size is not None:
        return "contradicts `io_size`, which ends the run after a given number of bytes; remove one of the two"
    return "" if setting or key in WITHOUT_EFFECT else option_problem(key, value, {})


def setting_of(key: str) -> str | None:
    """Return the setting that corresponds to a fio option, or None if there is none."""
    return INVERSE[key][0] if key in INVERSE else FioParams.aliases().get("runtime" if key == "timeout" else key)


def fio_value(key: str, setting: str, text: str) -> object:
    """Convert an option value as fio does. A time without a unit is in seconds (`runtime`, `ramp_time`) or microseconds
    (all others); `sync` may be a number."""
    how = option_of(FioParams, setting)
    if setting == "sync":
        return {"0": "none", "1": "sync"}.get(text, text)
    if setting in _TIMES or (how and how["time"]):
        return text if not text.isdecimal() else text + ("s" if setting in _TIMES else "us")
    if key in INVERSE and text.isdecimal():
        return INVERSE[key][1] - int(text)
    return _number(text)


def _number(text: str) -> object:
    """Convert a number with a suffix as fio does: `4k` is 4096, `4KiB` is 4000 (`kb_base` 1024). Return any other text
    unchanged."""
    found = _SIZE.fullmatch(text)
    if found is None:
        return text
    base = 1000 if "i" in found[3].lower() else 1024
    return int(found[1]) * base ** (" kmgtp".index(found[2].lower()))


def writes(params: FioParams) -> bool:
    """Return whether any section changes the target."""
    return any(section.writes for _, section in sections_of(params))


def job_count(params: FioParams) -> int:
    """Return the total number of jobs in all sections."""
    return sum(section.numjobs for _, section in sections_of(params))


def chosen_engine(params: FioParams, facts: HostFacts) -> str:
    """Return the engine in the settings or, for `auto`, the first of io_uring, libaio and psync that the host
    supports."""
    if params.engine != "auto":
        return params.engine
    if facts.io_uring and has_engine("io_uring", facts):
        return "io_uring"
    return "libaio" if has_engine("libaio", facts) else "psync"


def has_engine(engine: str, facts: HostFacts) -> bool:
    """Return whether the host's fio has an engine.

    `facts.tools["fio"].features` lists the fio engines. If the list is unknown, fio is assumed to have the engine,
    because nearly every build for Linux does.
    """
    tool = facts.tools.get("fio")
    features = tool.features if tool else []
    return not features or engine in features


def effective_depth(params: FioParams, facts: HostFacts) -> int:
    """Return the number of requests that the engines can keep in flight across all jobs and sections."""
    return sum(
        section.numjobs if chosen_engine(section, facts) in SYNCHRONOUS else section.requested_depth
        for _, section in sections_of(params)
    )


def used_cpus(params: FioParams, facts: HostFacts, node: int | None = None) -> tuple[int, ...]:
    """Return the CPUs for the jobs in ascending order, or an empty tuple if the jobs are not bound (`all`, or unknown
    CPUs).

    `auto` selects one CPU per job: from the drive's NUMA node if the node has enough CPUs, otherwise from all permitted
    CPUs. It selects the last CPUs, because these run fewer daemons and handle fewer interrupts than the first ones.
    """
    if params.cpus == "all":
        return ()
    if params.cpus != "auto":
        return tuple(parse_cpulist(params.cpus))
    allowed = sorted(facts.cpu.allowed or facts.cpu.online)
    near = [cpu for one in facts.nodes if one.id == node for cpu in sorted(one.cpus) if cpu in allowed]
    jobs = job_count(params)
    return tuple((near if len(near) >= jobs else allowed)[-jobs:])


def node_matters(params: FioParams, facts: HostFacts) -> bool:
    """Return whether the selected CPUs depend on the NUMA node of the drive."""
    return params.cpus == "auto" and sum(1 for node in facts.nodes if node.cpus) > 1


_PAGE: Final = 4096


def range_options(params: FioParams) -> dict[str, str]:
    """Return the values of fio's `size` and `offset_increment`, which select the part of the target that each job uses.

    With a random pattern, every job draws offsets from the whole range. With a sequential pattern, each job has its own
    slice: if all jobs used the same offsets, the cache of the drive would serve all but the first (fio issue 1501).
    Settings that pass `contradictions` never result in an empty slice.
    """
    total = params.span_bytes
    if not params.sequential or params.numjobs == 1:
        return {} if total is None else {"size": str(total)}
    if total is None:
        return dict.fromkeys(("size", "offset_increment"), f"{100 // params.numjobs}%")
    increment = slice_bytes(params, total)
    return {"size": str(increment * params.target_count), "offset_increment": str(increment)}


def scratch_bytes(params: FioParams) -> int:
    """Return the temporary file size for one point: a multiple of 1 MiB, so that the layout writes all of it."""
    ends = [section.offset + (section.span_bytes or 0) for _, section in sections_of(params)]
    return -(-max(ends) // LAYOUT_BLOCK) * LAYOUT_BLOCK


def slice_bytes(params: FioParams, total: int) -> int:
    """For several sequential jobs, return the number of bytes that each job uses in each file: whole requests and
    pages, possibly 0.
    """
    grain = math.lcm(params.block_size, _PAGE)
    return total // params.target_count // params.numjobs // grain * grain

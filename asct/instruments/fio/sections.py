"""The sections of a point: one, or those of a job file of the user's own.

A job file is read as settings: every option in it is one of asct's (by fio's name), or one of those that may be given
in `options`. So it is checked like everything else, can do no more, and asct writes the file that fio reads. All its
sections run at the same time on the same targets.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from asct.instruments.fio.jobfile import option_problem
from asct.instruments.fio.params import SYNCHRONOUS, FioParams
from asct.values.cpulist import parse_cpulist

if TYPE_CHECKING:
    from asct.sdk.facts import HostFacts
    from asct.sdk.record import Scalar

ONE: Final = "point"
_SECTION: Final = re.compile(r"\[([A-Za-z0-9][A-Za-z0-9._-]*)\]")
_SIZE: Final = re.compile(r"([0-9]{1,15})([kKmMgGtTpP])([iI]?[bB]?)")
_MOST_SECTIONS: Final = 64
LAYOUT_BLOCK: Final = 2**20
"""The block size in bytes with which the temporary file is written."""
_SHARED: Final = frozenset({
    "cpus", "create_temp_file", "duration", "file_names", "filesize", "io_size", "job_file", "memory_node", "options",
    "overwrite", "ramp_time", "seed",
})  # fmt: skip
"""Settings of the whole point, which are not allowed in the job file."""


def sections_of(params: FioParams) -> tuple[tuple[str, FioParams], ...]:
    """Name and settings of each section. Raises ValueError, naming the line, for a job file that does not read."""
    if not params.job_file:
        return ((ONE, params),)
    found: list[tuple[str, dict[str, str]]] = []
    shared: dict[str, str] = {}
    for number, line in enumerate(params.job_file.splitlines(), start=1):
        text = line.strip()
        if not text or text[0] in "#;":
            continue
        name = _SECTION.fullmatch(text)
        if name is None and (not found or text[0] == "["):
            raise ValueError(f"line {number}: `{text}` is outside a section; begin with a section such as [readers]")
        if name is not None:
            found.append((name[1], {} if name[1] == "global" else dict(shared)))
            continue
        key, _, value = text.partition("=")
        found[-1][1][key.strip()] = value.strip() or "1"
        if found[-1][0] == "global":
            shared = shared | {key.strip(): value.strip() or "1"}
    named = [(name, options) for name, options in found if name != "global"]
    if not 0 < len(named) <= _MOST_SECTIONS or len({name for name, _ in named}) < len(named):
        raise ValueError(f"it needs 1 to {_MOST_SECTIONS} sections with distinct names in addition to [global]")
    return tuple((name, _settings(name, options, params)) for name, options in named)


def _settings(section: str, options: Mapping[str, str], params: FioParams) -> FioParams:
    """The settings of the point with those of one section above them."""
    aliases = type(params).aliases()
    changes: dict[str, object] = {}
    others: dict[str, Scalar] = dict(params.options)
    for key, value in options.items():
        setting = aliases.get(key)
        problem = "" if setting else option_problem(key, value, {})
        if setting in _SHARED:
            problem = f"corresponds to the setting `{setting}`, which all sections share; set it next to job_file"
        if problem:
            raise ValueError(f"[{section}]: `{key}` {problem}")
        if setting:
            changes[setting] = _number(value)
        else:
            others[key] = value
    given = {name: getattr(params, name) for name in params.model_fields_set if name != "job_file"}
    try:
        return FioParams.model_validate(
            {
                **{name: value for name, value in given.items() if name in FioParams.model_fields},
                **changes,
                "options": others,
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"[{section}]: {place}: {first['msg']}") from None


def _number(text: str) -> object:
    """A number with a suffix as fio reads it: `4k` is 4096, `4KiB` is 4000 (`kb_base` 1024); other text as it is."""
    found = _SIZE.fullmatch(text)
    if found is None:
        return text
    base = 1000 if "i" in found[3].lower() else 1024
    return int(found[1]) * base ** (" kmgtp".index(found[2].lower()))


def writes(params: FioParams) -> bool:
    """Whether any section changes the target."""
    return any(section.writes for _, section in sections_of(params))


def job_count(params: FioParams) -> int:
    """Jobs of all sections."""
    return sum(section.numjobs for _, section in sections_of(params))


def chosen_engine(params: FioParams, facts: HostFacts) -> str:
    """The engine of the settings; for `auto` the first of io_uring, libaio, psync that fio and the Linux kernel
    support.

    `facts.tools["fio"].features` lists the engines of fio. If it is unknown, libaio is used: fio on Linux has it unless
    it was built without on purpose.
    """
    if params.engine != "auto":
        return params.engine
    tool = facts.tools.get("fio")
    features = tool.features if tool else []
    if facts.io_uring and (not features or "io_uring" in features):
        return "io_uring"
    return "libaio" if not features or "libaio" in features else "psync"


def effective_depth(params: FioParams, facts: HostFacts) -> int:
    """Requests that the engines can keep in flight, all jobs of all sections together."""
    return sum(
        section.numjobs if chosen_engine(section, facts) in SYNCHRONOUS else section.requested_depth
        for _, section in sections_of(params)
    )


def depth_is_lost(params: FioParams, facts: HostFacts) -> bool:
    """Whether an engine keeps fewer requests in flight than the settings ask for."""
    return effective_depth(params, facts) < sum(section.requested_depth for _, section in sections_of(params))


def used_cpus(params: FioParams, facts: HostFacts, node: int | None = None) -> tuple[int, ...]:
    """The CPUs in ascending order; empty when the jobs are not bound (`all`, or a host whose CPUs are not known).

    `auto` takes as many as there are jobs, from the end, where fewer interrupts and daemons run than on the first ones:
    those of the drive's NUMA node when it has enough, else of all that the account may use.
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
    """Whether the NUMA node of the drive determines which CPUs are used."""
    return params.cpus == "auto" and sum(1 for node in facts.nodes if node.cpus) > 1


# Random patterns: every job draws offsets from the whole range, with a random sequence of its own. Sequential
# patterns: each job has a slice of the range. Otherwise all jobs would use the same offsets, and the cache of the drive
# would serve all but the first (fio issue 1501).


_PAGE: Final = 4096


@dataclass(frozen=True, slots=True)
class TargetRange:
    """fio's `size` and `offset_increment` as plain byte counts or percentages; None leaves the option out."""

    size: str | None = None
    offset_increment: str | None = None


def span_of(params: FioParams) -> TargetRange:
    """The part of the target for each job. Settings that pass `contradictions` never give an empty slice."""
    total = params.span_bytes
    if not params.sequential or params.numjobs == 1:
        return TargetRange(None if total is None else str(total))
    if total is None:
        share = f"{100 // params.numjobs}%"
        return TargetRange(share, share)
    files = max(1, len(params.file_names))
    increment = slice_bytes(params, total)
    return TargetRange(str(increment * files), str(increment))


def scratch_bytes(params: FioParams) -> int:
    """Size of the temporary file for one point: whole MiB, so that the layout writes it to the last byte."""
    return -(-(params.offset + (params.span_bytes or 0)) // LAYOUT_BLOCK) * LAYOUT_BLOCK


def slice_bytes(params: FioParams, total: int) -> int:
    """Bytes of each file that one of several sequential jobs works on: whole requests on whole pages, possibly 0."""
    grain = math.lcm(params.block_size, _PAGE)
    files = max(1, len(params.file_names))
    return total // files // params.numjobs // grain * grain


def job_bytes(params: FioParams, total: int) -> int:
    """The share of one job in `total` bytes of requests: whole requests, rounded up."""
    return -(-total // params.numjobs // params.block_size) * params.block_size

"""From the settings of a point to the options of fio's job file."""

from __future__ import annotations

from collections.abc import Sequence

from asct.instruments.fio.allowed import unknown_options
from asct.instruments.fio.engines import chosen_engine
from asct.instruments.fio.jobfile import written
from asct.instruments.fio.params import FioParams
from asct.instruments.fio.passing import option_of, passed_options
from asct.instruments.fio.span import job_bytes, span_of
from asct.sdk.facts import HostFacts
from asct.values.cpulist import format_cpulist


def section_options(params: FioParams, facts: HostFacts, cpus: Sequence[int]) -> dict[str, str]:
    """fio's options of one section. Sizes are plain byte counts (fio reads 4KiB as 4000), times carry their unit.

    Raises ValueError for an option that the fio of the host does not have.
    """
    engine = chosen_engine(params, facts)
    options = {"rw": params.rw, "bs": str(params.block_size)}
    if params.mixed:
        options["rwmixread"] = str(params.rwmixread)
    options |= {"ioengine": engine, "iodepth": str(params.iodepth)}
    if params.iodepth_batch > 1:
        options["iodepth_batch_submit"] = str(min(params.iodepth_batch, params.iodepth))
    options |= {"numjobs": str(params.numjobs), "group_reporting": "0", "direct": str(int(params.direct))}
    options |= _extent(params) | _length(params) | _places(params, cpus)
    options |= {
        "randrepeat": "1", "randseed": str(params.seed), "scramble_buffers": "1",
        "allow_file_create": "0", "fallocate": "none", "verify_state_save": "0",
        "slat_percentiles": "1", "clat_percentiles": "1", "lat_percentiles": "1",
    }  # fmt: skip
    return options | _given(params, engine, facts)


def _extent(params: FioParams) -> dict[str, str]:
    span = span_of(params)
    found = {"size": span.size, "offset_increment": span.offset_increment}
    return {name: value for name, value in found.items() if value is not None}


def _length(params: FioParams) -> dict[str, str]:
    """By time, or by volume with the time as its limit."""
    options = {"runtime": f"{max(1, round(params.duration * 1000))}ms"}
    if params.io_size is None:
        options["time_based"] = "1"
    else:
        options["io_size"] = str(job_bytes(params, params.io_size))
    if params.ramp_time > 0:
        options["ramp_time"] = f"{max(1, round(params.ramp_time * 1000))}ms"
    return options


def _places(params: FioParams, cpus: Sequence[int]) -> dict[str, str]:
    options: dict[str, str] = {}
    if cpus:
        options |= {"cpus_allowed": format_cpulist(cpus), "cpus_allowed_policy": "split"}
    if params.memory_node is not None:
        options["numa_mem_policy"] = f"bind:{params.memory_node}"
    return options


def _given(params: FioParams, engine: str, facts: HostFacts) -> dict[str, str]:
    """What is handed on as it is: settings, without those of another engine, and the options by fio's names."""
    foreign = set()
    for name in type(params).model_fields:
        how = option_of(type(params), name)
        if how is not None and how["engines"] and engine not in how["engines"]:
            foreign.add(str(how["option"]))
    found = {option: value for option, value in passed_options(params).items() if option not in foreign}
    found |= {name: written(value) for name, value in params.options.items()}
    tool = facts.tools.get("fio")
    missing = unknown_options(found, engine, frozenset(tool.options if tool else ()))
    if missing:
        raise ValueError(
            f"the fio of this host does not have the option {', '.join(missing)} (`fio --cmdhelp=all`, "
            f"`fio --enghelp={engine}`); leave it out, or install a newer fio"
        )
    return found

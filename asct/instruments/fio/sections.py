"""The sections of a point: one, or those of a job file of the user's own.

A job file is read as settings: every option in it is one of asct's (by fio's name), or one of those that may be given
in `options`. So it is checked like everything else, can do no more, and asct writes the file that fio reads. All its
sections run at the same time on the same targets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError

from asct.instruments.fio.allowed import option_problem
from asct.instruments.fio.params import FioParams
from asct.sdk.record import Scalar

ONE: Final = "point"
_SECTION: Final = re.compile(r"\[([A-Za-z0-9][A-Za-z0-9._-]*)\]")
_SIZE: Final = re.compile(r"([0-9]{1,15})([kKmMgGtTpP])([iI]?[bB]?)")
_MOST_SECTIONS: Final = 64
_SHARED: Final = frozenset({
    "cpus", "create_temp_file", "duration", "file_names", "filesize", "io_size", "job_file", "memory_node", "options",
    "overwrite", "ramp_time", "seed",
})  # fmt: skip
"""Settings of the whole point: they stand beside the job file, not in it."""


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
            raise ValueError(f"line {number}: `{text}` is not a section like [readers]; begin with one")
        if name is not None:
            found.append((name[1], {} if name[1] == "global" else dict(shared)))
            continue
        key, _, value = text.partition("=")
        found[-1][1][key.strip()] = value.strip() or "1"
        if found[-1][0] == "global":
            shared = shared | {key.strip(): value.strip() or "1"}
    named = [(name, options) for name, options in found if name != "global"]
    if not 0 < len(named) <= _MOST_SECTIONS or len({name for name, _ in named}) < len(named):
        raise ValueError(f"it needs 1 to {_MOST_SECTIONS} sections beside [global], each with a name of its own")
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
            problem = f"is the setting `{setting}`, which all sections share; write it beside job_file"
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

"""Job files of fio. fio's reader has no quoting: what it would misread is refused here.

fio cuts a line at `;` and `#`, replaces `$name` and `${NAME}`, drops spaces at both ends, reads `\\:` in a file name as
a colon that separates nothing, and starts a section at `[` (fio documentation, "Job file format"; tried with 3.33).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from asct.sdk.record import Scalar

_OPTION: Final = re.compile(r"[a-z][a-z0-9_]*")
_SECTION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MISREAD: Final = ";#[]$\\"


def refusal(value: str) -> str:
    """Why `value` cannot stand behind `=` in a job file, as the subject of a sentence; empty if it can."""
    if not value:
        return "an empty value"
    if not value.isprintable():
        return "a line break or control character"
    if value != value.strip():
        return f"a space at the end of `{value}`"
    found = next((mark for mark in value if mark in _MISREAD), None)
    return f"`{found}` in `{value}`" if found else ""


def written(value: Scalar) -> str:
    """A value as fio reads it: 1 and 0 for flags, numbers without an exponent."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return f"{value:.9f}".rstrip("0").rstrip(".")
    return str(value)


def joined_names(names: Sequence[str]) -> str:
    """Several file names as fio's `filename`: colons inside a name are escaped. Raises ValueError as `job_file`."""
    for name in names:
        _check(name)
    return ":".join(name.replace(":", "\\:") for name in names)


def job_file(sections: Mapping[str, Mapping[str, str]], names: Sequence[str]) -> str:
    """A job file of one or several sections over the files `names`.

    Raises ValueError for a section, option or value that fio would read as something else.
    """
    return "".join(_section(name, options, names) for name, options in sections.items())


def _section(section: str, options: Mapping[str, str], names: Sequence[str]) -> str:
    if not _SECTION.fullmatch(section) or section == "global":
        raise ValueError(f"`{section!r}` cannot be the name of a job")
    lines = [f"[{section}]", f"filename={joined_names(names)}"]
    for key, value in options.items():
        if not _OPTION.fullmatch(key) or key == "filename":
            raise ValueError(f"`{key!r}` cannot be an option of a job file")
        _check(value)
        if "=" in value:
            raise ValueError(f"`=` in the value of `{key}`: `{value}`")
        lines.append(f"{key}={value}")
    return "\n".join(lines) + "\n"


def _check(value: str) -> None:
    reason = refusal(value)
    if reason:
        raise ValueError(f"{reason} cannot stand in a job file of fio")

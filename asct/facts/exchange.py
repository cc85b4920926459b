"""The constant script for `sh -s` that reads all facts of a host, assembled from the shell files in this folder and the
lists in sources.py."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from asct.facts.sources import CPU, FILES, FOLDERS, KERNEL_OPTIONS, SECRET_OPTION, TOOLS
from asct.resources import shell

LANES = 4
"""Number of programs whose versions are queried in parallel."""
MOST_LINES = 2000
"""Limit on the number of lines read from one file."""
MOST_BYTES = 400_000
"""Limit on the total size of all files, in bytes. The same limit applies to the lines that are printed only once for
many CPUs. The host's entire output is limited to 1 MiB."""
TOOL_S = 15
"""Time limit for one program, in seconds. On an emulated host, the slowest programs take several seconds to print their
version. A program may also be a script that runs other programs, or it may be waiting for an unresponsive file system
or drive."""
TOOL_BYTES = 8192
"""Limit on the output of one program, in bytes."""


def _read(name: str, **values: object) -> str:
    """Return a shell file in which each `@name@` is replaced with its value."""
    return re.sub(r"@(\w+)@", lambda match: str(values[match[1]]), shell(__file__, name).strip())


def _commands(name: str, **values: object) -> dict[str, str]:
    """Read the commands in a file and return them, keyed by name, in the order of the file."""
    _, *parts = re.split(r"^#: (.+)\n", _read(name, **values), flags=re.MULTILINE)
    return {title: text.strip() for title, text in zip(parts[::2], parts[1::2], strict=True)}


COMMANDS = _commands("commands.sh")
"""Shell code for the commands that run in every exchange, keyed by command name."""
LASTING = _commands("lasting.sh", kernel_options=KERNEL_OPTIONS)
"""The commands whose results the host caches until it restarts."""
TRIAL = {"io_uring": LASTING.pop("io_uring")}
PROBES = {name: LASTING.pop(name) for name in ("fio-engines", "fio-options")}
"""The commands that require fio."""


def script() -> str:
    """Return the script; see exchange.sh for its arguments."""
    lasting = _lasting()
    paths = [f"printf '%s\\0' {' '.join(FILES)}"]
    functions = [bounds(), f"program={_quoted(awk())}"]
    excess = []
    for number, folders in enumerate(FOLDERS):
        limit = f"{folders.most} {' '.join(folders.patterns)}"
        names = " ".join(f'"$1"/{name}' for name in folders.files)
        functions.append(f"give{number}() {{ printf '%s\\0' {names}; }}")
        paths.append(f"each give{number} {limit}")
        excess.append(f"excess {folders.field} {limit}")
    gather = [*excess, 'printf "%s files -\\n" "$token"', "paths | xargs -0 grep -as '' /dev/null", *_runs(COMMANDS)]
    functions += [_function("paths", paths), _function("gather", gather), lasting]
    digest = hashlib.sha256(lasting.encode()).hexdigest()[:12]
    return _read("exchange.sh", functions="\n".join(functions), digest=digest, tools=" ".join(TOOLS)) + "\n"


def awk() -> str:
    """Return the awk program that packs and truncates the output."""
    return _read("pack.awk", cpu=CPU, lines=MOST_LINES, bytes=MOST_BYTES, secret=SECRET_OPTION)


def bounds() -> str:
    """Return the shell functions that limit commands (limits.sh)."""
    return _read("limits.sh", seconds=TOOL_S, bytes=TOOL_BYTES)


def _lasting() -> str:
    """Return the shell functions `lasting` and `trial`. Their output does not change until the host restarts.

    `lasting` runs a pipeline: each process queries one part of the facts and appends its output to that of the
    preceding processes, so no intermediate file is needed.
    """
    parts = list(_runs(LASTING))
    parts += [
        f"if path=$(command -v {name}); then run tool-{name} 'echo \"$path\"; tell {name} {option}'; fi"
        for name, option in TOOLS.items()
    ]
    parts += [f"if command -v fio >/dev/null; then {run}; fi" for run in _runs(PROBES)]
    lines = [_function(f"lane{number}", parts[number::LANES]) for number in range(LANES)]
    lanes = " | ".join(["trial </dev/null", *(f"lane lane{number}" for number in range(LANES))])
    trial = ["command -v fio >/dev/null || return 0", *_runs(TRIAL)]
    return "\n".join([*lines, _function("trial", trial), f"lasting() {{ {lanes}; }}"])


def _function(name: str, lines: Iterable[str]) -> str:
    return "\n".join([f"{name}() {{", *lines, "}"])


def _runs(commands: dict[str, str]) -> Iterable[str]:
    return (f"run {name} {_quoted(text)}" for name, text in commands.items())


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"

"""Convert tasks to lines for runner.sh, parse the runner's messages, and check the paths that a transport may use.

This module does all shell quoting.
"""

from __future__ import annotations

import math
import posixpath
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from signal import SIGINT, SIGPIPE, SIGTERM

from asct.errors import HostError
from asct.hosts import errors
from asct.hosts.base import Process, SessionSpec, Task
from asct.resources import shell

LONGEST_LINE = 1 << 16
"""Maximum length, in bytes, of a line from the runner; real lines are far shorter."""
FOLDERS_AT_ONCE = 200
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_STATUS = re.compile("[0-9]{1,3}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def word(host: str, text: str) -> str:
    """Quote `text` as one POSIX shell word on a single line. Line feeds become `$nl`, a variable set by runner.sh."""
    if "\0" in text:
        raise HostError(host, errors.problem("bad_argument", host, detail=f"`{text[:60]!r}` contains a NUL"))
    quoted = text.replace("'", "'\\''").replace("\n", "'\"$nl\"'")
    return f"'{quoted}'"


def call(host: str, function: str, *values: str) -> str:
    """Return a call to a runner function. `function` is a constant in the code; `values` are quoted."""
    return " ".join([function, *(word(host, value) for value in values)])


def output_names(host: str, process: Process, folder: str) -> tuple[str, str]:
    """Return the paths of a process's output files, relative to `folder`, the main process's folder.

    If the process runs in another folder, the paths are absolute.
    """
    names = (inner_name(host, process.stdout_file), inner_name(host, process.stderr_file))
    if process.cwd == folder:
        return names
    return (f"{process.cwd}/{names[0]}", f"{process.cwd}/{names[1]}")


def wanted_files(host: str, task: Task) -> list[tuple[str, str]]:
    """Return the files to copy as pairs (path, name in `into`), without duplicates. The output files come first.

    A path is either absolute or relative to the main process's folder.
    """
    found: dict[str, str] = {}
    for process in (task.main, *task.companions):
        names = (process.stdout_file, process.stderr_file)
        found.update(zip(output_names(host, process, task.main.cwd), names, strict=True))
    found.update((inner_name(host, name), name) for name in task.collect)
    return list(found.items())


def _launch(host: str, process: Process) -> list[str]:
    for name in process.env:
        if not _NAME.fullmatch(name):
            raise HostError(host, errors.problem("bad_argument", host, detail=f"`{name}` is not a valid variable name"))
    stdout, stderr = inner_name(host, process.stdout_file), inner_name(host, process.stderr_file)
    variables = [f"{name}={value}" for name, value in process.env.items()]
    return [process.cwd, stdout, stderr, *variables, "--", *process.argv]


def task_line(host: str, task: Task, *, empty: bool) -> str:
    """Return the line that makes runner.sh run `task`. With `empty`, the runner first empties the task's folder."""
    calls = [call(host, "enter", "1" if empty else "0", task.main.cwd)]
    calls += [call(host, "file", inner_name(host, name), text) for name, text in task.files.items()]
    calls += [call(host, "companion", *_launch(host, companion)) for companion in task.companions]
    calls.append(call(host, "main", *_launch(host, task.main)))
    calls.append(call(host, "report", *(path for path, _ in wanted_files(host, task))))
    return "; ".join(calls) + "\n"


@dataclass(frozen=True, slots=True)
class TaskLine:
    """A task in a job file. `line` comes from `task_line`; `folder` is created beforehand, together with other
    folders."""

    key: str
    limit_s: float
    line: str
    folder: str = ""


def job_text(host: str, items: Sequence[TaskLine]) -> str:
    """Return the text of a job file for the runner.

    Time limits are in hundredths of a second, like /proc/uptime, the clock that a shell can read without starting a
    program.
    """
    lines = []
    folders = [item.folder for item in items if item.folder]
    for start in range(0, len(folders), FOLDERS_AT_ONCE):
        lines.append(f"+ {call(host, 'mkdir -p --', *folders[start : start + FOLDERS_AT_ONCE])}\n")
    for item in items:
        if not _KEY.fullmatch(item.key):
            raise HostError(
                host, errors.problem("bad_argument", host, detail=f"`{item.key[:60]}` is not a valid task key")
            )
        lines.append(f"= {item.key} {max(1, math.ceil(item.limit_s * 100))}\n: {item.line}")
    return "".join(lines)


def runner_command(work: str, *, posix_login: bool) -> str:
    """Return the command line that starts the runner. A POSIX login shell runs it directly, without starting another
    program."""
    root = shlex.quote(work)
    text = 'root=$1 mode=line; . "$root/.runner"'
    return f"root={root} mode=line; . {root}/.runner" if posix_login else f"exec sh -c '{text}' sh {root}"


def runner() -> str:
    """Return the source of the runner: first its functions, then its modes (runner.sh)."""
    return shell(__file__, "runner_task.sh") + shell(__file__, "runner.sh")


def open_script(host: str, base: str, token: str, session: SessionSpec | None = None) -> str:
    """Return the script for `sh -s` that creates the work folder named by `token` below `base`, or resumes the session
    in it.

    If `session` is given, the script also locks the host, starts the runner, runs the session's own script and stays
    connected to the runner.
    """
    owner, reading = (session.owner, session.reading) if session else ("", None)
    if "\n" in base:  # the host reports the path on one line
        raise HostError(host, errors.no_work_folder(host, base, "its name contains a line feed"))
    nl = "nl='\n'\n"
    names = {"base": base, "token": token, "owner": owner, "runner": runner()}
    names |= {"find": reading.find if reading else "", "keep": reading.keep if reading else ""}
    names["script"] = session.script if session else ""
    texts = "".join(f"{name}={word(host, value)}\n" for name, value in names.items())
    return nl + texts + 'mode=none; eval "$runner"\n' + shell(__file__, "open.sh")


def exit_status(shell_status: int, message: bool) -> int:
    """Derive a program's exit status from its shell's exit status. The result is negative if a signal killed the
    program.

    A shell reports 128+n both for a program killed by signal n and for a program that exits with status 128+n, but
    prints a message only for a signal. For INT, PIPE and TERM, it never prints a message; in these cases, 128+n is
    assumed to mean the signal.
    """
    number = shell_status - 128
    if 0 < number <= 64 and (message or number in (SIGINT, SIGPIPE, SIGTERM)):
        return -number
    return shell_status


@dataclass(frozen=True, slots=True)
class RunnerReport:
    """The content of a task's last event: one flag per file (- missing, e empty, f file, x other), and the exit
    statuses of the companions."""

    flags: str
    companions: tuple[int, ...]


def read_report(text: str) -> RunnerReport:
    """Parse what follows the key in a `done` event. Raises ValueError if it is not a report."""
    flags, *statuses = text.split(" ")
    if set(flags) - set("-efx"):
        raise ValueError(f"`{text}` is not a report")
    return RunnerReport(flags, tuple(status_of(one) for one in statuses))


def status_of(text: str) -> int:
    """Parse an exit status as printed by a shell. Raises ValueError if `text` is not an exit status."""
    if not _STATUS.fullmatch(text):
        raise ValueError(f"`{text[:60]}` is not a status")
    return int(text)


def messages(lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Yield (first word, rest) for each of the runner's lines, ignoring the output of login scripts."""
    for line in lines:
        if line.startswith("asct:"):
            first, _, rest = line.removeprefix("asct:").partition(" ")
            yield first, rest


def companion_notes(task: Task, statuses: Iterable[int]) -> list[str]:
    """Return a note for each companion that could not be started. Shells report this as status 126 or 127."""
    return [
        f"{process.argv[0]}, which runs alongside the program, could not be started (status {status})"
        for process, status in zip(task.companions, statuses, strict=False)
        if status in (126, 127)
    ]


def inner_name(host: str, name: str) -> str:
    """Return `name` if it is a plain relative path such as `chase/chase.c`; otherwise raise HostError."""
    parts = name.split("/")
    if not name or "\0" in name or "\n" in name or any(part in ("", ".", "..") for part in parts):
        raise HostError(host, errors.problem("path_refused", host, path=name, why="it may lead outside its folder"))
    return name


def below(host: str, path: str, roots: Sequence[str]) -> str:
    """Return `path` if it is absolute, plain and strictly below one of `roots`; otherwise raise HostError."""
    if "\0" in path or "\n" in path or posixpath.normpath(path) != path:
        raise HostError(host, errors.problem("path_refused", host, path=path, why="it is not a plain absolute path"))
    if not any(path.startswith(root.rstrip("/") + "/") for root in roots):
        places = " or ".join(f"`{root}`" for root in roots)
        raise HostError(host, errors.problem("path_refused", host, path=path, why=f"it is not inside {places}"))
    return path

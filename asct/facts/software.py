"""Programs on the host, what fio can do there, and the work folder."""

from __future__ import annotations

import re

from asct.facts.snapshot import Snapshot
from asct.facts.sources import TOOLS
from asct.facts.unknown import LATE, UnknownFacts, whole
from asct.sdk.facts import ToolFact

_VERSION = re.compile(r"(?<![\w.])(?:\w+-)?(\d+(?:\.\d+)+(?:-rc\d+)?)(?![\w.]*/)")
_OPTION = re.compile(r" *([a-z][a-z0-9_-]*) *: ")
_BUILT_IN = re.compile(r"^ *([A-Za-z0-9_-]{1,40}): \[ *on *\]", re.MULTILINE)
_ENGINE = re.compile(r"[a-z][a-z0-9_-]*")
_ASKED_MORE = {"fio-engines": "fio.features", "perf-features": "perf.features"}


def tools(found: Snapshot, gaps: UnknownFacts) -> dict[str, ToolFact]:
    """Programs that were found; a version that is not printed is null."""
    known: dict[str, ToolFact] = {}
    for command, field in (*((f"tool-{name}", f"{name}.version") for name in TOOLS), *_ASKED_MORE.items()):
        if found.late(command):
            gaps.note(f"tools.{field}", f"{field.partition('.')[0]} {LATE}")
    for name in TOOLS:
        answer = found.commands.get(f"tool-{name}")
        path, _, text = (answer.text if answer else "").partition("\n")
        if path.startswith("/"):
            ran = answer is not None and answer.status == 0
            banner = text.strip().partition("\n")[0].strip() if ran else ""
            fact = ToolFact(path=path.strip(), version=version(text), banner=banner or None)
            if name == "fio":
                listed = {
                    "features": engines(found.command_output("fio-engines")),
                    "options": options(found.command_output("fio-options")),
                }
                fact = fact.model_copy(update=listed)
            if name == "perf":
                fact = fact.model_copy(update={"features": built_in(found.command_output("perf-features"))})
            known[name] = fact
    return known


def version(text: str) -> str | None:
    """The last dotted number of the first line that has one: `gcc (Debian 12.2.0-14) 12.2.0`, `fio-3.33`."""
    for line in text.split("\n"):
        found = _VERSION.findall(line)
        if found:
            return str(found[-1])
    return None


def engines(text: str | None) -> list[str]:
    """The engines that `fio --enghelp` lists, sorted."""
    lines = [line.strip() for line in (text or "").split("\n")]
    return sorted({line for line in lines if _ENGINE.fullmatch(line)})


def built_in(text: str | None) -> list[str]:
    """The libraries that `perf version --build-options` reports as built in (`libopencsd`), sorted."""
    return sorted(set(_BUILT_IN.findall(text or "")))


def options(text: str | None) -> list[str]:
    """The options that `fio --cmdhelp=all` lists; options of an engine are given as `engine.option`."""
    known: set[str] = set()
    engine = ""
    for line in (text or "").split("\n"):
        if line.startswith("engine "):
            engine = line.removeprefix("engine ").strip() + "."
        elif found := _OPTION.match(line):
            known.add(engine + found[1])
    return sorted(known)


def io_uring(found: Snapshot, gaps: UnknownFacts) -> bool | None:
    """Whether the account can create an io_uring, tested with fio if it has the engine, else by the sysctl."""
    probe = found.commands.get("io_uring")
    if found.late("io_uring"):
        gaps.note("io_uring", f"fio {LATE} when it was tested")
        return None
    if probe is not None and "io_uring" in engines(found.command_output("fio-engines")):
        return probe.status == 0
    disabled = whole(found.text("/proc/sys/kernel/io_uring_disabled"))
    if disabled == 0:
        return True
    if disabled == 2:
        return False
    if disabled == 1 and whole(found.command_output("id")) == 0:
        return True
    gaps.note("io_uring", "no fio with this engine to test it, and no sysctl that controls it")
    return None


def work_folder(found: Snapshot, gaps: UnknownFacts) -> tuple[int | None, str | None]:
    """Free bytes for an account like this one, and the type of the file system, of the work folder."""
    last = (found.command_output("df") or "").split("\n")[-1].split(None, 5)
    free = whole(last[3]) if len(last) == 6 else None
    if free is None:
        why = f"df {LATE}" if found.late("df") else "df does not report it"
        gaps.note("work_free_bytes", why)
        gaps.note("work_filesystem", why)
        return None, None
    kinds = [line.split() for line in (found.text("/proc/self/mounts") or "").split("\n")]
    kind = next((one[2] for one in reversed(kinds) if len(one) >= 3 and one[1] == last[5].replace(" ", "\\040")), None)
    if kind is None:
        gaps.note("work_filesystem", "its mount point is not in /proc/self/mounts")
    return free * 1024, kind

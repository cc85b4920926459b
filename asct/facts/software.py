"""The programs on a host, the features of its fio version, and its work folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from asct.facts.snapshot import CommandOutput, Snapshot
from asct.facts.sources import TOOLS
from asct.facts.unknown import LATE, UnknownFacts, whole
from asct.sdk.facts import ToolFact

_VERSION = re.compile(r"(?<![\w.])(?:\w+-)?(\d+(?:\.\d+)+(?:-rc\d+)?)(?![\w.]*/)")
_OPTION = re.compile(r" *([a-z][a-z0-9_-]*) *: ")
_BUILT_IN = re.compile(r"^ *([A-Za-z0-9_-]{1,40}): \[ *on *\]", re.MULTILINE)
_ENGINE = re.compile(r"[a-z][a-z0-9_-]*")
_FEATURES = {"fio": "fio-engines", "perf": "perf-features"}


def tools(snapshot: Snapshot, gaps: UnknownFacts) -> dict[str, ToolFact]:
    """Return the programs on the host. The version of a program is None if it does not print one."""
    listed: dict[str, dict[str, Sequence[str]]] = {
        "fio": {
            "features": engines(snapshot.command_output("fio-engines")),
            "options": options(snapshot.command_output("fio-options")),
        },
        "perf": {"features": built_in(snapshot.command_output("perf-features"))},
    }
    known: dict[str, ToolFact] = {}
    for name in TOOLS:
        answer = snapshot.commands.get(f"tool-{name}", CommandOutput(255, ""))
        path, _, text = answer.text.partition("\n")
        banner = text.strip().partition("\n")[0].strip() if answer.status == 0 else ""
        if path.startswith("/"):
            more = listed.get(name, {})
            known[name] = ToolFact(path=path.strip(), version=version(text), banner=banner or None, **more)
        for command, field in ((f"tool-{name}", "version"), (_FEATURES.get(name, ""), "features")):
            if snapshot.late(command):
                gaps.note(f"tools.{name}.{field}", f"{name} {LATE}")
    return known


def version(text: str) -> str | None:
    """Return the last dotted number in the first line that contains one: `gcc (Debian 12.2.0-14) 12.2.0`,
    `fio-3.33`."""
    for line in text.split("\n"):
        found = _VERSION.findall(line)
        if found:
            return str(found[-1])
    return None


def engines(text: str | None) -> list[str]:
    """Return the engines that `fio --enghelp` lists, sorted."""
    lines = [line.strip() for line in (text or "").split("\n")]
    return sorted({line for line in lines if _ENGINE.fullmatch(line)})


def built_in(text: str | None) -> list[str]:
    """Return the libraries that `perf version --build-options` reports as built in (`libopencsd`), sorted."""
    return sorted(set(_BUILT_IN.findall(text or "")))


@lru_cache(maxsize=8)
def options(text: str | None) -> tuple[str, ...]:
    """Return the options that `fio --cmdhelp=all` lists; engine options are named `engine.option`. The result is
    cached, because the long list is usually the same on all hosts."""
    known: set[str] = set()
    engine = ""
    for line in (text or "").split("\n"):
        if line.startswith("engine "):
            engine = line.removeprefix("engine ").strip() + "."
        elif found := _OPTION.match(line):
            known.add(engine + found[1])
    return tuple(sorted(known))


def io_uring(snapshot: Snapshot, gaps: UnknownFacts) -> bool | None:
    """Return whether the account can create an io_uring. If fio supports the engine, fio tests it; otherwise, a sysctl
    provides the answer."""
    probe = snapshot.commands.get("io_uring")
    if snapshot.late("io_uring"):
        gaps.note("io_uring", f"fio {LATE} during the test")
        return None
    if probe is not None and "io_uring" in engines(snapshot.command_output("fio-engines")):
        return probe.status == 0
    disabled = whole(snapshot.text("/proc/sys/kernel/io_uring_disabled"))
    root = whole(snapshot.command_output("id")) == 0
    value = {0: True, 1: True if root else None, 2: False}.get(-1 if disabled is None else disabled)
    return gaps.known(
        "io_uring",
        value,
        "no fio with the io_uring engine is available for a test, and no sysctl reports the permission",
    )


def work_folder(snapshot: Snapshot, gaps: UnknownFacts) -> tuple[int | None, str | None]:
    """Return the number of bytes that the account can use in the work folder, and the type of its file system."""
    last = (snapshot.command_output("df") or "").split("\n")[-1].split(None, 5)
    free = whole(last[3]) if len(last) == 6 else None
    if free is None:
        why = f"df {LATE}" if snapshot.late("df") else "not reported by df"
        gaps.note("work_free_bytes", why)
        gaps.note("work_filesystem", why)
        return None, None
    kinds = [line.split() for line in (snapshot.text("/proc/self/mounts") or "").split("\n")]
    kind = next((one[2] for one in reversed(kinds) if len(one) >= 3 and one[1] == last[5].replace(" ", "\\040")), None)
    if kind is None:
        gaps.note("work_filesystem", "its mount point is not listed in /proc/self/mounts")
    return free * 1024, kind

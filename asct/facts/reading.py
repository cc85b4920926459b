"""Read the facts of a host in one exchange: run a constant script, store its raw output, and pass it to pure
parsers."""

from __future__ import annotations

import re
import secrets
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from asct.errors import HostError
from asct.facts import blocks, cpu, memory, mounts, network, pci, perf, software, system
from asct.facts.bounds import bounded
from asct.facts.cmn import sysfs
from asct.facts.exchange import script
from asct.facts.snapshot import KEPT, Snapshot, from_output, token_of
from asct.facts.sources import EVIDENCE, FIELDS
from asct.facts.unknown import UnknownFacts, real, whole
from asct.hosts import errors
from asct.hosts.base import Host
from asct.sdk.facts import HostFacts, Interconnect, Load
from asct.values.timestamp import stamp

ABSENT = "the snapshot does not contain it"
_NAMES = {"Max locked memory": "memlock", "Max open files": "nofile", "Max processes": "nproc"}
_LINE = re.compile(r"(Max [a-z ]+?) {2,}(\d{1,20}|unlimited) +(?:\d{1,20}|unlimited)\b.*", re.ASCII)


def limits(snapshot: Snapshot, gaps: UnknownFacts) -> dict[str, int | None]:
    """Return the soft limits in /proc/self/limits (proc(5), getrlimit(2)): `memlock` in bytes, `nofile`, `nproc`.

    None means unlimited. The limits are those of sessions opened by the transport; other logins may have different
    limits.
    """
    soft: dict[str, int | None] = {}
    for line in (snapshot.text("/proc/self/limits") or "").split("\n"):
        match = _LINE.fullmatch(line.strip())
        if match and match[1] in _NAMES:
            soft[_NAMES[match[1]]] = None if match[2] == "unlimited" else int(match[2])
    for name in _NAMES.values():
        if name not in soft:
            gaps.note(f"limits.{name}", "not reported by /proc/self/limits")
    return dict(sorted(soft.items()))


_PRESSURE = re.compile(r"^some avg10=([0-9.]+)", re.MULTILINE | re.ASCII)
_RUNNING = re.compile(r"\d+/\d+", re.ASCII)


def load(snapshot: Snapshot, gaps: UnknownFacts) -> Load:
    """Return the load averages from /proc/loadavg (proc(5)) and the pressure from /proc/pressure (accounting/psi.rst:
    `some`, as a percentage over 10 s)."""
    words = (snapshot.text("/proc/loadavg") or "").split()
    one, five, fifteen = ([real(word) for word in words[:3]] + [None] * 3)[:3]
    running = whole(words[3].partition("/")[0]) if len(words) > 3 and _RUNNING.fullmatch(words[3]) else None
    for field, value in (("load1", one), ("load5", five), ("load15", fifteen), ("running", running)):
        gaps.known(f"load.{field}", value, "not reported by /proc/loadavg")
    pressures = {f"{name}_pressure_avg10": _pressure(snapshot, name) for name in ("cpu", "memory", "io")}
    for field, value in pressures.items():
        gaps.known(f"load.{field}", value, "not reported by /proc/pressure: the Linux kernel does not track pressure")
    return Load(load1=one, load5=five, load15=fifteen, running=running, **pressures)


def _pressure(snapshot: Snapshot, name: str) -> float | None:
    match = _PRESSURE.search(snapshot.text(f"/proc/pressure/{name}") or "")
    return real(match[1]) if match else None


def reasons(omitted: Mapping[str, int]) -> dict[str, str]:
    """Return the reasons why facts are incomplete, keyed by field.

    `omitted` counts the omitted entries of a field, or the omitted lines of a file.
    """
    files: dict[str, dict[str, int]] = {}
    by_field: dict[str, str] = {}
    for name, count in omitted.items():
        if name.startswith("/"):
            field = next((field for start, field in FIELDS if name.startswith(start)), "system")
            files.setdefault(field, {})[name] = count
        else:
            by_field[name] = f"too many entries: {count} omitted"
    for field, counts in files.items():
        reason = f"too many lines in {', '.join(counts)}: {sum(counts.values())} omitted"
        by_field[field] = f"{by_field[field]}; {reason}" if field in by_field else reason
    return by_field


def _dump_reasons(snapshot: Snapshot, reasons: Mapping[str, str]) -> dict[str, str]:
    """Return all reasons, replacing those that apply only because the dump lacks the files, which may exist on the
    machine."""

    @cache
    def has(source: str) -> bool:
        if not source.startswith("/"):
            return source in snapshot.commands
        return any(source in path for path in snapshot.files)

    def reason(field: str, text: str) -> str:
        sources = next((sources for pattern, sources in EVIDENCE.items() if re.fullmatch(pattern, field)), None)
        return text if sources is None or any(map(has, sources)) else ABSENT

    return {field: reason(field, text) for field, text in reasons.items()}


def interconnects(snapshot: Snapshot, arch: str | None, gaps: UnknownFacts) -> list[Interconnect]:
    """Count the meshes by name (`CMN-700`), using the devices that the firmware describes or, if there are none, the
    driver's PMUs."""
    regions = sysfs.regions(snapshot)
    kinds: Counter[str] = Counter(region.kind for region in regions)
    source = "firmware devices"
    if not kinds:
        kinds = Counter(pmu.kind or "CMN" for pmu in sysfs.pmus(snapshot))
        source = "kernel PMUs"
    if not kinds:
        if arch in (None, "aarch64"):
            gaps.note("interconnects", "not reported")
        else:
            gaps.not_applicable("interconnects", f"{arch} has no known mesh")
    return [Interconnect(name=name, count=count, source=source) for name, count in sorted(kinds.items())]


TIMEOUT_S = 180.0
"""Time limit for reading the facts, in seconds. The first exchange after each boot queries the host's programs, which
takes up to a minute on a loaded or emulated host."""


def session_script() -> str:
    """Return the script that reads the facts when a session is opened (`SessionSpec.script`)."""
    return f'set -- {_token()} "$root" "$cache"\n{script()}'


def collect(host: Host, raw: Path) -> HostFacts:
    """Read the facts of a host with an open session, and write the raw output to the folder `raw`. Raises HostError.

    The facts may already have been read when the session was opened.
    """
    answer = host.answer(timeout_s=TIMEOUT_S)
    if answer is None:
        token = _token()
        answer = host.execute(["sh", "-s", token, host.work, host.cache], timeout_s=TIMEOUT_S, stdin=script())
    else:
        token = token_of(answer.stdout) or _token()
    now = datetime.now(UTC)
    raw.mkdir(parents=True, exist_ok=True)
    (raw / KEPT).write_text(f"{answer.stdout.rstrip()}\n{token} taken {stamp(now)}\n", "utf-8")
    return facts_of(from_output(answer.stdout, token), host.name, now)


def probe(host: Host, base: str) -> Snapshot:
    """Take a snapshot of a host without opening a session. Raises HostError.

    Nothing is left on the host except tool versions in the account's cache. `base` is the parent folder of the work
    folders.
    """
    token = _token()
    answer = host.probe(script(), [token, base, ""], timeout_s=TIMEOUT_S)
    if f"{token} over" not in answer.stdout:
        output = (answer.stdout + answer.stderr)[-500:]
        raise HostError(host.name, errors.strange_shell(host.name, "reading the facts", output))
    return from_output(answer.stdout, token)


def _token() -> str:
    return f"asct-{secrets.token_hex(8)}"


def facts_of(snapshot: Snapshot, host: str, when: datetime, *, dated_by_file: bool = False) -> HostFacts:
    """Parse the facts in a snapshot. Unreadable values are None, and `unknown` contains the reasons."""
    gaps = UnknownFacts()
    free, filesystem = software.work_folder(snapshot, gaps)
    machine = system.system(snapshot, gaps)
    chips = cpu.processors(snapshot, gaps)
    drives = blocks.block_devices(snapshot, gaps)
    net = network.network(snapshot, machine.arch, gaps)
    facts = HostFacts(
        host=host,
        collected_at=stamp(when),
        dated_by_file=dated_by_file,
        system=machine,
        cpu=chips.cpu,
        caches=chips.caches,
        cache_levels=chips.cache_levels,
        nodes=memory.nodes(snapshot, gaps),
        memory=memory.memory(snapshot, machine.virtualization, gaps),
        interconnects=interconnects(snapshot, machine.arch, gaps),
        block_devices=drives,
        pci=pci.functions(snapshot, drives, net.interfaces, gaps),
        mounts=mounts.mounts(snapshot, gaps),
        network=net,
        perf=perf.perf(snapshot, machine.kernel_options, gaps),
        thermal=perf.thermal(snapshot, gaps),
        load=load(snapshot, gaps),
        tools=software.tools(snapshot, gaps),
        io_uring=software.io_uring(snapshot, gaps),
        io_uring_disabled=whole(snapshot.text("/proc/sys/kernel/io_uring_disabled")),
        work_free_bytes=free,
        work_filesystem=filesystem,
        limits=limits(snapshot, gaps),
        unknown=(_dump_reasons(snapshot, gaps.reasons) if snapshot.dump else gaps.reasons) | reasons(snapshot.omitted),
        not_applicable=gaps.absent,
        contradictions=gaps.contradictions,
        notes=list(snapshot.notes),
    )
    return bounded(facts)

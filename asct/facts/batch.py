"""Read a host's facts in one exchange: a constant script, its output kept raw, then pure parsers."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from pathlib import Path

from asct.errors import HostError
from asct.facts import (
    blocks,
    cpu,
    interconnect,
    left,
    limits,
    load,
    memory,
    mounts,
    network,
    nodes,
    perf,
    snapshot,
    software,
    system,
    thermal,
)
from asct.facts.bounds import bounded
from asct.facts.exchange import script
from asct.facts.gaps import Gaps, whole
from asct.facts.snapshot import Snapshot
from asct.hosts import problems
from asct.hosts.base import Host
from asct.sdk.facts import HostFacts

TIMEOUT_S = 180.0
"""A loaded or emulated host takes most of a minute to ask its programs what they are, once after each start."""


def collect(host: Host, raw: Path) -> HostFacts:
    """The facts of an open host; what it printed is kept in the folder `raw`. Raises HostError."""
    token = _token()
    answer = host.answer(["sh", "-s", token, host.work, host.cache], timeout_s=TIMEOUT_S, stdin=script())
    now = datetime.now(UTC)
    raw.mkdir(parents=True, exist_ok=True)
    (raw / snapshot.KEPT).write_text(f"{answer.stdout.rstrip()}\n{token} taken {snapshot.stamp(now)}\n", "utf-8")
    return facts_of(snapshot.from_output(answer.stdout, token), host.name, now)


def glance(host: Host, base: str) -> Snapshot:
    """What a host says that is not open, in one exchange; nothing of it stays there but the answers of its tools in the
    account's cache. `base` is where a run's work folder would be. Raises HostError."""
    token = _token()
    answer = host.glance(script(), [token, base, ""], timeout_s=TIMEOUT_S)
    if f"{token} over" not in answer.stdout:
        seen = (answer.stdout + answer.stderr)[-500:]
        raise HostError(host.name, problems.strange_shell(host.name, "reading the facts", seen))
    return snapshot.from_output(answer.stdout, token)


def _token() -> str:
    return f"asct-{secrets.token_hex(8)}"


def facts_of(found: Snapshot, host: str, when: datetime, *, dated_by_file: bool = False) -> HostFacts:
    """Facts from a snapshot: pure. What cannot be read is null, and `unknown` says why."""
    gaps = Gaps()
    free, filesystem = software.work_folder(found, gaps)
    machine = system.system(found, gaps)
    chips = cpu.processors(found, gaps)
    made = HostFacts(
        host=host,
        collected_at=snapshot.stamp(when),
        dated_by_file=dated_by_file,
        system=machine,
        cpu=chips.cpu,
        caches=chips.caches,
        cache_levels=chips.cache_levels,
        nodes=nodes.nodes(found, gaps),
        memory=memory.memory(found, machine.virtualization, gaps),
        interconnects=interconnect.interconnects(found, machine.arch, gaps),
        block_devices=blocks.block_devices(found, gaps),
        mounts=mounts.mounts(found, gaps),
        network=network.network(found, machine.arch, gaps),
        perf=perf.perf(found, machine.kernel_options, gaps),
        thermal=thermal.thermal(found, gaps),
        load=load.load(found, gaps),
        tools=software.tools(found, gaps),
        io_uring=software.io_uring(found, gaps),
        io_uring_disabled=whole(found.text("/proc/sys/kernel/io_uring_disabled")),
        work_free_bytes=free,
        work_filesystem=filesystem,
        limits=limits.limits(found, gaps),
        unknown=gaps.reasons | left.reasons(found.left),
        not_applicable=gaps.absent,
        notes=list(found.notes),
    )
    return bounded(made)

"""The rows. Servers and clients share this machine, so a row with many hosts includes the work of both sides."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from asct.facts.reading import probe
from asct.hosts.base import Host, SessionSpec
from asct.hosts.factory import make_host
from asct.plan.model import HostSpec
from tests.bench.harness import applied, asct, scratch
from tests.bench.measure import Cost, command, timed
from tests.bench.table import Goal, cpus, note, row
from tests.fleet import fleet

HOSTS = 100
POINTS = 1000
PLANNED = 500
ROUNDS = 3
COMMANDS = 200
FACTS = 20


def hundred_hosts() -> None:
    """Measure one noop point on each of 100 hosts. The first run finds empty caches; only the other runs count."""
    with fleet(HOSTS) as made:
        plan = _plan(made.hosts())
        cold, *costs = [_applied(plan) for _ in range(ROUNDS + 1)]
    walls = [cost.wall_s for cost, _ in costs]
    memory = max(cost.memory_mib for cost, _ in costs)
    own = [cost.cpu_s / HOSTS * 1e3 for cost, _ in costs]
    row(f"{HOSTS} hosts, a point each", "s", *_middle_and_best(walls), goal=_below(walls, 8, "s"))
    row(f"{HOSTS} hosts, CPU time of asct per host", "ms", *_middle_and_best(own), goal=_below(own, 30, "ms"))
    row(f"{HOSTS} hosts, memory of asct", "MiB", memory, memory, goal=Goal("under 300 MB", memory * 1.048576 < 300))
    note(f"{_processor_time(costs)}; first run {cold[0].wall_s:.2f} s; {_load()}")


def one_host() -> None:
    """Measure the same with one host, to show the additional cost of 100 hosts."""
    with fleet(1) as made:
        plan = _plan(made.hosts())
        walls = [_applied(plan)[0].wall_s for _ in range(ROUNDS + 1)][1:]
    row("1 host, a point", "s", *_middle_and_best(walls))


def warm_command() -> None:
    """Measure a short command over an open connection, and a task of a session."""
    with _connected() as host:
        host.execute(["true"])
        times = [timed(lambda: host.execute(["true"])) * 1e3 for _ in range(COMMANDS)]
    row("a warm command", "ms", *_middle_and_best(times), goal=_below(times, 6, "ms"))
    note(_load())


def facts_of_a_host() -> None:
    """Measure reading all facts of a host in a single exchange, including the connection. The versions of its tools are
    either determined for the first time or taken from the account's cache. Also measure a connection over which nothing
    is done."""
    with _spec() as spec:
        first, again, connected = [], [], []
        for _ in range(FACTS):
            make_host(spec).probe('rm -f -- "${XDG_CACHE_HOME:-$HOME/.cache}"/asct/facts-*', [])
            first.append(timed(lambda: probe(make_host(spec), spec.workdir)) * 1e3)
            again.append(timed(lambda: probe(make_host(spec), spec.workdir)) * 1e3)
            connected.append(timed(lambda: make_host(spec).probe("", [])) * 1e3)
    row("facts of a host, first time", "ms", *_middle_and_best(first))
    row("facts of a host", "ms", *_middle_and_best(again), goal=_below(again, 150, "ms"))
    row("a connection that does nothing", "ms", *_middle_and_best(connected))
    note(f"one connection and one exchange each (tests/hosts/test_probe.py counts them); {_load()}")


def thousand_points() -> None:
    """Measure 1,000 noop points on one host, from the start of asct to its end."""
    sweep = f"  - {{uses: noop, sweep: {{index: {{from: 1, to: {POINTS}, step: 1}}}}}}\n"
    with fleet(1) as made:
        plan = _plan(made.hosts(), sweep)
        costs = [_applied(plan) for _ in range(ROUNDS)]
        logins = made.servers["n001"].log.read_text().count("Accepted publickey")
    walls = [cost.wall_s for cost, _ in costs]
    row(f"{POINTS} points on one host", "s", *_middle_and_best(walls), goal=_below(walls, 10, "s"))
    note(f"{_processor_time(costs)}; {logins} logins in {ROUNDS} runs; {_load()}")


def dry_plan() -> None:
    """Measure `asct plan` for 500 hosts with two benchmarks; no host is contacted."""
    hosts = {f"node[001:{PLANNED}]": {"transport": "ssh", "vars": {"index": 7}}}
    more = '  - {id: swept, uses: noop, sweep: {index: ["${host.vars.index}", 1, 2]}}\n'
    folder = scratch()
    (folder / "plan.yaml").write_text(_plan(hosts, "  - noop\n" + more))
    costs = [command(asct("plan", str(folder / "plan.yaml"))) for _ in range(ROUNDS)]
    walls = [cost.wall_s for cost in costs]
    row(f"a dry plan for {PLANNED} hosts", "s", *_middle_and_best(walls), goal=_below(walls, 2, "s"))
    note(f"processor time {statistics.median(cost.cpu_s for cost in costs):.2f} s; {_load()}")


def _plan(hosts: object, benchmarks: str = "  - noop\n") -> str:
    return f"plan: 1\nname: fleet\nhosts: {json.dumps(hosts)}\nbenchmarks:\n{benchmarks}"


def _applied(plan: str) -> tuple[Cost, float]:
    """Return the cost of asct, and the processor time that everything else on this machine used in the meantime,
    including the servers and the detached runners, which are not child processes of the tests."""
    before = _busy_s()
    cost = applied(plan, scratch())
    return cost, _busy_s() - before - cost.cpu_s


def _busy_s() -> float:
    """Return the processor time of the machine, except for idle time, time waiting for drives, and stolen time
    (proc(5), /proc/stat)."""
    user, nice, system, _idle, _waiting, irq, softirq, *_ = Path("/proc/stat").read_text().split()[1:]
    return sum(map(int, (user, nice, system, irq, softirq))) / os.sysconf("SC_CLK_TCK")


def _processor_time(costs: list[tuple[Cost, float]]) -> str:
    """Format the medians of the processor times, which show the minimum time that a row can take on these CPUs."""
    own, rest = (statistics.median(values) for values in zip(*((one.cpu_s, cpu) for one, cpu in costs), strict=True))
    shared = (own + rest) / len(cpus())
    return f"processor time: asct {own:.2f} s, all else {rest:.2f} s; spread over {len(cpus())} CPUs {shared:.2f} s"


@contextmanager
def _spec() -> Iterator[HostSpec]:
    with fleet(1) as made:
        server = made.servers["n001"]
        yield HostSpec(
            "n001", "ssh", address=server.address, port=server.port, user=server.user,
            identity_file=str(made.identity), known_hosts=str(made.known_hosts),
        )  # fmt: skip


@contextmanager
def _connected() -> Iterator[Host]:
    with _spec() as spec:
        host = make_host(spec, folder=Path.cwd())
        host.open(SessionSpec("bench", "the bench of hosts"))
        try:
            yield host
        finally:
            host.close()


def _middle_and_best(values: list[float]) -> tuple[float, float]:
    return statistics.median(values), min(values)


def _below(values: list[float], limit: float, unit: str) -> Goal:
    return Goal(f"under {limit:g} {unit}", statistics.median(values) < limit)


def _load() -> str:
    return f"load {os.getloadavg()[0]:.2f}"


ROWS: dict[str, Callable[[], None]] = {
    "hundred": hundred_hosts,
    "one": one_host,
    "command": warm_command,
    "facts": facts_of_a_host,
    "points": thousand_points,
    "plan": dry_plan,
}

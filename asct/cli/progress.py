"""The progress of a run: live lines on a terminal, plain lines elsewhere, and JSON Lines with --json.

All three displays listen to the engine's events.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Final, Self

from rich.text import Text

from asct.cli.console import Console
from asct.cli.text import short_time, wrapped
from asct.engine import events
from asct.store.model import MEASURED
from asct.values.quantity import format_quantity
from asct.values.text import counted

HEARTBEAT_S: Final = 60.0
REDRAW_S: Final = 0.9
"""Minimum time, in seconds, between two redraws of the live lines."""
REDRAW_LOCAL_S: Final = 4.9
"""Minimum time, in seconds, between two redraws while this machine itself measures a point. This time is longer because
drawing uses the machine's CPUs."""
_SHORTEST_S: Final = 0.25
"""Minimum time, in seconds, between two redraws caused by events, because many points can end within one second."""
_MOST_OF_POINT: Final = 0.95
"""A running point fills at most this fraction of its bar segment."""


@dataclass
class HostProgress:
    """The progress of one host."""

    measurements: int = 0
    done: int = 0
    estimated_s: float = 0.0
    estimated_done_s: float = 0.0
    started: float = field(default_factory=time.monotonic)
    doing: str = "connecting"
    step: str = ""
    rate: str = ""
    last: str = ""
    point_estimate_s: float = 0.0
    point_started: float = field(default_factory=time.monotonic)
    job_done_s: float = 0.0
    job_started: float = field(default_factory=time.monotonic)
    begun: bool = False
    """Whether the host has started; at most `--forks` hosts run at a time."""

    @property
    def over(self) -> bool:
        """Whether all planned measurements have been attempted."""
        return self.done >= self.measurements

    def follow(self, event: events.Event) -> None:
        """Update the state with an event from the host."""
        self.begun = True
        if isinstance(event, events.HostReady):
            self.doing = "preparing"
        elif isinstance(event, events.KernelBuilt):
            self.doing = f"{'found' if event.cached else 'built'} {event.kernel}"
        elif isinstance(event, events.JobStarted):
            self.job_done_s, self.job_started = 0.0, time.monotonic()
        elif isinstance(event, events.PointStarted):
            self.doing = f"{event.id} {event.label}".strip()
            self.step = self.rate = ""
            self.point_estimate_s, self.point_started = event.estimated_s, time.monotonic()
        elif isinstance(event, events.StepStarted):
            self.step, self.rate = event.label, ""
        elif isinstance(event, events.DriveRates):
            self.rate = rate_text(event)
        elif isinstance(event, events.PointEnded):
            self.done += 1
            self.estimated_done_s += self.point_estimate_s
            self.job_done_s += self.point_estimate_s
            self.point_started, self.point_estimate_s = time.monotonic(), 0.0
            self.last = event.headline
            self.step = self.rate = ""

    @property
    def measuring(self) -> bool:
        """Whether a point is being measured."""
        return self.point_estimate_s > 0

    @property
    def _correction(self) -> float:
        """The ratio of actual to estimated time for the job so far. It is not carried over to the next job, because it
        differs between benchmarks."""
        if self.job_done_s <= 0:
            return 1.0
        return max(0.2, min(5.0, (self.point_started - self.job_started) / self.job_done_s))

    def eta_s(self, now: float) -> float | None:
        """Return the remaining time in seconds (the corrected estimate for the remaining points), or None if there is
        no estimate."""
        if self.estimated_s <= 0:
            return None
        factor = self._correction
        running = min(now - self.point_started, self.point_estimate_s * factor)
        return max(0.0, (self.estimated_s - self.estimated_done_s) * factor - running)

    def share(self, now: float) -> float:
        """Return the completed share of the measurements, from 0 to 1. A running point contributes the elapsed share of
        its expected time."""
        if not self.measurements:
            return 0.0
        expected = self.point_estimate_s * self._correction
        running = min((now - self.point_started) / expected, _MOST_OF_POINT) if expected > 0 else 0.0
        return min(1.0, (self.done + running) / self.measurements)


class Progress(AbstractContextManager["Progress"]):
    """Base class of displays; tracks the state of all hosts. Its methods are called from several threads."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.hosts: dict[str, HostProgress] = {}
        self.lock = threading.Lock()

    def __call__(self, event: events.Event) -> None:
        with self.lock:
            self.update(event)
            self.show(event)

    def update(self, event: events.Event) -> None:
        if isinstance(event, events.RunStarted | events.MeasuringAgain):
            for name in event.hosts:
                planned = event.per_host.get(name, 0)
                self.hosts[name] = HostProgress(planned, estimated_s=event.estimated_s.get(name, 0.0))
        elif (host := getattr(event, "host", None)) in self.hosts:
            self.hosts[host].follow(event)

    def show(self, event: events.Event) -> None:
        """Display the change caused by an event."""

    def detail(self, event: events.Event) -> str:
        """Return a line that is shown only with `--log-level debug`, or an empty string if there is none."""
        return repeat_line(event) if isinstance(event, events.PointEnded) and self.console.prints("debug") else ""

    def __exit__(self, *_: object) -> None:
        return None


class _Ticking(Progress):
    """A display that a separate thread also updates between events."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        with suppress(RuntimeError):  # raised if no more threads can be started; a run works without a display
            self._thread.start()
        return self

    def _run(self) -> None:
        while not self._stop.wait(1.0):
            with self.lock:
                self.tick()

    def tick(self) -> None:
        """Display what has changed since the last tick, one second ago."""

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()


class Lines(_Ticking):
    """A display for pipes and logs: one line per change, and a heartbeat every minute."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._last = time.monotonic()

    def show(self, event: events.Event) -> None:
        text = describe(event) or self.detail(event)
        if text:
            self._last = time.monotonic()
            self.console.line(text)
        if isinstance(event, events.Notice) and event.diagnostic:
            self.console.diagnostics([event.diagnostic])

    def tick(self) -> None:
        if time.monotonic() - self._last < HEARTBEAT_S:
            return
        self._last = time.monotonic()
        for name, state in self.hosts.items():
            if state.over:
                continue
            at = ", ".join(part for part in (state.doing, state.step, state.rate) if part)
            self.console.line(f"{name}  still measuring: {at}  {state.done}/{state.measurements}")


class Live(_Ticking):
    """A display with one line per host: a bar, the count, the current point, the last result and the remaining time.

    `local` contains the hosts that are this machine.
    """

    def __init__(self, console: Console, local: Collection[str] = ()) -> None:
        super().__init__(console)
        from rich.live import Live as RichLive

        self._live = RichLive(console=console.err, auto_refresh=False, transient=True, get_renderable=self._draw)
        self._local = local
        self._drawn = 0.0
        self._changed = False

    def __enter__(self) -> Self:
        self._live.start()
        return super().__enter__()

    def _draw(self) -> Text:
        now, columns = time.monotonic(), self.console.err.width
        self._drawn, self._changed = now, False
        rows = live_rows(self.hosts, now, columns, max(3, self.console.err.height - 2))
        return Text("\n".join(rows), no_wrap=True, overflow="ellipsis")

    def tick(self) -> None:
        if self._changed or time.monotonic() - self._drawn >= redraw_s(self.hosts, self._local):
            self._live.refresh()

    def show(self, event: events.Event) -> None:
        failed = isinstance(event, events.PointEnded) and not _measured(event)
        self._changed = self._changed or not isinstance(event, events.DriveRates)
        if failed or isinstance(event, (events.HostReady, events.JobEnded, events.MeasuringAgain)):
            for line in wrapped(describe(event), self.console.err.width, ""):
                self.console.line(line)
        elif text := self.detail(event):
            self.console.line(text)
        elif isinstance(event, events.Notice) and event.diagnostic:
            self.console.diagnostics([event.diagnostic])
        elif self._changed and time.monotonic() - self._drawn >= _SHORTEST_S:
            self._live.refresh()

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._live.stop()


class JsonLines(Progress):
    """A display that prints every event as a line of JSON."""

    def show(self, event: events.Event) -> None:
        self.console.json_line(event.to_json())


def choose(console: Console, local: Collection[str] = ()) -> Progress:
    """Return the progress display that suits the options and the terminal of `console`. `local` contains the names of
    the hosts that are this machine."""
    if console.style.json:
        return JsonLines(console)
    if console.interactive:
        return Live(console, local)
    return Progress(console) if console.style.quiet else Lines(console)


def redraw_s(hosts: Mapping[str, HostProgress], local: Collection[str]) -> float:
    """Return the minimum time between two redraws of the live lines, in seconds."""
    measuring = any(state.measuring for name, state in hosts.items() if name in local)
    return REDRAW_LOCAL_S if measuring else REDRAW_S


def live_rows(hosts: Mapping[str, HostProgress], now: float, columns: int, most: int) -> list[str]:
    """Return at most `most` lines, one per host, active hosts first.

    If there are more hosts, the last line states how many are not shown.
    """
    if len(hosts) <= most:
        return [live_line(name, state, now, columns) for name, state in hosts.items()]
    ordered = sorted(hosts.items(), key=lambda item: (item[1].over, not item[1].begun))
    left = [state for _, state in ordered[most - 1 :]]
    over = sum(state.over for state in left)
    rest = f"and {counted(len(left), 'more host')} ({over} done)"
    return [*(live_line(name, state, now, columns) for name, state in ordered[: most - 1]), rest]


def live_line(name: str, state: HostProgress, now: float, columns: int) -> str:
    """Return the line for a host, at most `columns` wide: `n1 ━━━━╸─── 9/14 latency-sweep 32M 98.1 ns ETA 3m40s`."""
    room = max(8, min(24, columns - 68))
    bar = bar_of(state.share(now), room)
    left = state.eta_s(now)
    tail = f"ETA {short_time(left)}" if left is not None else f"{now - state.started:.0f} s"
    head = f"{name} {bar} {state.done}/{state.measurements}"
    space = columns - len(head) - len(tail) - 5
    parts = [part for part in (state.doing, state.step, state.rate, state.last) if part]
    while len(parts) > 1 and len("  ".join(parts)) > space:
        parts.pop()
    middle = "  ".join(parts)
    if len(middle) > space:
        middle = middle[: max(0, space - 1)] + "…"
    return f"{head}  {middle}  {tail}"


def bar_of(share: float, room: int) -> str:
    """Return a bar that is `room` characters long and filled to `share` (0 to 1), in steps of half a character."""
    halves = int(2 * room * share)
    return ("━" * (halves // 2) + "╸" * (halves % 2)).ljust(room, "─")


def rate_text(event: events.DriveRates) -> str:
    """Return the total rate of reads and writes: `412 MB/s, 100.6k ops/s`."""
    bandwidth = format_quantity(event.read_bandwidth + event.write_bandwidth, "B/s")
    return f"{bandwidth}, {format_quantity(event.read_iops + event.write_iops, 'ops/s')}"


def _measured(event: events.PointEnded) -> bool:
    """Return whether the repeat counts as measured. A noisy repeat that `strict` rejects has a diagnostic."""
    return event.status in MEASURED and event.diagnostic is None


def repeat_line(event: events.PointEnded) -> str:
    """Describe the end of a repeat in one line."""
    repeat = f"{event.host}/{event.id} {event.point_id} repeat {event.repeat}"
    return f"{repeat}: {event.status} in {event.elapsed_s:.3f} s {event.headline}"


def describe(event: events.Event) -> str:
    """Describe an event in one plain line. Returns an empty string if the event is not shown."""
    if isinstance(event, events.RunStarted):
        longest = max(event.estimated_s.values(), default=0.0)
        hosts = counted(len(event.hosts), "host")
        about = f", about {short_time(longest)}" if longest >= 1 else ""
        return f"run {event.run}: {counted(event.measurements, 'measurement')} on {hosts}{about}"
    if isinstance(event, events.MeasuringAgain):
        longest = max(event.estimated_s.values(), default=0.0)
        about = f", about {short_time(longest)}" if longest >= 1 else ""
        points = counted(event.points, "point")
        return f"measuring {points} again to confirm regressions: {counted(event.measurements, 'measurement')}{about}"
    if isinstance(event, events.HostReady):
        return f"{event.host}  {event.text}"
    if isinstance(event, events.KernelBuilt):
        how = "taken from the cache" if event.cached else f"built by {event.compiler} in {event.elapsed_s:.1f} s"
        return f"{event.host}  kernel {event.kernel} {how}"
    if isinstance(event, events.JobStarted):
        about = f", about {short_time(event.estimated_s)}" if event.estimated_s >= 1 else ""
        return f"{event.host}  {event.id}: {counted(event.measurements, 'measurement')}{about}"
    if isinstance(event, events.PointEnded) and not _measured(event):
        cause = event.diagnostic.cause if event.diagnostic else ""
        return f"{event.host}  {event.id} {event.point_id} {event.status}: {cause}".rstrip(": ")
    if isinstance(event, events.JobEnded):
        counts = ", ".join(f"{number} {status}" for status, number in event.counts.items() if number)
        return f"{event.host}  {event.id}: {counts or 'nothing measured'}"
    return ""

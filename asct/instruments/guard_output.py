"""Parse the output of the `guard` kernel: targets, checks, counter samples, and the exit status of the program.

kernels/guard/README.md describes the lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from asct.sdk.record import Scalar
from asct.sdk.samples import read_kernel
from asct.sdk.step import Output
from asct.values.grouping import grouped
from asct.values.strict_json import DECODER


@dataclass(frozen=True, slots=True)
class TargetCheck:
    """One check of a target. `ok` is None if the result is unknown; only True means that the target is safe."""

    path: str
    name: str
    ok: bool | None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class GuardTarget:
    """The state of a target during an inspection. `fields` contains the fields of its output line."""

    path: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    def scalar(self, name: str) -> Scalar | None:
        """Return the value of a scalar field, or None if it is unknown."""
        value = self.fields.get(name)
        return value if isinstance(value, str | int | float | bool) else None


@dataclass(frozen=True, slots=True)
class CounterSample:
    """Counters at one moment. CPU times are totals in ns, or None if they cannot be read.

    `devices` contains, for each target in the order of the targets file, the counters of the drives below it: reads,
    read_bytes, writes, write_bytes, discards, discard_bytes, busy_ms. The counters are None if no drive is known for
    the target.
    """

    real_ns: int
    mono_ns: int
    program_cpu_ns: int | None
    host_cpu_ns: int | None
    devices: tuple[tuple[int, ...] | None, ...]


@dataclass(frozen=True, slots=True)
class GuardOutput:
    """guard's output for one program.

    `status` is the program's exit status, negative if the program was killed by a signal, or None if no program was
    run. `stopped` is the reason why guard stopped the program (`interval`, `volume`), or empty if guard did not stop
    it.
    """

    before: tuple[GuardTarget, ...]
    after: tuple[GuardTarget, ...]
    checks: tuple[TargetCheck, ...]
    samples: tuple[CounterSample, ...]
    status: int | None
    stopped: str
    started_ns: int
    ended_ns: int
    members_before: tuple[GuardTarget, ...] = ()
    members_after: tuple[GuardTarget, ...] = ()
    """The members of the RAID set, if there is one. In that case, the set is the only target, and `samples` contains
    counters only for the set."""
    sampled: Mapping[str, int] = field(default_factory=dict)
    """The number of bytes that the `data` check read of each target of which it read only a part. Contains only targets
    in which no data was found."""

    @property
    def drives(self) -> tuple[GuardTarget, ...]:
        """The members of the RAID set or, if there is no set, the targets."""
        return self.members_before or self.before


_COUNTERS: Final = 7
READ_BYTES: Final = 1
WRITE_BYTES: Final = 3
DISCARD_BYTES: Final = 5
"""Indices of counters in `CounterSample.devices`."""


def lines_of(stdout: str, kind: str, *, backward: bool = False) -> Iterator[Mapping[str, Any]]:
    """Yield all lines of one kind from output that may be damaged or incomplete, omitting those that cannot be parsed.

    The text is searched rather than split into lines, because it may contain hundreds of thousands of lines.
    """
    start = f'{{"t":"{kind}"'
    at = stdout.rfind(start) if backward else stdout.find(start)
    while at >= 0:
        end = stdout.find("\n", at)
        end = end if end >= 0 else len(stdout)
        at = stdout.rfind(start, at, end)  # the line may begin with the remains of another one
        with suppress(ValueError, RecursionError):
            yield DECODER.decode(stdout[at:end])
        at = stdout.rfind(start, 0, stdout.rfind("\n", 0, at) + 1) if backward else stdout.find(start, end)


def read_guard_output(output: Output) -> GuardOutput:
    """Parse guard's output from a step. Raises ValueError if the output is incomplete or invalid."""
    try:
        return _guard_output(read_kernel(output).lines)
    except (KeyError, TypeError) as error:
        raise ValueError(f"guard's output contains an invalid line: {error}") from error


def _guard_output(lines: Iterable[Mapping[str, Any]]) -> GuardOutput:
    by_kind = grouped(lines, lambda line: str(line.get("t")))
    devices = by_kind.get("device", [])
    ended, *more = by_kind.get("exit", [{}])
    if more:
        raise TypeError("several `exit` lines")
    before, members_before = _set_and_members(line for line in devices if line["when"] != "after")
    after, members_after = _set_and_members(line for line in devices if line["when"] == "after")
    return GuardOutput(
        before=before,
        after=after,
        members_before=members_before,
        members_after=members_after,
        sampled={_text(line["path"]): _integer(line, "bytes") for line in by_kind.get("sampled", [])},
        checks=tuple(check_of(line) for line in by_kind.get("check", [])),
        samples=tuple(_sample(line) for line in by_kind.get("sample", [])),
        status=None if not ended else _integer(ended, "status"),
        stopped=str(ended.get("stopped", "")),
        started_ns=_integer(ended, "started_ns") if ended else 0,
        ended_ns=_integer(ended, "ended_ns") if ended else 0,
    )


def _set_and_members(
    lines: Iterable[Mapping[str, Any]],
) -> tuple[tuple[GuardTarget, ...], tuple[GuardTarget, ...]]:
    """Return the RAID set and its members. If there is no set, return all targets and an empty tuple."""
    devices = [device_of(line) for line in lines]
    sets = tuple(device for device in devices if "raid_level" in device.fields)
    return (sets, tuple(device for device in devices if device not in sets)) if sets else (tuple(devices), ())


def _text(text: str) -> str:
    """Decode a name. guard escapes each byte separately."""
    return text.encode("latin-1", "replace").decode("utf-8", "replace")


def _decoded(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    return [_decoded(item) for item in value] if isinstance(value, list) else value


def device_of(line: Mapping[str, Any]) -> GuardTarget:
    """Parse a `device` line; raise KeyError or TypeError if it is invalid."""
    fields = {key: _decoded(value) for key, value in line.items() if key != "t"}
    if not isinstance(fields["path"], str):
        raise TypeError(f"`path` is {fields['path']!r}")
    return GuardTarget(fields["path"], fields)


def check_of(line: Mapping[str, Any]) -> TargetCheck:
    """Parse a `check` line; raise KeyError or TypeError if it is invalid."""
    ok = line["ok"]
    if ok is not None and not isinstance(ok, bool):
        raise TypeError(f"`ok` in a check line is {ok!r}, not a boolean")
    return TargetCheck(_text(line["path"]), line["name"], ok, _text(line["detail"]))


def _sample(line: Mapping[str, Any]) -> CounterSample:
    rows = [line["array"] or None] if "array" in line else line["devices"]
    return CounterSample(
        real_ns=_integer(line, "real_ns"),
        mono_ns=_integer(line, "mono_ns"),
        program_cpu_ns=_counter(line["program_cpu_ns"]),
        host_cpu_ns=_counter(line["host_cpu_ns"]),
        devices=tuple(None if row is None else _counters(row) for row in rows),
    )


def _counters(row: Any) -> tuple[int, ...]:
    if not isinstance(row, list) or len(row) != _COUNTERS or not all(type(value) is int for value in row):
        raise TypeError(f"counters of a drive are {row!r}")
    return tuple(row)


def _integer(line: Mapping[str, Any], key: str) -> int:
    value = line[key]
    if type(value) is not int:
        raise TypeError(f"`{key}` is {value!r}")
    return value


def _counter(value: Any) -> int | None:
    if value is not None and type(value) is not int:
        raise TypeError(f"a counter is {value!r}")
    return value

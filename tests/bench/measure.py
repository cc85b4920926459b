"""Measure the time and memory of whole commands, and print figures next to their goals."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """Wall time and processor time in seconds, and peak memory in MiB, of one process."""

    wall_s: float
    cpu_s: float
    memory_mib: float


def command(arguments: Sequence[str], expect: int = 0, environment: Mapping[str, str] | None = None) -> Cost:
    """Run one command to its end. Bytecode is cached as in an ordinary installation.

    Raises RuntimeError with the output of the command if its exit status is not `expect`.
    """
    started = time.perf_counter()
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**variables, **(environment or {})}
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != expect:
        raise RuntimeError(f"{' '.join(arguments)} ended with {process.returncode}:\n{output.decode(errors='replace')}")
    wall = time.perf_counter() - started
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def rounds(number: int, *subjects: Callable[[], Cost]) -> list[list[Cost]]:
    """Run each subject `number` times, interleaved so that a disturbance affects all of them."""
    costs: list[list[Cost]] = [[] for _ in subjects]
    for _ in range(number):
        for place, subject in zip(costs, subjects, strict=True):
            place.append(subject())
    return costs


def timed(act: Callable[[], object]) -> float:
    """Return the wall time of a call in seconds."""
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def least_and_middle(values: Sequence[float]) -> tuple[float, float]:
    """Return the minimum and the median."""
    return min(values), statistics.median(values)


def show(name: str, least: float, middle: float, unit: str, goal: float | None) -> None:
    """Print one line with the name, the minimum, the median, the goal, and the ratio of the median to the goal."""
    aim = f"goal {goal:g} {unit}, ratio {middle / goal:.2f}" if goal else ""
    print(f"{name:<52} min {least:9.3f}  median {middle:9.3f} {unit:<5} {aim}", flush=True)

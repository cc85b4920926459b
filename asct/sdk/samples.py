"""Read the output of measurement kernels: JSON Lines in the order `meta`, `ready`, `sample` (repeated), `end`. If `end`
is missing, the kernel failed or was killed, and its whole output is rejected. This never happens during a run, because
the engine ends a repeat at its first failed step and reports the cause.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from asct.sdk.record import Stats
from asct.sdk.step import Output
from asct.statistics.quantiles import median_interval
from asct.statistics.robust import mad, median
from asct.statistics.series import ratio_half_width
from asct.values.strict_json import json_object

ABI = 1
PS: Final = 1e-12


@dataclass(frozen=True, slots=True)
class KernelRun:
    """One run of a kernel: its `meta` and `end` objects, every `sample`, and all lines in order."""

    meta: Mapping[str, Any]
    samples: tuple[Mapping[str, Any], ...]
    end: Mapping[str, Any]
    lines: tuple[Mapping[str, Any], ...] = ()


def read_kernel(output: Output) -> KernelRun:
    """Parse the complete output of a kernel.

    Raises ValueError if the kernel failed, or if its output is incomplete or does not have the expected format and
    version.
    """
    name = output.step.program.name
    objects = _objects(output, name)
    end = objects[-1] if objects and objects[-1].get("t") == "end" else None
    if end is None or output.status != 0 or end.get("ok") is not True:
        raise ValueError(f"the `{name}` kernel failed (exit status {output.status}), or its output is incomplete")
    meta = objects[0]
    if meta.get("t") != "meta":
        raise ValueError(f"the output of the `{name}` kernel does not begin with a `meta` line")
    if meta.get("abi", ABI) != ABI:
        raise ValueError(
            f"the `{name}` kernel writes format {meta['abi']}, but this version of asct reads format {ABI}"
        )
    return KernelRun(meta, tuple(item for item in objects if item.get("t") == "sample"), end, tuple(objects))


def number(sample: Mapping[str, Any], key: str) -> float:
    """Return the number at `key` in a sample.

    Raises ValueError, with the key in its message, if the key is missing or its value is not a number or is too large
    for a float.
    """
    value = sample.get(key)
    if (
        type(value) is not int and type(value) is not float
    ):  # unlike isinstance, this rejects bool, and is faster for a million samples
        raise ValueError(f"a sample has no number for `{key}`: {_short(json.dumps(dict(sample)))}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"the number for `{key}` in a sample is too large: {_short(str(value))}") from None


def interval(sample: Mapping[str, Any], low: str, high: str, unit: float) -> tuple[float, float] | None:
    """Return the 95 % interval of a sample, multiplied by `unit`, or None if the kernel had too few batches for it."""
    if sample.get(low) is None or sample.get(high) is None:
        return None
    return number(sample, low) * unit, number(sample, high) * unit


def sample_stats(sample: Mapping[str, Any], suffix: str, unit: float, n: int, listed: Sequence[float]) -> Stats:
    """Return the statistics of `n` batches or windows, with the number of those that the kernel dropped.

    The kernel has already computed the median, interval and extremes of all of them (`median_<suffix>` and so on, in
    multiples of `unit`). The MAD is computed here from the values in `listed`.
    """
    return Stats(
        n=n,
        median=number(sample, f"median_{suffix}") * unit,
        mad=mad(listed),
        ci95=interval(sample, f"ci_low_{suffix}", f"ci_high_{suffix}", unit),
        min=number(sample, f"min_{suffix}") * unit,
        max=number(sample, f"max_{suffix}") * unit,
        dropped=int(number(sample, "dropped")) or None,
    )


def stats_of(values: Sequence[float], *, independent: bool = True) -> Stats:
    """Return the statistics of one or more values, in their unit. The result has no interval if there are fewer than 6
    values or if they are not independent."""
    return Stats(
        n=len(values),
        median=median(values),
        mad=mad(values),
        ci95=median_interval(values) if independent else None,
        min=float(min(values)),
        max=float(max(values)),
    )


def pooled(parts: Sequence[Stats]) -> Stats:
    """Return the statistics of one or more samples of the same quantity under similar conditions. The value is the
    median of their medians, and has no interval."""
    return Stats(
        n=sum(part.n for part in parts),
        median=median([part.median for part in parts]),
        mad=median([part.mad for part in parts]),
        min=min(part.min for part in parts),
        max=max(part.max for part in parts),
        dropped=dropped_samples(parts),
    )


def dropped_samples(parts: Iterable[Stats]) -> int | None:
    """Return the number of samples that were dropped in all parts together, or None if there were none."""
    return sum(part.dropped or 0 for part in parts) or None


def rate_stats(amounts: Sequence[float], seconds: Sequence[float], least_s: float = 0.0) -> Stats:
    """Return the statistics of the rates (amount per second) in one or more consecutive parts of a run. The 95 %
    interval applies to the rate over the whole run. The interval allows for the similarity of neighboring parts and for
    `least_s`, the resolution, in seconds, at which the run's duration is known. The interval is None if the parts
    contain less information than 6 independent parts would; see asct.statistics.series.
    """
    lasted = sum(seconds)
    rate, half = sum(amounts) / lasted, ratio_half_width(amounts, seconds)
    stats = stats_of([amount / time for amount, time in zip(amounts, seconds, strict=True)], independent=False)
    if half is None:
        return stats
    half += rate * least_s / lasted
    return stats.model_copy(update={"ci95": (max(0.0, rate - half), rate + half)})


def _objects(output: Output, name: str) -> list[dict[str, Any]]:
    """Return the lines as objects, ignoring a truncated last line."""
    text = output.stdout
    lines = text.split("\n")
    cut = lines.pop()
    if cut.endswith("}"):
        lines.append(cut)
    objects = []
    for number_of_line, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        value = json_object(line)
        if value is None:
            raise ValueError(
                f"line {number_of_line} of the output of the `{name}` kernel is not a JSON object: {_short(line)}"
            )
        objects.append(value)
    return objects


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")

"""Values measured on a synthetic drive: those of any fio point and of whole qualifications, computed from the rate at
any load."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from asct.benchmarks.storage_write_saturation.measure import SaturationRound, measurements
from asct.benchmarks.storage_write_saturation.params import StopCondition
from asct.instruments.fio.histogram import Latency
from asct.instruments.fio.metrics import KINDS, percentiles_of
from asct.instruments.qualification.journal import TimeSlot
from asct.instruments.qualification.settings import size_name
from asct.sdk.record import Measurement, Scalar, Stats
from asct.statistics.steady import SteadyRule, window_of
from tests.browser.memory_values import chance, recorded

GIB = 1 << 30
_QUANTILES = {1: 0.45, 5: 0.55, 10: 0.6, 25: 0.75, 50: 0.92, 75: 1.1, 90: 1.45, 95: 1.8, 99: 3.2, 99.9: 6.5, 99.99: 9.5,
              99.999: 12.0}  # fmt: skip
"""Latencies relative to the mean, keyed by percent."""
_SIDES = {"read_": 1.25, "write_": 0.8}
"""Latencies of reads and writes in a mix, relative to each other."""
_MOMENTS = {"mean": 1.0, "min": 0.35, "max": 14.0, "stddev": 0.6}
_TOP_RATE, _TOP_BANDWIDTH, _WINDOW = 620_000.0, 3.1e9, 5


def drive(block_size: int, reads: int, depth: float) -> tuple[float, float]:
    """Return the requests per second and their mean latency in seconds, with `depth` requests in flight."""
    share = reads / 100.0
    base = (78e-6 * share + 24e-6 * (1.0 - share)) + block_size / 3.2e9
    top = min(_TOP_RATE, _TOP_BANDWIDTH / block_size) * (0.45 + 0.55 * share**2)
    rate = depth / (base**3 + (depth / top) ** 3) ** (1 / 3)
    return rate, depth / rate


def _spread(value: float, wide: float = 0.006) -> Stats:
    return Stats(
        n=30, median=value, mad=value * wide / 2, ci95=(value * (1 - wide), value * (1 + wide)),
        min=value * (1 - 3 * wide), max=value * (1 + 3 * wide),
    )  # fmt: skip


def _reads(settings: Mapping[str, Any]) -> int:
    pattern = str(settings["rw"])
    return int(settings["rwmixread"]) if pattern.endswith("rw") else 0 if "write" in pattern else 100


def fio_values(settings: Mapping[str, Any], slow: float, seed: object) -> list[Measurement]:
    """Return the values of one fio point on a drive that is slower than usual by the factor `slow`."""
    depth = float(settings["iodepth"]) * float(settings["numjobs"])
    reads = _reads(settings)
    pattern = 1.0 if "rand" in str(settings["rw"]) else 1.15
    rate, _ = drive(int(settings["block_size"]), reads, depth)
    rate *= pattern / slow * (1.0 + 0.01 * chance(seed, "rate"))
    block, seconds = int(settings["block_size"]), float(settings["duration"])
    sides = {"": 1.0, "read_": reads / 100.0, "write_": 1.0 - reads / 100.0}
    mean = sum(sides[prefix] * factor for prefix, factor in _SIDES.items())  # over all requests, the factor is 1
    found = [
        item
        for prefix, share in sides.items()
        if share > 0
        for item in _side(prefix, rate * share, depth / rate * _SIDES.get(prefix, mean) / mean, (block, seconds), seed)
    ]
    found += _processors(rate, depth, reads)
    found += _course(rate, depth / rate, block, min(30, round(seconds)), seed)
    context: dict[str, Scalar] = {
        "rw": settings["rw"], "rwmixread": settings["rwmixread"], "block_size": block, "iodepth": settings["iodepth"],
        "numjobs": settings["numjobs"], "engine": "io_uring",
    }  # fmt: skip
    device: dict[str, Scalar] = {"path": "/var/tmp/asct/scratch", "model": "ACME X1 3.84TB", "transport": "nvme"}
    found.append(Measurement("device_size", 3_840_755_982_336.0, device))
    found.append(Measurement("queue_depth", depth, context))
    return found


def _side(prefix: str, rate: float, latency: float, size: tuple[int, float], seed: object) -> Iterator[Measurement]:
    block, seconds = size
    yield Measurement(f"{prefix}bandwidth", rate * block, stats=_spread(rate * block))
    yield Measurement(f"{prefix}iops", rate, stats=_spread(rate))
    yield Measurement(f"{prefix}ios", float(round(rate * seconds)))
    yield Measurement(f"{prefix}latency", latency, stats=_spread(latency))
    for kind, own in (("slat", 2.4e-6), ("clat", latency), ("lat", latency + 2.4e-6)):
        for name, factor in _MOMENTS.items():
            yield Measurement(f"{prefix}{kind}_{name}", own * factor, stats=_spread(own) if name == "mean" else None)
        for name, percent in percentiles_of(kind).items():
            value = own * _QUANTILES[percent] * (1.0 + 0.03 * chance(seed, prefix, kind, name))
            yield Measurement(f"{prefix}{kind}_{name}", value, stats=_spread(value, 0.02))


def _processors(rate: float, depth: float, reads: int) -> Iterator[Measurement]:
    busy = rate / _TOP_RATE
    shares = (12.0 * busy, 31.0 * busy, 40.0 / (1.0 + depth), 0.4 * busy, 2.5 * busy)
    for kind, share in zip(KINDS, shares, strict=True):
        yield Measurement(f"cpu_{kind}", share)
        yield Measurement(f"used_cpu_{kind}", min(99.0, 2.0 * share))
    each = 2.9e-6 + 1e-8 * (100 - reads)
    yield Measurement("cpu_time_per_io", each)
    yield Measurement("iops_per_core", 1.0 / each)
    yield Measurement("host_cpu_time_per_io", 1.3 * each)
    yield Measurement("in_flight", depth * 0.999)
    yield Measurement("coverage", 1.0)


def _course(rate: float, latency: float, block: int, seconds: int, seed: object) -> Iterator[Measurement]:
    for second in range(seconds):
        at: dict[str, Scalar] = {"second": float(second)}
        now = rate * (1.0 + 0.03 * chance(seed, "second", second))
        yield Measurement("second_iops", now, at, detail=True)
        yield Measurement("second_bandwidth", now * block, at, detail=True)
        yield Measurement("second_clat_p50", latency * 0.92 * rate / now, at, detail=True)
        yield Measurement("second_clat_p99", latency * 3.2 * (rate / now) ** 2, at, detail=True)
        for octave, share in _octaves(latency * rate / now).items():
            yield Measurement("second_share", share, {**at, "latency": octave}, detail=True)


def _octaves(latency: float) -> dict[float, float]:
    """Return the shares of requests, in percent, for each power of two around the mean."""
    middle = round(math.log2(latency * 1e9))
    weights = {middle + step: weight for step, weight in zip(range(-2, 4), (4, 28, 49, 14, 4, 1), strict=True)}
    return {2.0**power * 1e-9: float(weight) for power, weight in weights.items()}


def brief(values: Sequence[Measurement]) -> list[Measurement]:
    """Return the values that a run of thousands of points can store: rates, latencies and their tails."""
    kept = ("bandwidth", "iops", "latency", "clat_mean", "clat_p50", "clat_p99", "clat_p99_9", "queue_depth")
    names = {prefix + name for prefix in ("", "read_", "write_") for name in kept}
    return [item for item in values if item.metric in names]


# ---- qualifications ----


def _cells(name: str, settings: Mapping[str, Any]) -> list[tuple[int, int]]:
    mixes = (100, 0) if name == "storage-throughput" else settings["mixes"]
    return [(size, mix) for size in settings["block_sizes"] for mix in mixes if size >= 512]


def _tracked(name: str, size: int) -> list[tuple[int, int, str]]:
    """Return the dependent variables: block size, percentage of reads, and quantity."""
    if name == "storage-throughput":
        return [(size, 0, "bandwidth")]
    return [(4096, 0, "latency")] if name == "storage-latency" else [
        (4096, 0, "iops"), (65536, 65, "iops"), (1 << 20, 100, "iops"),
    ]  # fmt: skip


def _level(number: int) -> float:
    """Return the rate of a round relative to the steady state. The rate is high until the spare area is used up."""
    return 1.0 + 1.6 * math.exp(-1.3 * (number - 1))


def _quantities(cell: tuple[int, int], depth: float, number: int) -> dict[str, float]:
    rate, latency = drive(cell[0], cell[1], depth)
    level = 1.0 + (_level(number) - 1.0) * (1.0 - cell[1] / 100.0)
    level *= 1.0 + 0.012 * chance(cell, number)
    return {"iops": rate * level, "bandwidth": rate * level * cell[0], "latency": latency / level}


def qualification_values(name: str, settings: Mapping[str, Any], rounds: int = 9) -> list[Measurement]:
    """Return the values of a matrix qualification that is steady after `rounds` rounds."""
    depth = float(settings["numjobs"]) * float(settings["iodepth"])
    found = list(_target())
    cells = _cells(name, settings)
    phases = settings["block_sizes"] if name == "storage-throughput" else (0,)
    for size in phases:
        phase = size_name(size) if size else "test"
        found += _phase(name, settings, phase, rounds)
        for block, mix, quantity in _tracked(name, size):
            at: dict[str, Scalar] = {"phase": phase, "block_size": block, "rwmixread": mix, "quantity": quantity}
            window = [
                _quantities((block, mix), depth, number)[quantity] for number in range(rounds - _WINDOW + 1, rounds + 1)
            ]
            steady = window_of(window)
            found.append(Measurement("window_excursion", 100.0 * steady.excursion, at))
            found.append(Measurement("window_slope", 100.0 * steady.drift, at))
    for cell in cells:
        found += _cell(cell, depth, rounds)
    for number in range(1, rounds + 1):
        for cell in cells:
            place: dict[str, Scalar] = {"block_size": cell[0], "rwmixread": cell[1], "round": number}
            for quantity, value in _quantities(cell, depth, number).items():
                found.append(Measurement(f"round_{quantity}", value, place, detail=True))
    return [*found, *(_responses(drive(4096, 0, depth)[1]) if name == "storage-latency" else ())]


def _target() -> Iterator[Measurement]:
    device: dict[str, Scalar] = {
        "path": "/dev/nvme1n1", "model": "ACME X1 3.84TB", "serial": "S6XZNX0R000001", "firmware": "GXA7401Q",
        "format": 512, "write_cache": "write back", "scheduler": "none", "link": "16.0 GT/s PCIe x4",
        "transport": "nvme",
    }  # fmt: skip
    yield Measurement("device_size", 3_840_755_982_336.0, device)
    yield Measurement("active_range", 3_840_755_982_336.0)


def _phase(name: str, settings: Mapping[str, Any], phase: str, rounds: int) -> Iterator[Measurement]:
    at: dict[str, Scalar] = {"phase": phase}
    names = (
        "profile", "round_time", "numjobs", "iodepth", "window", "excursion", "slope", "rounds_max", "steady_volume",
        "precondition", "purge", "seed",
    )  # fmt: skip
    used = {key: settings[key] for key in names} | {"engine": "io_uring"}
    yield Measurement("steady", 1.0, at)
    yield Measurement("rounds", float(rounds), {**at, **used})
    yield Measurement("written_volume", 2.6 * 3.84e12, at)
    yield Measurement("purged", 1.0, {**at, "method": "nvme-format"})


def _cell(cell: tuple[int, int], depth: float, rounds: int) -> Iterator[Measurement]:
    at: dict[str, Scalar] = {"block_size": cell[0], "rwmixread": cell[1]}
    window = [_quantities(cell, depth, number) for number in range(rounds - _WINDOW + 1, rounds + 1)]
    means = {name: sum(one[name] for one in window) / _WINDOW for name in window[0]}
    for name, value in means.items():
        yield Measurement(name, value, at, _spread(value))
    yield Measurement("latency_max", means["latency"] * 40.0, at)
    for name, percent in {"p50": 50.0, "p99": 99.0, "p99_9": 99.9, "p99_99": 99.99, "p99_999": 99.999}.items():
        yield Measurement(f"latency_{name}", means["latency"] * _QUANTILES[percent], at, _spread(means["latency"]))


def _responses(latency: float) -> Iterator[Measurement]:
    yield Measurement("response_mean", latency, stats=_spread(latency))
    for name, percent in {"p50": 50, "p90": 90, "p99": 99, "p99_9": 99.9, "p99_99": 99.99, "p99_999": 99.999}.items():
        yield Measurement(f"response_{name}", latency * _QUANTILES[percent])
    yield Measurement("response_max", latency * 60.0)
    for octave, share in _octaves(latency).items():
        yield Measurement("response_share", share, {"latency": octave}, detail=True)


def saturation_values(settings: Mapping[str, Any], rounds: int = 240) -> list[Measurement]:
    """Return the values of a write saturation test: a burst, the cliff when the cache is full, and a level that
    varies."""
    goal = StopCondition(volume=1, seconds=1e9, sample_s=0.0, settled=0.0, rule=SteadyRule())
    made = []
    for number in range(rounds):
        fast = number < rounds // 6
        rate = (410_000.0 if fast else 96_000.0) * (1.0 + (0.01 if fast else 0.03) * chance("saturation", number))
        ios, half = round(rate * 60.0), round(rate * 30.0)
        mean = 32.0 / rate * 1e9
        bins = {round(mean * factor): max(1, round(ios * share)) for factor, share in
                ((0.6, 0.25), (0.92, 0.5), (1.4, 0.2), (3.2, 0.045), (6.5, 0.005))}  # fmt: skip
        latency = Latency(ios, mean * 0.35, mean * 60.0, mean, mean * 0.6, bins)
        parts = (TimeSlot(30.0, half, half * 4096, half * 4096),) * 2
        made.append(SaturationRound(TimeSlot(60.0, ios, ios * 4096, ios * 4096), parts, latency, (), resumed=False))
    names = ("profile", "round_time", "rw", "rwmixread", "block_size", "numjobs", "iodepth")
    run: dict[str, Scalar] = {name: settings[name] for name in names}
    return [*_target(), *measurements(made, 3_840_755_982_336, goal, (), run), *_responses(32.0 / 96_000.0)]


_RECORDED = {"storage-hdd": "written", "storage-composite-workload": "fast", "storage-streams": "pts"}
"""The recorded case that represents each benchmark."""


def storage_values(name: str, settings: Mapping[str, Any], slow: float, seed: object) -> list[Measurement]:
    """Return the values of any storage benchmark."""
    if name in ("storage-iops", "storage-throughput", "storage-latency"):
        return qualification_values(name, settings)
    if name == "storage-write-saturation":
        return saturation_values(settings)
    if name == "storage-recovery":
        return list(recorded(name, str(settings["test"])))
    if name in _RECORDED:
        return list(recorded(name, _RECORDED[name]))
    return fio_values(settings, slow, seed)

"""Records of points that were never run, with values as a drive or a published table would supply them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from asct.sdk.record import Record, Scalar
from tests import records

MIB: Final = 2**20
US: Final = 1e-6
CONTEXT: Final[dict[str, Scalar]] = {
    "rw": "randread", "rwmixread": 70, "block_size": 4096, "iodepth": 16, "numjobs": 4, "engine": "libaio",
}  # fmt: skip


def record(point: Mapping[str, Any], metric: str, value: float, repeat: int = 1, **more: Any) -> Record:
    """Return one record; `more` sets coords, flags or stats."""
    point_id, more["flags"] = f"{abs(hash(repr(point))):012x}"[:12], list(more.get("flags", ()))
    fixed = {"host": "local", "unit": "1", "better": "neither", "point": dict(point), "point_id": point_id}
    return records.record(value, **fixed, metric=metric, repeat=repeat, **more)


def point(
    settings: Mapping[str, Any], values: Mapping[str, float], repeat: int = 1, flags: Sequence[str] = ()
) -> list[Record]:
    """Return the records of one repeat of a point, including the context that contains the settings that are not
    swept."""
    context = CONTEXT | {name: value for name, value in settings.items() if name in CONTEXT}
    depth = float(context["iodepth"]) * float(context["numjobs"])
    found = [record(settings, "queue_depth", values.get("queue_depth", depth), repeat, coords=context)]
    found += [
        record(settings, metric, value, repeat, flags=flags)
        for metric, value in values.items()
        if metric != "queue_depth"
    ]
    return found


def side(iops: float, block_size: int, latency: float, prefix: str = "read_") -> dict[str, float]:
    """Return only reads (or only writes) at a rate and a mean latency. The percentiles are multiples of the mean."""
    one = {"iops": iops, "bandwidth": iops * block_size, "ios": iops * 60, "latency": latency}
    one |= {"clat_mean": latency, "lat_mean": latency, "lat_p99": 3 * latency}
    tails = {"p1": 0.5, "p50": 0.9, "p90": 1.5, "p99": 3.0, "p99_9": 6.0, "p99_99": 9.0}
    one |= {f"clat_{name}": factor * latency for name, factor in tails.items()} | {"clat_max": 12.0 * latency}
    return {**one, **{prefix + name: value for name, value in one.items()}, "in_flight": iops * latency}


def drive(depth: float, top: float, base: float) -> tuple[float, float]:
    """Return the rate and the latency of a drive that reaches `base` with one request and at most `top`, with `depth`
    requests in flight."""
    rate = 1.0 / (base + depth / top) * depth if depth > 1 else 1.0 / (base + 1.0 / top)
    return rate, depth / rate


def seconds(
    settings: Mapping[str, Any], rates: Sequence[float], block_size: int = 4096, repeat: int = 1
) -> list[Record]:
    """Return one rate for each second of a run."""
    found = []
    for number, rate in enumerate(rates):
        at: dict[str, Scalar] = {"second": float(number)}
        found.append(record(settings, "second_iops", rate, repeat, coords=at))
        found.append(record(settings, "second_bandwidth", rate * block_size, repeat, coords=at))
    return found


# Sample tables of a published tool: axis, MiB/s of reads and writes, mean latency of reads and writes in us. The volume
# behind them is limited to about 3,050 requests and 127 MiB a second, and asked for 64 requests in flight kept 4.
SIZES: Final = (
    (4096, 11.9, 1311.7), (8192, 23.8, 1311.3), (16384, 47.6, 1311.3), (32768, 95.4, 1310.1), (65536, 127.1, 1965.9),
    (131072, 127.2, 3932.0),
)  # fmt: skip
DEPTHS: Final = tuple((depth, 11.9, 1311.4) for depth in (1, 2, 4, 8, 16, 32, 64, 128))
PROCESSES: Final = ((1, 7.0, 552.7), (2, 11.9, 655.5), (4, 11.9, 1311.3), (8, 11.9, 2622.3), (16, 11.9, 5245.5))


def published(name: str, table: Sequence[tuple[int, float, float]], flags: Sequence[str] = ()) -> list[Record]:
    """Return one of the tables above as records of a sweep of `name`."""
    found = []
    for value, mib_per_s, latency in table:
        size = value if name == "block_size" else 4096
        found += point({name: value}, side(mib_per_s * MIB / size, size, latency * US), flags=flags)
    return found

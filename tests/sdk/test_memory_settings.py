"""Settings that several memory benchmarks share, in every notation."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import ValidationError

from asct.instruments.memory.settings import INTEGERS, AutoSize, Bandwidth
from asct.sdk.params import Params, setting


class Some(Params):
    """One setting of each type."""

    data_size: AutoSize = setting(None, "Size")
    numbers: Annotated[tuple[int, ...], INTEGERS] = setting((), "Numbers")
    rate: Bandwidth = setting(1e9, "Rate")


@pytest.mark.parametrize(("given", "size"), [("auto", None), ("Auto", None), (None, None), ("4K", 4096), (64, 64)])
def test_a_size_or_auto(given: Any, size: int | None) -> None:
    assert Some(data_size=given).data_size == size


@pytest.mark.parametrize(
    ("given", "numbers"),
    [("1,2,5-9:2", (1, 2, 5, 7, 9)), ("3000", (3000,)), (7, (7,)), ([3, 1], (3, 1)), ("", ()), ([], ())],
)
def test_whole_numbers(given: Any, numbers: tuple[int, ...]) -> None:
    assert Some(numbers=given).numbers == numbers


@pytest.mark.parametrize(("given", "rate"), [("20 GB/s", 2e10), ("20GiB/s", 20 * 2.0**30), (5_000_000, 5e6)])
def test_bytes_per_second(given: Any, rate: float) -> None:
    assert Some(rate=given).rate == pytest.approx(rate)


@pytest.mark.parametrize(
    "wrong",
    [{"data_size": "automatic"}, {"numbers": "1,x"}, {"numbers": "9-1"}, {"numbers": True}, {"rate": "20"},
     {"rate": "20 ns"}, {"rate": 0}, {"rate": "-1 GB/s"}, {"rate": 1e300}],
)  # fmt: skip
def test_what_is_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Some(**wrong)

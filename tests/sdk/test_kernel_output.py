"""Parsing the output of a kernel: complete output is accepted, and anything else is refused with the reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.sdk.record import Stats
from asct.sdk.samples import number, read_kernel, stats_of
from asct.sdk.step import Kernel, Output, Step

META = {"t": "meta", "abi": 1, "kernel": "chase"}
SAMPLE = {"t": "sample", "size": 64, "median_ps": 1000}
END = {"t": "end", "ok": True, "samples": 1}


def output(*objects: Any, status: int = 0, tail: str = "\n") -> Output:
    stdout = "\n".join(item if isinstance(item, str) else json.dumps(item) for item in objects) + tail
    return Output(Step("sweep", Kernel("chase")), status, {"stdout": stdout, "stderr": ""})


def test_a_whole_stream() -> None:
    run = read_kernel(output(META, {"t": "ready"}, SAMPLE, SAMPLE, END))
    assert run.meta["kernel"] == "chase"
    assert [sample["size"] for sample in run.samples] == [64, 64]
    assert run.end["samples"] == 1


def test_added_keys_and_kinds_of_line_are_let_pass() -> None:
    run = read_kernel(output(META | {"new": [1]}, {"t": "progress"}, SAMPLE | {"more": None}, "", END))
    assert len(run.samples) == 1


def test_a_last_line_without_newline_counts_if_it_is_whole() -> None:
    assert read_kernel(output(META, END, tail="")).samples == ()


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (output(META, SAMPLE), r"`chase` kernel failed \(exit status 0\), or its output is incomplete"),
        (output(META, SAMPLE, status=-9), r"exit status -9"),
        (output(META, END, status=4), r"exit status 4"),
        (output(META, {"t": "end", "ok": False}), r"exit status 0"),
        (output(tail=""), r"exit status 0"),
        (output(META, "{broken", END), r"line 2 of the output of the `chase` kernel is not a JSON object"),
        (output(META, "[1]", END), r"line 2 .* not a JSON object"),
        (output("[" * 100_000, END), r"line 1 .* not a JSON object"),
        (output(META, '{"t":"sample","ns":[NaN]}', END), r"line 2 .* not a JSON object"),
        (output(META, '{"t":"sample","ns":-Infinity}', END), r"line 2 .* not a JSON object"),
        (output(META, '{"t":"sample","ns":[1e999]}', END), r"line 2 .* not a JSON object"),
        (output(META, '{"t":"sample","ns":-1e999}', END), r"line 2 .* not a JSON object"),
        (output(SAMPLE, END), r"does not begin with a `meta` line"),
        (output(META | {"abi": 2}, END), r"writes format 2, but this version of asct reads format 1"),
    ],
)
def test_refusals_name_the_cause(broken: Output, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_kernel(broken)


@given(st.integers(0, 400))
def test_no_cut_of_a_stream_is_taken_for_a_whole_one(at: int) -> None:
    whole = output(META, {"t": "ready"}, SAMPLE, END).stdout.rstrip("\n")
    if at >= len(whole):
        return
    cut = Output(Step("sweep", Kernel("chase")), 0, {"stdout": whole[:at], "stderr": ""})
    with pytest.raises(ValueError, match="`chase` kernel"):
        read_kernel(cut)


@pytest.mark.parametrize("value", [None, "7", True, [7]])
def test_a_number_is_a_number(value: Any) -> None:
    assert number({"size": 7}, "size") == 7.0
    with pytest.raises(ValueError, match="no number for `size`"):
        number({"size": value}, "size")


def test_a_number_too_large_for_a_float_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the number for `size` in a sample is too large: '1000"):
        number({"size": 10**400}, "size")


def test_stats() -> None:
    stats = stats_of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert (stats.n, stats.median, stats.ci95, stats.min, stats.max) == (6, 3.5, (1.0, 6.0), 1.0, 6.0)
    assert stats_of([1.0, 2.0]).ci95 is None
    assert stats_of([1.0] * 9, independent=False).ci95 is None
    whole = Stats(n=9, median=2.0, mad=0.5, ci95=(1.0, 3.0), min=0.0, max=4.0)
    assert whole.scaled(2.0) == Stats(n=9, median=4.0, mad=1.0, ci95=(2.0, 6.0), min=0.0, max=8.0)
    assert stats_of([1.0, 2.0]).scaled(2.0).ci95 is None

"""Sizes that latency-sweep finds for other benchmarks."""

from __future__ import annotations

import pytest

from asct.instruments.memory.sizes import optimum_size
from asct.sdk.benchmark import Context
from tests.benchmarks.test_contract import bare_facts


def test_optimum_size_of_memory() -> None:
    context = Context(bare_facts(), "/work", needs={"cache.dram.optimum_size": 1 << 29})
    assert optimum_size(context) == 1 << 29
    with pytest.raises(LookupError, match="found no DRAM level on this host; set `data_size`"):
        optimum_size(Context(bare_facts(), "/work", needs={"cache.l2.optimum_size": 1 << 29}))

"""Sizes that latency-sweep finds for other benchmarks."""

from __future__ import annotations

import pytest

from asct.sdk import Context
from asct.sdk.memory.needed import optimum_size
from tests.benchmarks.test_contract import bare_facts


def test_the_size_of_a_level_or_the_way_out() -> None:
    context = Context(bare_facts(), "/work", needs={"cache.dram.optimum_size": 1 << 29})
    assert optimum_size(context, "dram") == 1 << 29
    with pytest.raises(LookupError, match="no L2 level on this host; set `data_size`"):
        optimum_size(context, "l2")

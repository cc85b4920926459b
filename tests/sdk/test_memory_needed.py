"""Sizes that latency-sweep finds for other benchmarks."""

from __future__ import annotations

import pytest

from asct.instruments.memory.sizes import chain_size, optimum_size
from asct.sdk.benchmark import Context
from asct.sdk.facts import Cache
from tests.benchmarks.test_contract import bare_facts


def test_optimum_size_of_a_level() -> None:
    context = Context(bare_facts(), "/work", needs={"cache.dram.optimum_size": 1 << 29})
    assert optimum_size(context, "DRAM") == 1 << 29
    with pytest.raises(LookupError, match="found no L2 level on this host; set `data_size`"):
        optimum_size(context, "L2")


def test_a_chain_is_beyond_the_caches() -> None:
    needs = {"cache.dram.optimum_size": 1 << 29}
    assert chain_size(Context(bare_facts(), "/work", needs=needs)) == 1 << 29
    large = [Cache(level=1, type="Data", size_bytes=1 << 16), Cache(level=3, type="Unified", size_bytes=3 << 28)]
    facts = bare_facts().model_copy(update={"caches": large})
    assert chain_size(Context(facts, "/work", needs=needs)) == 3 << 29
    with pytest.raises(LookupError, match="no DRAM level"):
        chain_size(Context(facts, "/work"))

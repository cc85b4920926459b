"""Command lines of the kernel `stream`, and sizes per thread that exceed the caches and fit into memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.instruments.memory.sizes import (
    ASSUMED_CACHE,
    FREE_SHARE,
    cache_share,
    demanded_bytes,
    level_size,
    local_nodes,
    local_sizes,
    memory_size,
    page_privileges,
    sharers,
    working_set_flags,
)
from asct.instruments.memory.stream import StreamCall, StreamParams, WorkingSet, value_seconds, working_sets
from asct.sdk.facts import Cache, Cpu, HostFacts, Memory, NumaNode

MIB = 1 << 20


def host(cpus: int, l3_sharers: int, free: int, l3: int = 32 * MIB) -> HostFacts:
    """Return facts of a host with CPUs on one node, an L2 cache of 1 MiB per CPU, and an L3 cache shared by this number
    of CPUs."""
    numbers = list(range(cpus))
    caches = [
        Cache(level=2, type="Unified", size_bytes=MIB, shared_cpus=[0]),
        Cache(level=3, type="Unified", size_bytes=l3, shared_cpus=list(range(l3_sharers))),
    ]
    return HostFacts(
        host="h",
        collected_at="t",
        cpu=Cpu(online=numbers, allowed=numbers),
        caches=caches,
        memory=Memory(available_bytes=free),
        nodes=[NumaNode(id=0, cpus=numbers, memory_bytes=2 * free, free_bytes=free)],
    )


def bare() -> HostFacts:
    return HostFacts(host="h", collected_at="t")


def test_the_command_line() -> None:
    call = StreamCall((0, 5), working_sets((4096, 1024, 4096), "32"), ("copy", "all-reads", "copy"), 0.0205, (1, 1))
    arguments = call.arguments(StreamParams(pages="2M", target_interval="2 %", seed=7))
    assert dict(zip(arguments[::2], arguments[1::2], strict=True)) == {
        "--cpus": "0,5", "--sizes": "1024,4096", "--traffic": "copy,all-reads", "--nodes": "1", "--width": "32",
        "--pages": "2m", "--window-us": "100", "--windows": "63", "--time-cap-ms": "20", "--seed": "7",
    }  # fmt: skip
    alone = working_sets((64,), "auto")
    assert "--nodes 0,3" in " ".join(StreamCall((0, 5), alone, ("copy",), 1.0, nodes=(0, 3)).arguments(StreamParams()))
    assert "--cpus" not in StreamCall((), alone, ("copy",), 1.0).arguments(StreamParams())


def test_sets_with_labels_and_widths() -> None:
    sets = (WorkingSet(4096, "16", "a"), WorkingSet(64, "32", "b"))
    text = " ".join(StreamCall((), sets, ("copy",), 1.0).arguments(StreamParams()))
    assert "--sizes 4096,64 --labels a,b " in text
    assert "--width 16,32 " in text


def test_a_time_ends_by_whichever_comes_first() -> None:
    assert value_seconds(0.2, 100_000) == 0.2
    assert value_seconds(0.2, 63) == pytest.approx(0.0189)


def test_the_share_of_the_caches() -> None:
    facts = host(8, 8, 1 << 34)
    assert cache_share(facts, range(8)) == MIB + 4 * MIB
    assert cache_share(facts, [3]) == MIB + 32 * MIB
    assert cache_share(bare(), [0]) == ASSUMED_CACHE


def test_caches_of_cpus_that_the_facts_do_not_list_are_taken_to_be_alike() -> None:
    cache = Cache(level=3, type="Unified", size_bytes=MIB, shared_cpus=[0, 1, 2, 3])
    assert [sharers(cache, cpus) for cpus in ([0, 1], [4, 5, 6, 7, 8], [9], [])] == [2, 4, 1, 1]


def test_many_threads_do_not_take_their_part_of_memory_into_their_caches() -> None:
    """An equal share of 600 MiB would be 4.7 MiB per thread, most of which would stay in caches of 1.25 MiB per
    thread."""
    facts = host(128, 128, 1 << 36)
    assert memory_size(facts, range(128), 600 * MIB) == 5 * MIB
    assert memory_size(facts, [1], 600 * MIB) == 600 * MIB


def test_private_and_shared_levels() -> None:
    facts = host(4, 4, 1 << 34)
    assert level_size(facts, range(4), "L2", 512 << 10) == 512 << 10
    assert level_size(facts, range(4), "LLC", 16 * MIB) == 4 * MIB
    assert level_size(facts, range(4), "L1", 1000) == 960
    assert level_size(facts, range(4), "DRAM", 600 * MIB) == 150 * MIB


@given(st.integers(1, 64), st.integers(1 << 20, 1 << 36), st.integers(1 << 16, 1 << 34))
def test_all_threads_fit_together(threads: int, free: int, size: int) -> None:
    found = local_sizes(host(64, 64, free), range(threads), size)
    assert found <= size
    assert found * threads <= free * FREE_SHARE or found == 1 << 16


def test_memory_is_bound_where_there_is_some() -> None:
    nodes = [
        NumaNode(id=4, cpus=[0], memory_bytes=0),
        NumaNode(id=6, cpus=[1], memory_bytes=MIB),
        NumaNode(id=7, cpus=[]),
    ]
    facts = bare().model_copy(update={"cpu": Cpu(online=[0, 1], allowed=[0, 1]), "nodes": nodes})
    assert local_nodes(facts, [0, 1]) == (-1, 6)
    assert local_nodes(bare(), [0]) == (-1,)


def test_demand() -> None:
    facts = host(4, 4, 1 << 34)
    assert demanded_bytes(facts, 64 * MIB) == 256 * MIB
    assert demanded_bytes(facts, 64 * MIB, [1]) == 64 * MIB
    assert demanded_bytes(host(4, 4, 64 * MIB), None) < 64 * MIB
    assert demanded_bytes(None, 64 * MIB) == 64 * MIB
    assert demanded_bytes(None, None) > 0


def test_sets_within_the_caches_are_in_doubt() -> None:
    facts = host(4, 4, 1 << 34)
    assert working_set_flags(facts, range(4), 17 * MIB) == ("invalid-working-set",)
    assert working_set_flags(facts, range(4), 18 * MIB) == ()
    assert working_set_flags(bare(), [0], 64) == ()


def test_what_root_adds() -> None:
    assert "2 MiB" in page_privileges("2m", "stream")[0].why
    assert "transparent" in page_privileges("auto", "stream")[0].why
    assert page_privileges("thp", "stream") == page_privileges("4k", "stream") == ()

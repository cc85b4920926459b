"""The limits of load and store units, and the flags of bandwidths above or below them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from asct.facts.designs import PARTS
from asct.instruments.memory.core_limits import CORES, limit, limit_flags
from asct.instruments.memory.stream import StreamResult
from asct.sdk.facts import Cache, CoreKind, Cpu, HostFacts
from asct.sdk.record import Stats


def host(name: str | None, sharing: tuple[int, ...] = (0,)) -> HostFacts:
    caches = [Cache(level=1, type="Data", size_bytes=48 << 10, shared_cpus=list(sharing))]
    return HostFacts(
        host="h", collected_at="t", caches=caches, cpu=Cpu(kinds=[CoreKind(microarchitecture=name, cpus=[0, 1])])
    )


def result(per_cycle: float, traffic: str = "all-reads", vector_bytes: int = 64, threads: int = 1) -> StreamResult:
    rate = per_cycle * 3e9 * threads
    stats = Stats(n=63, median=rate, mad=0.0, ci95=None, min=rate, max=rate)
    return StreamResult("", 24576, traffic, "plain", True, threads, vector_bytes, stats, 1.0, 3e9, ())


@pytest.mark.parametrize(
    ("core", "traffic", "width", "expected"),
    [
        ("Emerald Rapids", "all-reads", 64, 128), ("Emerald Rapids", "all-reads", 32, 96),
        ("Emerald Rapids", "all-reads", 16, 48), ("Emerald Rapids", "write", 64, 64),
        ("Emerald Rapids", "copy", 64, 128), ("Emerald Rapids", "triad", 64, 192),
        ("Ice Lake", "all-reads", 32, 64), ("Zen 3", "all-reads", 32, 64), ("Zen 3", "write", 32, 32),
        ("Zen 5", "all-reads", 64, 128), ("Skylake-SP", "write", 32, 32),
        ("Granite Rapids", "all-reads", 64, 128), ("Zen 5c", "write", 64, 64),
        ("Cortex-A72", "all-reads", 16, 16), ("Cortex-A72", "copy", 16, 32),
        ("Neoverse-N1", "all-reads", 16, 32), ("Neoverse-N1", "copy", 16, 32),
        ("Neoverse-N2", "all-reads", 16, 48), ("Neoverse-N2", "triad", 16, 48), ("Neoverse-N2", "write", 16, 32),
        ("Neoverse-V1", "all-reads", 16, 48), ("Neoverse-V1", "all-reads", 32, 64),
        ("Neoverse-V2", "all-reads", 16, 48), ("Neoverse-V3", "triad", 16, 64), ("Neoverse-V2", "triad", 16, 48),
        ("Ampere-1", "write", 16, 16), ("Ampere-1", "triad", 16, 48),
        ("TaiShan-v110", "copy", 16, 32), ("ThunderX2-99xx", "triad", 16, 32),
        ("A64FX", "all-reads", 64, 128), ("A64FX", "all-reads", 16, 32), ("A64FX", "write", 64, 64),
    ],
)  # fmt: skip
def test_limits_follow_from_units_and_width(core: str, traffic: str, width: int, expected: float) -> None:
    assert limit(CORES[core], traffic, width) == pytest.approx(expected)


def test_more_than_the_core_can_do_is_flagged_at_every_size() -> None:
    known = host("Emerald Rapids")
    assert limit_flags(known, [0], result(130)) == ("noisy-above-core-limit",)
    assert limit_flags(known, [0], result(129)) == ()
    assert limit_flags(known, [0, 1], result(130, threads=2)) == ("noisy-above-core-limit",)
    assert limit_flags(host("Emerald Rapids", (0, 1)), [0, 1], result(66, threads=2)) == ("noisy-above-core-limit",)


def test_an_arm_core_is_found_by_its_name_in_the_facts_and_only_its_upper_limit_is_checked() -> None:
    """159.4 GB/s at 2.5 GHz were published for the L1 of a Neoverse N1, which is twice the limit."""
    known = host("Neoverse-N1")
    assert limit_flags(known, [0], result(159.4 / 2.5, vector_bytes=16), "L1") == ("noisy-above-core-limit",)
    assert limit_flags(known, [0], result(32.3, vector_bytes=16), "L1") == ()
    assert limit_flags(known, [0], result(16, vector_bytes=16), "L1") == (), "the loops need not reach the limit"
    assert limit_flags(known, [0], result(8, vector_bytes=16), "L2") == ()


def test_every_listed_arm_core_has_a_name_from_the_facts() -> None:
    assert {name for name, core in CORES.items() if core.accesses} <= set(PARTS.values())


def test_less_than_97_percent_is_flagged_where_the_limit_is_documented() -> None:
    known = host("Emerald Rapids")
    assert limit_flags(known, [0], result(124), "L1") == ("below-core-limit",)
    assert limit_flags(known, [0], result(124.2), "L1") == ()
    assert limit_flags(known, [0], result(46.5), "L2") == ("below-core-limit",)
    assert limit_flags(known, [0], result(48.8), "L2") == ()
    assert limit_flags(known, [0], result(160, "triad"), "L1") == (), "two loads and a store: no claim"
    assert limit_flags(known, [0], result(10), "LLC") == ()
    assert limit_flags(host("Zen 3"), [0], result(20, vector_bytes=32), "L2") == (), "no documented sustained rate"
    assert limit_flags(host("Emerald Rapids", (0, 1)), [0, 1], result(60, threads=2), "L1") == (), "a shared core"


def test_there_is_no_claim_about_an_unknown_core() -> None:
    assert limit_flags(host(None), [0], result(1000), "L1") == ()
    assert limit_flags(HostFacts(host="h", collected_at="t"), [0], result(1000), "L1") == ()
    mixed = host("Emerald Rapids")
    kinds = [*mixed.cpu.kinds, CoreKind(microarchitecture="Gracemont", cpus=[1])]
    mixed = mixed.model_copy(update={"cpu": Cpu(kinds=kinds)})
    assert limit_flags(mixed, [0, 1], replace(result(1000), threads=2), "L1") == ()

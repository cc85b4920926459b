"""One-line descriptions of hosts."""

from __future__ import annotations

import pytest

from asct.facts.describe import describe
from asct.sdk.facts import CoreKind, Cpu, HostFacts, Memory


@pytest.mark.parametrize(
    ("total", "text"),
    [(256 << 20, "256 MiB"), (251 << 30, "251 GiB"), (3 << 40, "3 TiB"), (0, "nothing is known about this machine")],
)
def test_memory_in_the_unit_that_fits(total: int, text: str) -> None:
    assert describe(HostFacts(host="h", collected_at="x", memory=Memory(total_bytes=total))) == text


def test_each_model_of_a_machine_with_several_is_named_once() -> None:
    kinds = [CoreKind(model="Cortex-A510"), CoreKind(model="Cortex-X3"), CoreKind(model="Cortex-X3"), CoreKind()]
    cpu = Cpu(cpus=8, model="Cortex-A510", kinds=kinds)
    assert describe(HostFacts(host="h", collected_at="x", cpu=cpu)) == "Cortex-A510, Cortex-X3, 8 CPUs"
    assert describe(HostFacts(host="h", collected_at="x", cpu=Cpu(cpus=1, model="M"))) == "M, 1 CPU"

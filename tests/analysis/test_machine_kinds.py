"""Machines with several kinds of cores: each kind is listed with its number of cores and its clock."""

from __future__ import annotations

from asct.analysis.machine import sections
from asct.sdk.facts import CoreKind, Cpu, FrequencyPolicy, HostFacts


def rows(cpu: Cpu) -> dict[str, str]:
    facts = HostFacts(host="h", collected_at="2026-01-02T03:04:05Z", cpu=cpu)
    return dict(next(one for one in sections(facts) if one.title == "CPU").rows)


def kind(
    name: str | None, model: str | None, cpus: list[int], cores: int | None, capacity: int | None = None
) -> CoreKind:
    return CoreKind(microarchitecture=name, model=model, cpus=cpus, cores=cores, capacity=capacity)


def test_cores_of_several_models() -> None:
    kinds = [kind("Cortex-A55", "Cortex-A55", [0, 1, 2, 3], 4), kind("Cortex-X1", "Cortex-X1", [4], None)]
    clocks = [FrequencyPolicy(cpus=[0, 1], current_hz=1e9), FrequencyPolicy(cpus=[2, 3], current_hz=2e9)]
    told = rows(Cpu(model="Cortex-A55", kinds=kinds, policies=[*clocks, FrequencyPolicy(cpus=[4], current_hz=3e9)]))
    assert told["Processor"] == "4 x Cortex-A55, 1 x Cortex-X1"
    assert told["Current clock"] == "Cortex-A55 1.5 GHz (1 GHz to 2 GHz); Cortex-X1 3 GHz"


def test_a_hybrid_processor_has_one_model() -> None:
    kinds = [kind("Golden Cove", "Intel i9", list(range(16)), 8), kind("Gracemont", "Intel i9", list(range(16, 24)), 8)]
    assert rows(Cpu(model="Intel i9", kinds=kinds))["Processor"] == "Intel i9 (8 x Golden Cove, 8 x Gracemont)"
    unnamed = [kind(None, None, [0], 1, 400), kind(None, None, [1], 1, 1024)]
    assert rows(Cpu(kinds=unnamed))["Processor"] == "1 x core of capacity 400, 1 x core of capacity 1024"


def test_one_kind_is_the_model_alone() -> None:
    policies = [FrequencyPolicy(cpus=[0], current_hz=2e9), FrequencyPolicy(cpus=[1])]
    told = rows(Cpu(model="A chip", kinds=[kind("X", "A chip", [0, 1], 2)], policies=policies))
    assert (told["Processor"], told["Current clock"]) == ("A chip", "2 GHz")
    assert "Current clock" not in rows(Cpu(model="A chip"))

"""Field-by-field comparison of facts."""

from __future__ import annotations

from asct.analysis.fields import differences, flat
from asct.sdk.facts import (
    BlockDevice,
    CacheLevel,
    Cpu,
    HostFacts,
    Load,
    LogicalCpu,
    Memory,
    MemoryModule,
    NumaNode,
    System,
    Thermal,
)


def facts(**parts: object) -> HostFacts:
    return HostFacts(host="h", collected_at="2026-01-02T00:00:00Z", **parts)  # type: ignore[arg-type]


def found(base: HostFacts, other: HostFacts) -> dict[str, tuple[object, object]]:
    return {one.field: (one.base, one.other) for one in differences(base, other) if not one.moves}


def test_leaves_have_dotted_paths() -> None:
    document = {"a": {"b": 1, "c": []}, "d": [{"name": "x", "n": None}, {"name": "y"}], "e": [1, 2], "f": True}
    assert flat(document) == {
        "a.b": 1, "a.c": "", "d.0.name": "x", "d.0.n": None, "d.1.name": "y", "e": "1 2", "f": True,
    }  # fmt: skip
    assert "d.x.n" in flat(document, by_name=True)


def test_entries_are_compared_by_name() -> None:
    drives = [BlockDevice(name=name, kind="disk", size_bytes=size) for name, size in (("sda", 1), ("sdb", 2))]
    base, other = facts(block_devices=drives), facts(block_devices=drives[1:])
    assert found(base, other) == {
        "block_devices.sda.name": ("sda", None),
        "block_devices.sda.kind": ("disk", None),
        "block_devices.sda.size_bytes": (1, None),
    }
    assert found(facts(), facts(nodes=[NumaNode(id=8, cpus=[])])) == {"nodes.8.id": (None, 8)}


def test_entries_of_the_same_name_are_kept_apart() -> None:
    modules = [MemoryModule(slot="DIMM 0", size_bytes=size) for size in (1, 2)]
    levels = [CacheLevel(level=2, type="Unified", size_bytes=size) for size in (1, 2)]
    other = facts(memory=Memory(modules=modules[::-1]), cache_levels=levels)
    assert found(facts(memory=Memory(modules=modules), cache_levels=levels), other) == {
        "memory.modules.DIMM 0.size_bytes": (1, 2),
        "memory.modules.DIMM 0 (2).size_bytes": (2, 1),
    }


def test_unknown_false_and_nothing() -> None:
    """Null differs from false and from 0. An empty list is treated like a missing value."""
    assert found(facts(cpu=Cpu(boost=False, quota=0)), facts(cpu=Cpu())) == {
        "cpu.boost": (False, None),
        "cpu.quota": (0.0, None),
    }
    assert found(facts(cpu=Cpu(flags=[])), facts(cpu=Cpu())) == {}
    assert found(facts(cpu=Cpu(online=[0, 1, 2, 5])), facts(cpu=Cpu(online=[0]))) == {"cpu.online": ("0-2,5", "0")}


def test_what_moves_by_itself_is_marked() -> None:
    base = facts(
        load=Load(load1=1.0), thermal=[Thermal(name="die", celsius=40.0)], work_free_bytes=1, unknown={"x": "y"},
        memory=Memory(available_bytes=1, dirty_bytes=3), system=System(uptime_s=1.0),
        nodes=[NumaNode(id=0, cpus=[], free_bytes=1)],
    )  # fmt: skip
    other = facts(
        load=Load(load1=2.0), thermal=[Thermal(name="die", celsius=41.0)], work_free_bytes=2, unknown={"x": "z"},
        memory=Memory(available_bytes=2, dirty_bytes=4), system=System(uptime_s=2.0),
        nodes=[NumaNode(id=0, cpus=[], free_bytes=2)],
    )  # fmt: skip
    assert found(base, other) == {}
    assert len(differences(base, other)) == 8
    assert found(base, other.model_copy(update={"thermal": []})) == {"thermal.die.name": ("die", None)}
    assert differences(base, base) == []


def test_large_machines_take_no_time_to_speak_of() -> None:
    logical = [LogicalCpu(cpu=cpu, core=cpu // 2, node=0) for cpu in range(1024)]
    other = [one.model_copy(update={"node": 1}) for one in logical]
    assert len(differences(facts(cpu=Cpu(logical=logical)), facts(cpu=Cpu(logical=other)))) == 1024

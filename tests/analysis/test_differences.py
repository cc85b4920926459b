"""A short list of differences between two machines that have little in common."""

from __future__ import annotations

from asct.analysis.fields import collections, differences, folded
from asct.sdk.facts import BlockDevice, Cpu, HostFacts, Interface, LogicalCpu, Memory, Network, System, ToolFact


def told(base: HostFacts, other: HostFacts) -> dict[str, list[str]]:
    return dict(folded([one for one in differences(base, other) if not one.moves], base, other))


def machine(host: str, **parts: object) -> HostFacts:
    return HostFacts.model_validate({"host": host, "collected_at": "2026-01-02T03:04:05Z", **parts})


def test_collections_are_lists_of_parts_and_parts_by_name() -> None:
    facts = machine(
        "a", cpu=Cpu(logical=[LogicalCpu(cpu=0), LogicalCpu(cpu=4)]), tools={"fio": ToolFact(path="/bin/fio")},
        block_devices=[BlockDevice(name="sda", kind="disk", holders=["dm-0"])], limits={"nofile": 1},
    )  # fmt: skip
    found = collections(facts.model_dump(mode="json"))
    assert found == {"cpu.logical": ["0", "4"], "block_devices": ["sda"], "tools": ["fio"]}


def test_what_one_side_alone_has_is_counted() -> None:
    base = machine("a", cpu=Cpu(logical=[LogicalCpu(cpu=number, core=number) for number in range(4)]))
    more = [LogicalCpu(cpu=number, core=number // 2, node=0) for number in range(64)]
    drives = [BlockDevice(name=f"sd{letter}", kind="disk", model="M") for letter in "abcdefghij"]
    other = machine("b", cpu=Cpu(logical=more), block_devices=drives)
    assert told(base, other) == {
        "cpu": [
            "logical: 60 only in b: 4-63",
            "logical: node differs in 4 entries; the first is 0: unknown -> 0",
            "logical.1.core: 1 -> 0",
            "logical.2.core: 2 -> 1",
            "logical.3.core: 3 -> 1",
        ],
        "block_devices": ["10 only in b: sda, sdb, sdc, sdd, sde, sdf and 4 more"],
    }
    assert told(other, base)["block_devices"] == ["10 only in b: sda, sdb, sdc, sdd, sde, sdf and 4 more"]


def test_names_with_points() -> None:
    first, second = Interface(name="eth0", kind="ethernet", mtu=1500), Interface(name="eth0.5", kind="vlan", mtu=1500)
    changed = second.model_copy(update={"mtu": 9000})
    found = told(
        machine("a", network=Network(interfaces=[first, second])),
        machine("b", network=Network(interfaces=[first, changed])),
    )
    assert found == {"network": ["interfaces.eth0.5.mtu: 1500 -> 9000"]}


def test_fields_and_long_texts() -> None:
    options = {f"CONFIG_{number}": "y" for number in range(9)}
    base = machine(
        "a", system=System(kernel_options=options, kernel="6.1"), cpu=Cpu(flags=["fpu", "x", *"abcdefghijkl"])
    )
    other = machine(
        "b", system=System(kernel="6.2"), cpu=Cpu(flags=["fpu", "y", *"abcdefghijkl"]), memory=Memory(total_bytes=1)
    )
    found = told(base, other)
    assert sorted(found["system"]) == [
        "kernel: 6.1 -> 6.2",
        "kernel_options: 9 known only for a: CONFIG_0, CONFIG_1, CONFIG_2, CONFIG_3, CONFIG_4, CONFIG_5 and 3 more",
    ]
    assert found["cpu"] == ["flags: without x, with y"]
    assert found["memory"] == ["total_bytes: unknown -> 1"]
    long = told(machine("a", system=System(os="x" * 500)), machine("b", system=System(os="y")))
    assert len(long["system"][0]) < 200

"""Differences between runs other than their values."""

from __future__ import annotations

from asct.analysis.diff.differing import differing, unknown_machines
from asct.analysis.diff.machine import machine_facts
from asct.analysis.diff.source import DiffSource
from asct.sdk.facts import BlockDevice, Cpu, Firmware, HostFacts, Memory, System, ToolFact
from tests.analysis.diff.runs import CATALOG, levels, source


def titles(*sources: DiffSource) -> dict[str, tuple[str, ...]]:
    hosts: list[dict[str, str]] = [{} for _ in sources]
    return {item.title: item.texts for item in differing(sources, hosts, CATALOG)}


def test_equal_runs_differ_in_nothing() -> None:
    assert titles(source("a", *levels({"L1": 1})), source("b", *levels({"L1": 2}))) == {}


def test_machine_software_versions_plan_and_settings() -> None:
    base = source("a", *levels({"L1": 1}), settings={("a", "latency-sweep"): {"stride": 64, "pages": "auto"}})
    new = source(
        "b", *levels({"L1": 1}, version="2"), version="1.1", plan="q",
        machines={"a": {"CPU": "EPYC 9654", "Linux kernel": "6.1 x86_64"}},
        settings={("a", "latency-sweep"): {"stride": 4096, "pages": "auto"}},
    )  # fmt: skip
    assert titles(base, new) == {
        "CPU": ("EPYC 7B13", "EPYC 9654"),
        "Measured with": ("asct 1.0", "asct 1.1"),
        "Plan": ("p", "q"),
        "Version of latency-sweep": ("1", "2"),
        "latency-sweep: stride": ("64", "4K"),
    }


def test_what_only_one_run_tells_is_no_difference() -> None:
    base = source("a", *levels({"L1": 1}))
    imported = source("b", *levels({"L1": 1}), machines={})
    assert titles(base, imported) == {}
    assert unknown_machines([base, imported]) == ["p/b does not describe its machine"]
    assert titles(base, imported, source("c", machines={"a": {"CPU": "other"}})) == {"CPU": ("EPYC 7B13", "", "other")}


def test_hosts_with_the_same_difference_are_merged() -> None:
    def fleet(name: str, kernel: str) -> DiffSource:
        machines = {f"n{number}": {"Linux kernel": kernel, "CPU": "x"} for number in (1, 2, 3)}
        return source(name, *levels({"L1": 1}), machines=machines)

    assert titles(fleet("a", "6.1"), fleet("b", "6.11")) == {"Linux kernel on n[1:3]": ("6.1", "6.11")}


def test_facts_that_can_change_results_are_compared() -> None:
    facts = HostFacts(
        host="a", collected_at="2026-11-21T04:28:13Z",
        system=System(
            kernel="6.1", arch="x86_64", firmware=Firmware(vendor="AMI", version="2.1"), command_line="quiet",
            mitigations={"meltdown": "Not affected"},
        ),
        cpu=Cpu(model="EPYC", microcode="0x2b", governor="performance", cpus=8),
        memory=Memory(total_bytes=33_000_000_000, available_bytes=1),
        tools={"fio": ToolFact(path="/bin/fio", version="3.36"), "gcc": ToolFact(path="/bin/gcc", banner="14.2")},
        block_devices=[BlockDevice(name="nvme0n1", kind="disk", model="ACME", firmware="1B", scheduler="none")],
    )  # fmt: skip
    assert machine_facts(facts) == {
        "CPU": "EPYC", "Firmware": "AMI 2.1", "Microcode": "0x2b", "CPUs": "8", "Governor": "performance",
        "Memory": "31 GiB", "Linux kernel": "6.1 x86_64", "Kernel command line": "quiet",
        "Mitigation meltdown": "Not affected", "gcc": "14.2", "fio": "3.36",
        "Drives": "nvme0n1 ACME firmware 1B none",
    }  # fmt: skip

"""The facts of guests: their drives, modules, firmware and interfaces, as specified in qemu's arguments."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from asct.facts import exchange
from asct.facts.reading import facts_of
from asct.facts.snapshot import from_output
from asct.sdk.facts import HostFacts
from tests.machines.guest import WORK, Guest

pytestmark = [pytest.mark.machines, pytest.mark.timeout(900)]

TOKEN = "token"


@pytest.fixture
def without_fio(monkeypatch: pytest.MonkeyPatch) -> None:
    """An emulated fio takes a minute to list its options."""
    monkeypatch.setattr(exchange, "PROBES", {})
    monkeypatch.setattr(exchange, "TRIAL", {"io_uring": "false"})


def look(guest: Guest) -> HostFacts:
    said = guest.sh(f"sh -s {TOKEN} {WORK} ''", given=exchange.script().encode())
    return facts_of(from_output(said, TOKEN), guest.machine.name, datetime.now(UTC))


@pytest.mark.usefixtures("without_fio")
def test_a_guest_with_smbios(pair: Guest) -> None:
    facts = look(pair)
    [drive] = facts.block_devices
    assert (drive.kind, drive.transport, drive.serial, drive.driver) == ("disk", "nvme", "PAIR01", "nvme")
    assert (drive.node, drive.model, drive.hardware_queues) == (1, "QEMU NVMe Ctrl", 2)
    assert drive.link is not None and drive.link.startswith("2.5 GT/s")
    [module] = facts.memory.modules
    assert (module.slot, module.size_bytes, module.type) == ("DIMM 0", 768 << 20, "RAM")
    assert (facts.memory.channels, facts.memory.theoretical_bandwidth) == (None, None)
    assert "virtual machine" in facts.unknown["memory.theoretical_bandwidth"]
    assert (facts.system.product.manufacturer, facts.system.virtualization) == ("QEMU", "qemu")
    assert (facts.system.firmware.vendor, facts.system.firmware.description) == ("SeaBIOS", "acpi")
    assert [node.distances for node in facts.nodes] == [[10, 21], [21, 10]]
    assert all(len(node.huge_pages) == len(facts.memory.huge_pages) > 0 for node in facts.nodes)
    made = {one.name: one for one in facts.network.interfaces}
    assert (made["eth0"].driver, made["eth0"].ipv4, facts.network.ipv4) == (
        "virtio_net", ["10.0.2.15/24"], "10.0.2.15",
    )  # fmt: skip
    assert "10.0.2.2" in facts.network.gateways
    assert facts.network.namespace == "host"


@pytest.mark.usefixtures("without_fio")
def test_a_guest_with_a_device_tree(arm: Guest) -> None:
    facts = look(arm)
    assert (facts.system.product.name, facts.system.firmware.description) == ("linux,dummy-virt", "device-tree")
    assert (facts.system.virtualization, facts.system.arch) == ("qemu", "aarch64")
    assert [one.serial for one in facts.block_devices] == ["ARM01"]
    assert facts.memory.modules == []
    assert "memory.modules" in facts.unknown
    assert any(name.startswith("armv8_pmuv3") for name in facts.perf.pmus)
    assert facts.perf.counters is not None and 1 <= facts.perf.counters <= 30
    assert {pool.page_bytes for pool in facts.memory.huge_pages} >= {2 << 20, 1 << 30}

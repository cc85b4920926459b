"""The rows in the description of a machine."""

from __future__ import annotations

from asct.analysis.machine.rows import pcie_link, section
from asct.sdk.facts import BlockDevice


def test_of_a_value_that_never_ends_its_beginning_is_shown() -> None:
    [(label, text), second] = section("CPU", [("Model", "x" * 1_000_000), ("Flags", "y " * 2000), ("None", "")]).rows
    assert (label, second) == ("Model", ("Flags", "y " * 2000))
    assert text == f"{'x' * 8000} ... (992000 more characters)"


def test_a_link_whose_current_speed_is_unknown_is_not_described() -> None:
    links = [(None, "32.0 GT/s PCIe x4"), ("8.0 GT/s PCIe x4", None), ("8.0 GT/s PCIe x4", "8.0 GT/s PCIe x4")]
    drives = [BlockDevice(name="nvme0n1", kind="disk", link=now, link_max=most) for now, most in links]
    assert [pcie_link(drive) for drive in drives] == ["", "8.0 GT/s PCIe x4", "8.0 GT/s PCIe x4"]

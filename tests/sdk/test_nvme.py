"""The data that an NVMe drive reports about itself, parsed from bytes at the offsets in the specification."""

from __future__ import annotations

import pytest

from asct.instruments.fio.devices import device_values
from asct.instruments.guard_output import GuardOutput, GuardTarget
from asct.instruments.nvme import controller_of, health_of, namespace_of, throttled


def put(size: int, **places: tuple[int, int, int]) -> str:
    """Return hexadecimal text that contains these numbers (offset, bytes, value)."""
    data = bytearray(size)
    for offset, length, value in places.values():
        data[offset : offset + length] = value.to_bytes(length, "little")
    return data.hex()


def drive(path: str = "/dev/x", *, temperature: int = 310, hot: int = 0, transitions: int = 0) -> GuardTarget:
    health = put(
        512,
        warning=(0, 1, 2), temperature=(1, 2, temperature), spare=(3, 1, 97), used=(5, 1, 4),
        written=(48, 16, 2**70), media=(160, 16, 6), hot=(192, 4, hot), critical=(196, 4, 1),
        first=(216, 4, transitions), second=(220, 4, 2),
    )  # fmt: skip
    controller = put(4096, oacs=(256, 2, 0b10), fna=(524, 1, 0b101))
    namespace = put(4096, blocks=(0, 8, 10**6), used=(16, 8, 10**5), flbas=(26, 1, 0x21))
    fields = {
        "bytes": 4096 * 10**6, "model": "ACME X1", "serial": "S6XZ01", "firmware": "2.1", "logical_block": 4096,
        "link_speed": "8.0 GT/s PCIe", "link_width": "4", "temperature_mc": 36850, "scheduler": "none",
        "numa_node": 1, "write_cache": None,
    }  # fmt: skip
    return GuardTarget(path, fields | {"nvme_smart": health, "nvme_id_ctrl": controller, "nvme_id_ns": namespace})


def test_health() -> None:
    health = health_of(drive())
    assert health is not None
    assert health.celsius == 36.85
    assert (health.critical_warning, health.available_spare, health.percentage_used) == (2, 97, 4)
    assert (health.data_units_written, health.media_errors) == (2**70, 6)
    assert (health.warning_minutes, health.critical_minutes, health.throttle_transitions) == (0, 1, 2)


def test_controller_and_namespace() -> None:
    controller, namespace = controller_of(drive()), namespace_of(drive())
    assert controller is not None
    assert namespace is not None
    assert (controller.formats, controller.formats_all) == (True, True)
    assert (namespace.used_blocks, namespace.format_index) == (10**5, 17)


@pytest.mark.parametrize("text", [None, "", "zz", "00" * 511, 7])
def test_what_cannot_be_read_is_not_known(text: object) -> None:
    device = GuardTarget("/dev/x", {"nvme_smart": text, "nvme_id_ctrl": text, "nvme_id_ns": text})
    assert (health_of(device), controller_of(device), namespace_of(device)) == (None, None, None)


@pytest.mark.parametrize(
    ("after", "expected"),
    [(drive(), False), (drive(hot=1), True), (drive(transitions=1), True), (drive("/dev/y", hot=9), False)],
)
def test_a_drive_that_got_hot(after: GuardTarget, expected: bool) -> None:
    assert throttled([drive()], [after]) is expected
    assert not throttled([GuardTarget("/dev/x", {})], [after])


def test_the_drive_stands_in_the_values() -> None:
    guard = GuardOutput((drive(),), (drive(temperature=320),), (), (), 0, "", 0, 1)
    found = list(device_values(guard))
    [size] = [one for one in found if one.metric == "device_size"]
    assert size.value == 4096e6
    assert size.coords == {
        "path": "/dev/x", "model": "ACME X1", "serial": "S6XZ01", "firmware": "2.1", "format": 4096,
        "scheduler": "none", "numa_node": 1, "link": "8.0 GT/s PCIe x4",
    }  # fmt: skip
    used = {one.coords["when"]: one.value for one in found if one.metric == "device_percentage_used"}
    assert used == {"before": 4.0, "after": 4.0}
    assert {one.metric for one in found} == {
        "device_size", "device_temperature", "device_percentage_used", "device_available_spare",
        "device_media_errors", "device_data_units_written",
    }  # fmt: skip

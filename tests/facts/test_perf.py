"""Performance monitors, sensors and meshes, parsed from synthetic files."""

from __future__ import annotations

import pytest

from asct.facts.perf import counters, perf, thermal
from asct.facts.reading import interconnects
from asct.facts.snapshot import CommandOutput, Snapshot
from asct.facts.sources import EVENTS, HWMON, ZONES
from asct.facts.unknown import NEEDS_ROOT, UnknownFacts
from asct.sdk.facts import Interconnect, Thermal


def pmus(*names: str) -> dict[str, str]:
    return {f"{EVENTS}/{name}/type": "8" for name in names}


def test_an_arm_server() -> None:
    files = {
        **pmus("armv8_pmuv3_0", "arm_spe_0", "arm_cmn_0", "arm_cmn_1", "cs_etm", "software"),
        "/proc/sys/kernel/perf_event_paranoid": "-1",
        "/proc/sys/kernel/kptr_restrict": "1",
        "/proc/sys/kernel/perf_user_access": "0",
    }
    said = {"present": CommandOutput(0, "there /proc/kcore\nreadable /dev/mem\nreadable /sys/kernel/btf/vmlinux\n")}
    gaps = UnknownFacts()
    made = perf(Snapshot(files, said), {"CONFIG_BPF_SYSCALL": "y"}, gaps)
    assert (made.paranoid, made.kptr_restrict, made.user_access) == (-1, 1, False)
    assert made.pmus == ["arm_cmn_0", "arm_cmn_1", "arm_spe_0", "armv8_pmuv3_0", "cs_etm", "software"]
    assert (made.sampling, made.trace, made.interconnects) == (["arm_spe_0"], ["cs_etm"], ["arm_cmn_0", "arm_cmn_1"])
    assert (made.kcore, made.devmem, made.btf, made.bpf) == (False, True, True, True)
    assert set(gaps.reasons) == {"perf.counters"}


def test_an_x86_server() -> None:
    files = {**pmus("cpu", "ibs_op", "ibs_fetch", "intel_pt"), f"{EVENTS}/cpu/rdpmc": "1"}
    made = perf(Snapshot(files), {"CONFIG_BPF_SYSCALL": "n"}, UnknownFacts())
    assert (made.user_access, made.sampling, made.trace) == (True, ["ibs_fetch", "ibs_op"], ["intel_pt"])
    assert (made.bpf, made.kcore) == (False, None)
    hybrid = {f"{EVENTS}/cpu_core/rdpmc": "1", f"{EVENTS}/cpu_atom/rdpmc": "0"}
    assert perf(Snapshot(hybrid), {}, UnknownFacts()).user_access is False


def test_nothing_to_observe() -> None:
    gaps = UnknownFacts()
    made = perf(Snapshot(), {}, gaps)
    null = {f"perf.{name}" for name, value in made.model_dump().items() if value is None}
    assert set(gaps.reasons) == null | {"perf.pmus"}


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("[    0.1] ... generic registers:      8\n", 8),
        ("... generic counters:      4\n", 4),
        ("... generic bitmap:         000000000000003f\n... generic bitmap: 00000000000000ff\n", 6),
        ("hw perfevents: enabled with armv8_pmuv3_0 PMU driver, 7 counters available\n", 6),
        ("enabled with armv8_pmuv3_0 PMU driver, 7 (0,8000003f) counters available, using NMIs\n", 6),
        ("enabled with armv8_pmuv3_0 PMU driver, 8 (1,8000003f) counters available\n", 6),
        ("enabled with a PMU driver, 1 counters available", None),
        ("", None),
    ],
)
def test_counters_from_the_log(log: str, expected: int | None) -> None:
    gaps = UnknownFacts()
    assert counters(Snapshot({}, {"counters": CommandOutput(0, log)}), gaps) == expected
    assert ("perf.counters" in gaps.reasons) == (expected is None)


def test_the_log_may_be_for_root() -> None:
    denied = CommandOutput(0, "dmesg: read kernel buffer failed: Operation not permitted\n")
    for uid, reason in (
        ("1000", NEEDS_ROOT),
        ("0", "no file reports it, and the entry in the Linux kernel log has been overwritten"),
    ):
        gaps = UnknownFacts()
        assert counters(Snapshot({}, {"counters": denied, "id": CommandOutput(0, uid)}), gaps) is None
        assert gaps.reasons["perf.counters"] == reason


def test_sensors() -> None:
    files = {
        f"{HWMON}/hwmon0/name": "acpitz",
        f"{HWMON}/hwmon0/temp1_input": "27800",
        f"{HWMON}/hwmon1/name": "coretemp",
        f"{HWMON}/hwmon1/temp1_input": "45000",
        f"{HWMON}/hwmon1/temp1_label": "Package id 0",
        f"{HWMON}/hwmon1/temp1_crit": "100000",
        f"{HWMON}/hwmon1/temp10_input": "41000",
        f"{HWMON}/hwmon2/name": "nvme",
        f"{HWMON}/hwmon2/temp1_input": "-274000",
        f"{HWMON}/hwmon2/temp1_crit": "65261850",
        f"{HWMON}/hwmon3/temp2_input": "odd",
        f"{ZONES}/thermal_zone0/type": "acpitz",
        f"{ZONES}/thermal_zone0/temp": "27800",
        f"{ZONES}/thermal_zone0/trip_point_0_type": "critical",
        f"{ZONES}/thermal_zone0/trip_point_0_temp": "105000",
        f"{ZONES}/thermal_zone0/trip_point_1_type": "passive",
        f"{ZONES}/thermal_zone0/trip_point_1_temp": "90000",
        f"{ZONES}/thermal_zone1/type": "cpu-thermal",
        f"{ZONES}/cooling_device0/cur_state": "0",
    }
    devices = "/sys/class/hwmon/hwmon0|/sys/devices/virtual/thermal/thermal_zone0/hwmon0||\n"
    made = thermal(Snapshot(files, {"devices": CommandOutput(0, devices)}), UnknownFacts())
    assert made == [
        Thermal(name="acpitz", celsius=27.8, critical_celsius=105.0),
        Thermal(name="coretemp Package id 0", celsius=45.0, critical_celsius=100.0),
        Thermal(name="coretemp temp10", celsius=41.0),
        Thermal(name="cpu-thermal"),
        Thermal(name="hwmon temp2"),
        Thermal(name="nvme temp1"),
    ]
    gaps = UnknownFacts()
    assert thermal(Snapshot(), gaps) == []
    assert "thermal" in gaps.reasons


IOMEM = """\
00000000-00000000 : ARMHC600:00
  00000000-00000000 : ARMHC600:00
00000000-00000000 : ARMHC600:01
00000000-00000000 : System RAM
"""


def test_meshes() -> None:
    gaps = UnknownFacts()
    made = interconnects(Snapshot({"/proc/iomem": IOMEM, **pmus("arm_cmn_0")}), "aarch64", gaps)
    assert made == [Interconnect(name="CMN-600", count=2, source="firmware devices")]
    files = {**pmus("arm_cmn_0", "arm_cmn_1", "arm_cmn_2"), f"{EVENTS}/arm_cmn_0/identifier": "43c02"}
    made = interconnects(Snapshot({**files, f"{EVENTS}/arm_cmn_1/identifier": "43c02"}), "aarch64", gaps)
    assert [(one.name, one.count) for one in made] == [("CMN", 1), ("CMN-700", 2)]
    assert gaps.reasons == {}
    assert interconnects(Snapshot(), "x86_64", gaps) == []
    assert gaps.absent["interconnects"] == "x86_64 has no known mesh"

"""The files of a whole machine, truncated, damaged and swapped: no parser raises an exception, and the result is a
valid document."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asct.facts.reading import facts_of
from asct.facts.snapshot import CommandOutput, Snapshot
from asct.facts.sources import CLOCKS, DMI, EVENTS, HWMON, MM, NODE, SECURITY, VULNERABILITIES, ZONES
from tests.facts import test_kernel, test_memory, test_network, test_perf, test_storage, test_system
from tests.facts.test_parsers import WHEN
from tests.facts.test_smbios import array, raw

FILES = {
    **test_storage.FILES,
    **test_network.FILES,
    **test_perf.pmus("cpu", "arm_cmn_0", "arm_spe_0"),
    **{f"{DMI}/{name}": text for name, text in test_system.SERVER.items()},
    f"{EVENTS}/cpu/rdpmc": "1",
    f"{EVENTS}/arm_cmn_0/identifier": "43c02",
    f"{HWMON}/hwmon1/name": "coretemp",
    f"{HWMON}/hwmon1/temp1_input": "45000",
    f"{HWMON}/hwmon1/temp1_crit": "100000",
    f"{ZONES}/thermal_zone0/type": "acpitz",
    f"{ZONES}/thermal_zone0/trip_point_0_type": "critical",
    f"{ZONES}/thermal_zone0/trip_point_0_temp": "105000",
    f"{CLOCKS}/current_clocksource": "tsc",
    f"{SECURITY}/lockdown": "[none] integrity",
    f"{SECURITY}/lsm": "yama,apparmor",
    f"{VULNERABILITIES}/mds": "Not affected",
    f"{MM}/hugepages/hugepages-2048kB/nr_hugepages": "1",
    f"{MM}/hugepages/hugepages-2048kB/free_hugepages": "1",
    f"{MM}/transparent_hugepage/defrag": "always [madvise] never",
    f"{NODE}/node0/cpulist": "0-3",
    f"{NODE}/node0/cpumap": "f",
    f"{NODE}/node0/distance": "10",
    f"{NODE}/node0/meminfo": "Node 0 MemTotal: 1024 kB\nNode 0 MemFree: 512 kB",
    f"{NODE}/node0/access0/initiators/read_latency": "100",
    f"{NODE}/node0/access1/initiators/read_bandwidth": "100",
    f"{NODE}/node0/memory_side_cache/index1/size": "1048576",
    f"{NODE}/node1/cpulist": "2-5",
    f"{NODE}/node1/cpumap": "3c",
    "/proc/bus/pci/devices": "0010\t80eebeef\t12\te0000008",
    "/proc/cpuinfo": "processor : 0\nbogomips : 50.0\naddress sizes : 46 bits physical, 48 bits virtual\n",
    "/proc/self/cgroup": "0::/a\n4:cpu,cpuacct:/b",
    "/proc/self/mounts": "cgroup2 /cgroup/unified cgroup2 rw 0 0",
    "/sys/kernel/cpu_byteorder": "little",
    "/proc/cmdline": "ro password=x",
    "/proc/iomem": test_perf.IOMEM,
    "/proc/irq/default_smp_affinity": "f",
    "/proc/loadavg": "0.1 0.2 0.3 1/100 7",
    "/proc/meminfo": test_memory.MEMINFO,
    "/proc/pressure/io": "some avg10=1.5 avg60=0",
    "/proc/self/limits": test_system.LIMITS,
    "/proc/sys/kernel/numa_balancing": "1",
    "/proc/sys/kernel/perf_event_paranoid": "2",
    "/proc/uptime": "1.0 2.0",
    "/sys/devices/platform/ipmi_bmc.0/firmware_revision": "1.2",
    "/sys/firmware/efi/fw_platform_size": "64",
}
SAID = {
    "uname": "aarch64\nh1\n6.8.0\n#1 SMP",
    "id": "0",
    "libc": "glibc 2.36",
    "page-size": "KernelPageSize: 4 kB",
    "hypervisor": "none",
    "container": "none",
    "namespaces": test_system.FIRST,
    "command-line": "ro quiet",
    "kernel-options": test_kernel.OPTIONS,
    "device-tree": "model=Board\ncompatible=a,b c,d",
    "irqbalance": "running",
    "present": "readable /proc/kcore\nthere /dev/mem",
    "memory-devices": "\n".join(one.hex() for one in (array(), raw("DIMM_A1"), raw("DIMM_B1"))),
    "memory-groups": "1073741824 5 7",
    "pci": "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0|0x010802|0x144d|0xa80a|1|5 GT/s|4|||DRIVER=nvme|card0",
    "network-namespace": "first",
    "counters": "... generic registers:      8",
    "tool-perf": "/usr/bin/perf\nperf version 6.8",
    "perf-features": "  dwarf: [ on  ]",
    "df": "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 100 60 40 60% /home",
    **{name: said.text for name, said in (test_storage.COMMANDS | test_network.COMMANDS).items()},
}
ODD = st.sampled_from(
    [
        "",
        " ",
        "-1",
        "4294967295",
        "9" * 40,
        "9" * 5000,
        "0x",
        "nan",
        "\0",
        "\ufffd",
        "٣",
        "²",
        "[",
        "{",
        "a\nb",
        "|||||||||",
    ]
) | st.text(max_size=40)


def test_the_machine_is_known_when_nothing_is_odd() -> None:
    facts = facts_of(Snapshot(FILES, {name: CommandOutput(0, text) for name, text in SAID.items()}), "h", WHEN)
    assert facts.system.product.serial == "GPG1A2712A0001"
    assert facts.memory.channels == 2
    assert facts.block_devices[0].name == "dm-0"
    assert [one.bridges for one in facts.pci] == [["0000:00:01.0"]]
    assert facts.contradictions == ["several NUMA nodes list the same CPUs: 2-3"]
    assert facts.network.namespace == "host"
    assert facts.perf.counters == 8
    assert facts.interconnects[0].name == "CMN-600"
    assert facts.system.command_line == "ro quiet"


def mutated(text: str, data: st.DataObject) -> str:
    cut, end = sorted(data.draw(st.integers(0, len(text))) for _ in range(2))
    middle = data.draw(ODD)
    return data.draw(st.sampled_from([text[:cut], text[cut:], text[:cut] + middle + text[end:], middle]))


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_no_parser_raises(data: st.DataObject) -> None:
    files, said = dict(FILES), {name: CommandOutput(0, text) for name, text in SAID.items()}
    for path in data.draw(st.lists(st.sampled_from(sorted(files)), max_size=15)):
        files[path] = mutated(files[path], data)
    for name in data.draw(st.lists(st.sampled_from(sorted(said)), max_size=6)):
        said[name] = CommandOutput(data.draw(st.sampled_from([0, 0, 1])), mutated(said[name].text, data))
    for path in data.draw(st.sets(st.sampled_from(sorted(files)), max_size=5)):
        del files[path]
    facts = facts_of(Snapshot(files, said, dump=data.draw(st.booleans())), "h", WHEN)
    assert json.loads(facts.model_dump_json(by_alias=True))["schema"] == "asct.facts/1"
    assert "password=x" not in (facts.system.command_line or "")

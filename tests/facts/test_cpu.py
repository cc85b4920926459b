"""Processors described by synthetic files: names, counts, clocks, idle states and limits."""

from __future__ import annotations

import pytest

from asct.facts.caches import cache_size
from asct.facts.cores import cpuinfo
from asct.facts.cpu import Processors, processors
from asct.facts.cpusets import agreed, listed
from asct.facts.snapshot import Snapshot
from asct.facts.sources import CPU
from asct.facts.unknown import UnknownFacts
from asct.sdk.facts import Cpu
from tests.facts import shapes
from tests.facts.lscpu import members
from tests.facts.made import snapshot


def cpu(files: dict[str, str], gaps: UnknownFacts | None = None) -> Cpu:
    return processors(Snapshot(files), gaps or UnknownFacts()).cpu


def made(shape: str) -> Processors:
    return processors(snapshot(shapes.SHAPES[shape]()), UnknownFacts())


def test_offline_cpus_count_as_lscpu_counts_them() -> None:
    found = cpu({f"{CPU}/present": "0-7", f"{CPU}/online": "0-3,6", f"{CPU}/possible": "0-63"})
    assert (found.cpus, found.online, found.offline) == (8, [0, 1, 2, 3, 6], [4, 5, 7])


def test_offline_cpus_have_no_topology() -> None:
    files = {f"{CPU}/online": "0,2"}
    for number, siblings in ((0, "0-1"), (1, "0-1"), (2, "2-3")):
        files[f"{CPU}/cpu{number}/topology/thread_siblings_list"] = siblings
        files[f"{CPU}/cpu{number}/topology/physical_package_id"] = str(number)
    found = cpu(files)
    assert (found.cores, found.threads_per_core, found.sockets) == (2, 1, 2)


def test_without_lists_the_folders_tell_the_cpus() -> None:
    files = {f"{CPU}/cpu0/topology/core_id": "0", f"{CPU}/cpu1/online": "1", f"{CPU}/cpu2/online": "0"}
    found = cpu(files)
    assert (found.cpus, found.online, found.offline) == (3, [0, 1], [2])


def test_without_sysfs_cpuinfo_tells_where_they_are() -> None:
    rows = [(0, 0, 0), (1, 0, 4), (2, 3, 0), (3, 3, 4), (4, 0, 0), (5, 0, 4), (6, 3, 0), (7, 3, 4)]
    info = "\n".join(f"processor : {n}\nphysical id : {package}\ncore id : {core}\n" for n, package, core in rows)
    found = cpu({"/proc/cpuinfo": info})
    assert (found.cpus, found.sockets, found.cores, found.threads_per_core) == (8, 2, 4, 2)
    assert members(found.logical, "core") == {frozenset(pair) for pair in ((0, 4), (1, 5), (2, 6), (3, 7))}


def test_nothing_is_known_of_nothing() -> None:
    gaps = UnknownFacts()
    found = cpu({}, gaps)
    assert found == Cpu()
    reasons = {name.removeprefix("cpu.") for name in gaps.reasons}
    assert {"cpus", "online", "allowed", "vendor", "model", "microarchitecture", "instruction_set", "sockets", "dies",
            "clusters", "cores", "threads_per_core", "sve_bits", "governor", "microcode", "frequency_hz", "policies",
            "boost", "idle_driver", "idle_governor", "idle_states", "smt", "isolated", "nohz_full",
            "quota"} <= reasons  # fmt: skip


@pytest.mark.parametrize("absent", ["-1", "4294967295", "65535"])
def test_numbers_that_stand_for_none(absent: str) -> None:
    files = {f"{CPU}/online": "0-1"}
    for number in (0, 1):
        at = f"{CPU}/cpu{number}/topology"
        files |= {f"{at}/physical_package_id": "0", f"{at}/die_id": absent, f"{at}/cluster_id": absent}
        files |= {f"{at}/core_cpus_list": str(number), f"{at}/core_id": absent}
    gaps = UnknownFacts()
    found = cpu(files, gaps)
    assert (found.sockets, found.dies, found.clusters, found.cores) == (1, None, None, 2)
    assert {"cpu.dies", "cpu.clusters"} <= set(gaps.reasons)


def test_dies_and_clusters_are_counted_in_each_socket() -> None:
    files = {f"{CPU}/online": "0-15"}
    for number in range(16):
        at = f"{CPU}/cpu{number}/topology"
        files |= {f"{at}/physical_package_id": str(number // 8), f"{at}/die_id": str(number // 4 % 2)}
        files |= {f"{at}/cluster_id": str(number // 2 % 4), f"{at}/core_id": str(number % 8)}
    found = cpu(files)
    assert (found.sockets, found.dies, found.clusters, found.cores) == (2, 4, 8, 16)


def test_siblings_that_contradict_the_number_of_the_package() -> None:
    """This occurs with Cluster-on-Die on some Linux kernels, which list only the siblings in the same node."""
    files = {f"{CPU}/online": "0-7"}
    for number in range(8):
        at = f"{CPU}/cpu{number}/topology"
        files[f"{at}/physical_package_id"] = "0"
        files[f"{at}/core_siblings_list"] = "0-3" if number < 4 else "4-7"
    assert cpu(files).sockets == 1


def test_who_most_agree_on() -> None:
    pair, four = frozenset({0, 1}), frozenset({0, 1, 2, 3})
    other = frozenset({2, 3})
    assert agreed({0: pair, 1: four, 2: other, 3: other}) == {0: pair, 1: pair, 2: other, 3: other}
    assert agreed({0: four, 1: four, 2: four, 3: four}) == dict.fromkeys(range(4), four)


def test_cpu0_may_be_offline() -> None:
    files = {f"{CPU}/online": "4-7"}
    for name, value in (("level", "2"), ("type", "Unified"), ("size", "1024K")):
        files[f"{CPU}/cpu4/cache/index2/{name}"] = value
    found = processors(Snapshot(files), UnknownFacts())
    assert [one.size_bytes for one in found.caches] == [1 << 20]
    assert found.cache_levels[0].instances == []


@pytest.mark.parametrize(
    ("text", "size"),
    [("32K", 32768), ("3072K", 3 << 20), ("1M", 1 << 20), ("36608K", 36608 << 10), ("7", 7), ("", None), ("-1K", None),
     ("K", None), ("32 K", None)],
)  # fmt: skip
def test_cache_size(text: str, size: int | None) -> None:
    assert cache_size(text) == size


def test_caches_without_sizes_are_noted() -> None:
    gaps = UnknownFacts()
    files = {f"{CPU}/online": "0", f"{CPU}/cpu0/cache/index0/level": "1", f"{CPU}/cpu0/cache/index0/type": "Data"}
    found = processors(Snapshot(files), gaps)
    assert found.caches == []
    assert [(one.level, one.type, one.size_bytes) for one in found.cache_levels] == [(1, "Data", None)]
    assert {"caches", "cache_levels.L1.Data.size_bytes", "cache_levels.L1.Data.instances"} <= set(gaps.reasons)


def test_caches_of_a_hybrid() -> None:
    found = made("hybrid")
    levels = {(one.level, one.type, one.size_bytes): len(one.instances) for one in found.cache_levels}
    assert levels == {
        (1, "Data", 48 << 10): 6, (1, "Data", 32 << 10): 8, (1, "Instruction", 32 << 10): 6,
        (1, "Instruction", 64 << 10): 8, (2, "Unified", 1280 << 10): 6, (2, "Unified", 2 << 20): 2,
        (3, "Unified", 25600 << 10): 1,
    }  # fmt: skip
    assert [(one.level, one.size_bytes, one.shared_cpus) for one in found.caches if one.type != "Instruction"] == [
        (1, 48 << 10, [0, 1]), (2, 1280 << 10, [0, 1]), (3, 25600 << 10, list(range(20)))
    ]  # fmt: skip


def test_kinds_of_a_hybrid() -> None:
    found = made("hybrid").cpu
    assert [(one.microarchitecture, one.cpus, one.cores, one.threads_per_core) for one in found.kinds] == [
        ("Golden Cove", list(range(12)), 6, 2), ("Gracemont", list(range(12, 20)), 8, 1)
    ]  # fmt: skip
    assert (found.microarchitecture, found.cores, found.threads_per_core) == ("Alder Lake", 14, 2)
    assert found.kinds[0].identity == {"family": 6, "model": 151, "stepping": 2}


def test_caches_that_only_cpuinfo_of_s390_has() -> None:
    gaps = UnknownFacts()
    found = processors(snapshot(shapes.s390()), gaps)
    shared = [(one.level, one.type, one.size_bytes, one.ways) for one in found.cache_levels if not one.instances]
    assert shared == [(3, "Unified", 128 << 20, 32), (4, "Unified", 672 << 20, 42)]
    assert "cache_levels.L3.Unified.instances" in gaps.reasons
    assert (found.cpu.model, found.cpu.microarchitecture, found.cpu.vendor) == ("IBM 3906", "z14", "IBM/S390")
    assert found.cpu.frequency_hz == 5208e6
    assert found.cpu.flags == ["esan3", "zarch", "stfle", "msa"]


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("power", ("IBM", "POWER9, altivec supported", "POWER9", "Power ISA v3.0", 3.8e9)),
        (
            "power_without_numbers",
            ("IBM", "POWER7 (architected), altivec supported", "POWER7", "Power ISA v2.06", None),
        ),
        ("loongarch", ("Loongson", "Loongson-3C6000/S", "LA664", "loongarch64", 2.2e9)),
        ("arm_server", ("ARM", "Neoverse-N1", "Neoverse-N1", "ARMv8.2-A", None)),
        ("holes", ("GenuineIntel", "Intel(R) Xeon(R)", "Sapphire Rapids", None, None)),
    ],
)
def test_names(shape: str, expected: tuple[object, ...]) -> None:
    found = made(shape).cpu
    assert (found.vendor, found.model, found.microarchitecture, found.instruction_set, found.frequency_hz) == expected


def test_kinds_by_the_register_that_sysfs_shows() -> None:
    """If sysfs shows the register of each CPU, names do not come from /proc/cpuinfo, and revisions are
    distinguished."""
    files = {f"{CPU}/online": "0-3", "/proc/cpuinfo": "processor : 0\nCPU implementer : 0x41\nCPU part : 0xd05\n"}
    for number, midr in enumerate(("0x412fd050", "0x412fd050", "0x413fd0b0", "0x414fd0b1")):
        files[f"{CPU}/cpu{number}/regs/identification/midr_el1"] = f"0x00000000{midr[2:]}"
        files[f"{CPU}/cpu{number}/cpu_capacity"] = str(400 if number < 2 else 1024)
    found = cpu(files)
    assert [(one.model, one.cpus, one.capacity) for one in found.kinds] == [
        ("Cortex-A55", [0, 1], 400), ("Cortex-A76", [2], 1024), ("Cortex-A76", [3], 1024)
    ]  # fmt: skip
    assert found.kinds[2].identity == {"implementer": 0x41, "variant": 4, "part": 0xD0B, "revision": 1}
    assert (found.microarchitecture, found.instruction_set) == ("Cortex-A55, Cortex-A76", "ARMv8.2-A")


def test_kinds_by_their_capacity_alone() -> None:
    files = {f"{CPU}/online": "0-3"} | {f"{CPU}/cpu{n}/cpu_capacity": str(512 << n // 2) for n in range(4)}
    assert [(one.cpus, one.capacity, one.identity) for one in cpu(files).kinds] == [
        ([0, 1], 512, {}),
        ([2, 3], 1024, {}),
    ]


def test_a_cpu_whose_block_is_cut_off_is_of_no_known_kind() -> None:
    whole = "processor : {}\nCPU implementer : 0x41\nCPU part : 0xd0c\n\n"
    info = whole.format(0) + whole.format(1) + "processor : 2\nCPU impl"
    found = cpu({"/proc/cpuinfo": info, f"{CPU}/online": "0-2"})
    assert [(one.model, one.cpus) for one in found.kinds] == [("Neoverse-N1", [0, 1]), (None, [2])]


def test_what_old_kernels_print_once_holds_for_all() -> None:
    text = "Processor : ARMv7 rev 1\nprocessor : 0\nBogoMIPS : 1\n\nprocessor : 1\nBogoMIPS : 2\n\nCPU part : 0xc09\n"
    info = cpuinfo(text)
    assert (info.of(0)["CPU part"], info.of(1)["CPU part"]) == ("0xc09", "0xc09")
    assert (info.of(0)["BogoMIPS"], info.of(1)["BogoMIPS"], "BogoMIPS" in info.of(2)) == ("1", "2", False)


def test_the_revision_of_microcode_where_the_kernel_prints_it() -> None:
    gaps = UnknownFacts()
    assert cpu({"/proc/cpuinfo": "model name : X\nmicrocode : 0x2b000571\n"}, gaps).microcode == "0x2b000571"
    assert "cpu.microcode" not in gaps.reasons
    assert cpu({"/proc/cpuinfo": "CPU part : 0xd0c\n"}, gaps).microcode is None
    assert "cpu.microcode" in gaps.absent
    assert cpu({"/proc/cpuinfo": "flags : fpu\n"}, gaps).microcode is None
    assert "cpu.microcode" in gaps.reasons


def policy(number: int, **values: str) -> dict[str, str]:
    return {f"{CPU}/cpufreq/policy{number}/{name}": value for name, value in values.items()}


def test_governors_that_differ_are_all_named() -> None:
    files = policy(0, scaling_governor="powersave") | policy(4, scaling_governor="performance")
    assert cpu(files).governor == "performance, powersave"


def test_policies() -> None:
    files = {f"{CPU}/online": "0-3", f"{CPU}/cpu0/acpi_cppc/nominal_freq": "2600"}
    files |= policy(0, affected_cpus="0 1", scaling_driver="acpi-cpufreq", scaling_governor="ondemand",
                    cpuinfo_min_freq="800000", cpuinfo_max_freq="3500000", scaling_min_freq="1000000",
                    scaling_max_freq="3000000", scaling_cur_freq="<unknown>")  # fmt: skip
    files |= policy(2, affected_cpus="2 3", scaling_driver="intel_pstate", base_frequency="2100000",
                    energy_performance_preference="performance", scaling_governor="<unknown>")  # fmt: skip
    files |= policy(5, affected_cpus="")
    first, second = cpu(files).policies
    assert (first.cpus, first.driver, first.lowest_hz, first.highest_hz) == ([0, 1], "acpi-cpufreq", 8e8, 3.5e9)
    assert (first.min_hz, first.max_hz, first.current_hz, first.base_hz) == (1e9, 3e9, None, 2.6e9)
    assert (second.cpus, second.base_hz, second.energy_preference) == ([2, 3], 2.1e9, "performance")
    assert second.governor is None
    assert cpu(files).frequency_hz == 3.5e9


def test_a_policy_is_one_whichever_way_it_is_reached() -> None:
    below = {f"{CPU}/cpu{n}/cpufreq/{name}": value for n in (0, 1)
             for name, value in (("affected_cpus", "0 1"), ("scaling_governor", "performance"))}  # fmt: skip
    files = {f"{CPU}/online": "0-1", **below, **policy(0, scaling_cur_freq="1200000")}
    [only] = cpu(files).policies
    assert (only.cpus, only.governor, only.current_hz) == ([0, 1], "performance", 1.2e9)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpufreq/boost": "1"}, True), ({"cpufreq/boost": "0"}, False), ({"intel_pstate/no_turbo": "1"}, False),
        ({"intel_pstate/no_turbo": "0"}, True), ({"cpufreq/policy0/boost": "0", "cpufreq/policy1/boost": "1"}, True),
        ({"cpu0/cpufreq/cpb": "0"}, False), ({"cpu0/cpufreq/cpb": "x"}, None), ({}, None),
    ],
)  # fmt: skip
def test_boost(files: dict[str, str], expected: bool | None) -> None:
    gaps = UnknownFacts()
    at = {f"{CPU}/{name}": text for name, text in files.items()} | {f"{CPU}/online": "0"}
    assert cpu(at, gaps).boost is expected
    assert ("cpu.boost" in gaps.reasons) == (expected is None)


def test_idle_states() -> None:
    files = {f"{CPU}/online": "0-2", f"{CPU}/cpuidle/current_driver": "intel_idle"}
    files[f"{CPU}/cpuidle/current_governor_ro"] = "menu"
    for state, (name, latency) in enumerate((("POLL", "0"), ("C1E", "10"), ("C6", "133"), ("C10", "900"))):
        at = f"cpuidle/state{state}"
        files |= {f"{CPU}/cpu0/{at}/name": name, f"{CPU}/cpu0/{at}/latency": latency}
        files |= {f"{CPU}/cpu0/{at}/desc": f"MWAIT {state}", f"{CPU}/cpu0/{at}/residency": str(state * 20)}
        files |= {f"{CPU}/cpu{cpu}/{at}/disable": str(int(state == 2 and cpu != 1)) for cpu in range(3)}
    found = cpu(files)
    assert (found.idle_driver, found.idle_governor) == ("intel_idle", "menu")
    assert [one.name for one in found.idle_states] == ["POLL", "C1E", "C6", "C10"]
    assert [one.disabled_cpus for one in found.idle_states] == [[], [], [0, 2], []]
    assert (found.idle_states[2].latency_us, found.idle_states[2].residency_us) == (133, 40)
    assert found.idle_states[2].description == "MWAIT 2"


def test_no_idle_driver() -> None:
    gaps = UnknownFacts()
    assert cpu({f"{CPU}/cpuidle/current_driver": "none"}, gaps).idle_driver is None
    assert gaps.absent["cpu.idle_driver"] == "the Linux kernel has no cpuidle driver or governor"


@pytest.mark.parametrize(
    ("flags", "length", "expected"),
    [("fp sve", "64", 512), ("fp sve", "16", 128), ("fp sve", None, None), ("fp", "64", None), ("fp sve", "x", None)],
)
def test_sve(flags: str, length: str | None, expected: int | None) -> None:
    gaps = UnknownFacts()
    files = {"/proc/cpuinfo": f"processor : 0\nFeatures : {flags}\nCPU implementer : 0x46\nCPU part : 0x001\n"}
    if length is not None:
        files["/proc/sys/abi/sve_default_vector_length"] = length
    assert cpu(files, gaps).sve_bits == expected
    told = gaps.reasons if "sve" in flags else gaps.absent
    assert ("cpu.sve_bits" in told) == (expected is None)


def test_what_the_kernel_was_told_to_keep_apart() -> None:
    files = {f"{CPU}/isolated": "2-3", f"{CPU}/nohz_full": "  (null)", f"{CPU}/smt/control": "off"}
    gaps = UnknownFacts()
    found = cpu({**files, f"{CPU}/smt/active": "0"}, gaps)
    assert (found.isolated, found.nohz_full, found.smt, found.smt_active) == ([2, 3], [], "off", False)
    assert not {"cpu.isolated", "cpu.nohz_full", "cpu.smt"} & set(gaps.reasons)


@pytest.mark.parametrize("text", ["0-4294967295", "3-1", "-1", "x", "0,70000", "\u0663"])
def test_odd_lists_are_none(text: str) -> None:
    assert listed(text) is None

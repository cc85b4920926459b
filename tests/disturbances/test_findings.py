"""Disturbances in synthetic facts: each is found if it is present, and none is found if it is absent or unknown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asct.disturbances import RULES, assess
from asct.disturbances.build import MeasuredScope, descriptions
from asct.disturbances.cpus import mask
from asct.disturbances.sample import ActivitySample, BusyProcess
from asct.registry import installed
from asct.sdk.disturbance import CERTAINTIES, Disturbance, Disturbances, subjects
from asct.sdk.facts import BlockDevice, CoreKind, HostFacts, HugePages, IdleState, Load, Perf, Thermal
from tests.disturbances.made import (
    CPUS,
    EVERY,
    GIB,
    MOUNTS,
    SAMPLE,
    disturbed,
    drive,
    policy,
    quiet,
    with_cpu,
    with_memory,
    with_system,
)


def names(facts: HostFacts, sample: ActivitySample | None = None, scope: MeasuredScope | None = None) -> list[str]:
    return [item.name for item in assess(facts, sample, scope).findings]


def one(facts: HostFacts, sample: ActivitySample | None = None, scope: MeasuredScope | None = None) -> Disturbance:
    (found,) = assess(facts, sample, scope).findings
    return found


def test_a_quiet_host_has_no_findings() -> None:
    found = assess(quiet(), ActivitySample(busy=dict.fromkeys(CPUS, 0.01), steal=dict.fromkeys(CPUS, 0.0), throttled=0))
    assert (found.findings, found.unseen) == ([], [])


def test_everything_at_once() -> None:
    scope = MeasuredScope(("/dev/nvme0n1",), {"/dev/nvme0n1": "nvme0n1"}, ("fio", "mpstat"))
    facts = disturbed()
    facts = facts.model_copy(update={"block_devices": [one.model_copy(update={"mounted_at": ["/"]})
                                                       for one in facts.block_devices]})  # fmt: skip
    found = assess(facts, SAMPLE, scope)
    assert {item.name for item in found.findings} == EVERY
    assert len(found.findings) == len(EVERY), "each is told once"
    sure = [CERTAINTIES.index(item.sure) for item in found.findings]
    assert sure == sorted(sure), "the surest first"
    for item in found.findings:
        assert item.seen and item.effect and item.why and item.source
        assert item.fix or item.advice, f"{item.name} has a way out"
        assert bool(item.fix) >= item.scripted
        assert not any("sudo" in line for line in [*item.fix, *item.undo])
    assert Disturbances.model_validate_json(found.model_dump_json(by_alias=True)) == found


def test_each_rule_is_described() -> None:
    assert sorted(rule.key for rule in RULES) == sorted(descriptions())


def test_nothing_is_known_and_nothing_is_guessed() -> None:
    bare = HostFacts(host="h", collected_at="now")
    assert names(bare) == ["no-fio", "no-mpstat"], "programs are looked for, so that a missing one is known"
    assert assess(bare, scope=MeasuredScope()).findings == []


def test_what_could_not_be_judged_says_why() -> None:
    facts = HostFacts(
        host="h",
        collected_at="now",
        unknown={"cpu.governor": "no cpufreq in this guest", "memory.thp": "the kernel has none", "cpu.model": "x"},
    )
    told = {item.what: item.why for item in assess(facts).unseen}
    assert told == {
        "the frequency governor": "no cpufreq in this guest",
        "transparent huge pages": "the kernel has none",
    }


@pytest.mark.parametrize(
    ("governor", "driver", "sure"),
    [
        ("performance", "acpi-cpufreq", None),
        ("powersave", "acpi-cpufreq", "certain"),
        ("powersave", "cppc_cpufreq", "certain"),
        ("powersave", "intel_pstate", "possible"),
        ("powersave", "amd-pstate-epp", "possible"),
        ("schedutil", "intel_cpufreq", "likely"),
        ("ondemand", "acpi-cpufreq", "likely"),
        ("userspace", "acpi-cpufreq", "possible"),
    ],
)
def test_governors(governor: str, driver: str, sure: str | None) -> None:
    facts = with_cpu(policies=[policy(cpu, governor, driver=driver) for cpu in CPUS])
    found = assess(facts).findings
    assert [item.sure for item in found] == ([sure] if sure else [])


def test_the_undo_of_a_governor_restores_each_cpu() -> None:
    policies = [*[policy(cpu, "schedutil") for cpu in (0, 1, 2)], policy(3), policy(7, "ondemand")]
    found = one(with_cpu(policies=policies))
    file = "/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor"
    assert (found.title, found.seen) == (
        "governor ondemand, schedutil",
        "CPU 0-2,7: ondemand, schedutil (driver acpi-cpufreq)",
    )
    assert found.fix == [
        "for n in $(seq 0 2); do", f"  echo performance >{file.format('$n')}", "done",
        f"echo performance >{file.format(7)}",
    ]  # fmt: skip
    assert found.undo == [
        "for n in $(seq 0 2); do", f"  echo schedutil >{file.format('$n')}", "done",
        f"echo ondemand >{file.format(7)}",
    ]  # fmt: skip


def test_a_clock_that_is_held_down() -> None:
    held = [policy(0, max_hz=2e9), policy(1, max_hz=3.39e9), policy(2, max_hz=1.2e9, highest_hz=2e9)]
    found = one(with_cpu(policies=held))
    assert (found.name, found.title) == ("clock-limit", "clock limited to 2 GHz of 3.4 GHz")
    assert [(item.value, item.was, item.numbers) for item in found.settings] == [
        ("3400000", "2000000", [0]), ("2000000", "1200000", [2]),
    ]  # fmt: skip


def test_boost_is_switched_off_where_its_driver_has_it() -> None:
    assert one(with_cpu(boost=True)).fix == ["echo 0 >/sys/devices/system/cpu/cpufreq/boost"]
    intel = with_cpu(boost=True, policies=[policy(0, driver="intel_pstate")])
    assert (one(intel).fix, one(intel).undo) == (
        ["echo 1 >/sys/devices/system/cpu/intel_pstate/no_turbo"],
        ["echo 0 >/sys/devices/system/cpu/intel_pstate/no_turbo"],
    )


def test_idle_states_that_are_off_already_are_left_alone() -> None:
    states = [
        IdleState(name="POLL", latency_us=0),
        IdleState(name="C1", latency_us=9),
        IdleState(name="C6", latency_us=133, disabled_cpus=[0, 1, 2]),
        IdleState(name="C8", latency_us=300, disabled_cpus=CPUS),
    ]
    (setting,) = one(with_cpu(idle_states=states)).settings
    assert (setting.path, setting.was, setting.numbers) == (
        "/sys/devices/system/cpu/cpu{}/cpuidle/state2/disable", "0", [3, 4, 5, 6, 7],
    )  # fmt: skip


def test_states_of_mixed_cores_are_left_to_a_program_that_knows_them() -> None:
    states = [IdleState(name="POLL", latency_us=0), IdleState(name="C10", latency_us=300)]
    found = one(with_cpu(idle_states=states, kinds=[CoreKind(cpus=[0, 1]), CoreKind(cpus=[2, 3])]))
    assert (found.fix, found.scripted) == ([], False) and "cpupower idle-set -D 10" in found.advice


@pytest.mark.parametrize(
    ("load", "told"),
    [
        ({"load1": 9.0, "cpu_pressure_avg10": 2.0}, None),  # pressure is of now, the load average lags behind
        ({"load1": 0.1, "cpu_pressure_avg10": 34.8}, ("certain", "35 % of the last ten seconds")),
        ({"load1": 8.3}, ("likely", "load average 8.3 on 8 CPUs")),
        ({"load1": 7.9}, None),
        ({}, None),
    ],
)
def test_a_busy_host(load: dict[str, float], told: tuple[str, str] | None) -> None:
    found = assess(quiet(load=Load(**load))).findings
    assert [item.name for item in found] == (["busy"] if told else [])
    if told:
        assert (found[0].sure, found[0].touches) == (told[0], ["*"])
        assert told[1] in found[0].seen


def test_a_sample_shows_busy_cpus_and_their_siblings() -> None:
    sample = ActivitySample(busy={**dict.fromkeys(CPUS, 0.05), 1: 0.45, 2: 0.3, 6: 0.9}, running=3)
    busy, siblings = assess(quiet(), sample).findings
    assert (busy.name, siblings.name) == ("busy", "smt-siblings")
    assert (
        busy.seen
        == "CPU 1-2,6 was busy with other processes, for up to 90 % of a one-second sample; 3 other tasks were runnable"
        "; this account cannot see the processes (another container, or hidepid)"
    )
    assert siblings.seen.endswith(": CPU 5"), "2 and 6 are one core, both busy; 1 shares with 5"
    assert siblings.fix == ["echo off >/sys/devices/system/cpu/smt/control"]
    off = assess(with_cpu(smt="notsupported"), sample).findings[1]
    assert (off.fix, off.scripted, off.advice.split(",")[0]) == ([], False, "measure when the machine is idle")


def test_steal_interrupts_and_throttling_need_two_looks() -> None:
    assert names(quiet(), ActivitySample(steal={0: 0.0, 1: 0.019})) == []
    assert one(quiet(), ActivitySample(steal={0: 0.0, 1: 0.04})).title == "2 % of the CPU time stolen"
    assert one(quiet(), ActivitySample(interrupts={3: 12_000.0, 4: 999.0})).seen.startswith("CPU 3: up to 12,000 ")
    assert one(quiet(), ActivitySample(throttled=2)).sure == "certain"


def test_heat_and_pressure() -> None:
    near = one(quiet(thermal=[Thermal(name="nvme", celsius=76, critical_celsius=84), Thermal(name="x", celsius=99)]))
    assert (near.name, near.sure, near.seen) == ("heat", "likely", "nvme 76 °C (limit 84 °C)")
    assert names(quiet(load=Load(load1=0, io_pressure_avg10=12.0, memory_pressure_avg10=0.5))) == ["io-pressure"]
    assert names(quiet(load=Load(load1=0, memory_pressure_avg10=1.5))) == ["memory-pressure"]
    assert names(quiet(), ActivitySample(pressure={"io": 0.2})) == ["io-pressure"]


@pytest.mark.parametrize(
    ("fields", "name", "undo"),
    [
        ({"thp": "always"}, "transparent-huge-pages", "echo always >/sys/kernel/mm/transparent_hugepage/enabled"),
        ({"thp": "never"}, "transparent-huge-pages", "echo never >/sys/kernel/mm/transparent_hugepage/enabled"),
        ({"numa_balancing_mode": 2}, "numa-balancing", "echo 2 >/proc/sys/kernel/numa_balancing"),
        ({"zone_reclaim": 7}, "zone-reclaim", "echo 7 >/proc/sys/vm/zone_reclaim_mode"),
        ({"swap_total_bytes": GIB, "swap_free_bytes": GIB}, "swap", "echo 60 >/proc/sys/vm/swappiness"),
    ],
)
def test_memory_settings(fields: dict[str, Any], name: str, undo: str) -> None:
    found = one(with_memory(**fields))
    assert (found.name, found.undo) == (name, [undo])


def test_the_busiest_processes_are_named() -> None:
    shares = {"fio": 1.6, "cc1plus": 0.9, "odd\x1b[2J": 0.3, "sshd": 0.06, "idle": 0.04}
    processes = tuple(BusyProcess(100 + at, name, share) for at, (name, share) in enumerate(shares.items()))
    busy = assess(quiet(), ActivitySample(busy=dict.fromkeys(CPUS, 0.9), processes=processes)).findings[0]
    assert busy.seen.endswith(
        "; busiest: fio (pid 100, 160 %), cc1plus (pid 101, 90 %), odd\ufffd[2J (pid 102, 30 %) and 1 more"
    )


def test_processes_are_not_named_while_the_cpus_are_idle() -> None:
    sample = ActivitySample(busy=dict.fromkeys(CPUS, 0.01), processes=(BusyProcess(7, "fio", 0.08),))
    assert assess(quiet(), sample).findings == []


def test_fixed_addresses_are_reported_and_the_fix_randomizes_them() -> None:
    found = one(with_memory(address_randomization=0))
    assert (found.name, found.sure, found.touches) == ("address-layout", "possible", ["memory"])
    assert found.fix == ["echo 2 >/proc/sys/kernel/randomize_va_space"]
    assert found.undo == ["echo 0 >/proc/sys/kernel/randomize_va_space"]
    for value in (1, 2, None):
        assert names(with_memory(address_randomization=value)) == []


@pytest.mark.parametrize(
    ("free", "seen", "why"),
    [
        (GIB, "none of 1 GiB swap is in use", "the Linux kernel may swap during a measurement"),
        (
            GIB - (20 << 20),
            "20 MiB of 1 GiB swap is in use",
            "the Linux kernel may swap during a measurement, but such a small amount is normal: "
            "idle daemons are swapped out",
        ),
        (GIB // 2, "512 MiB of 1 GiB swap is in use", "the host was short of memory at some point in the past"),
    ],
)
def test_what_is_said_of_swap_does_not_contradict_itself(free: int, seen: str, why: str) -> None:
    found = one(with_memory(swap_total_bytes=GIB, swap_free_bytes=free, swappiness=60))
    assert found.seen == f"{seen}, and vm.swappiness is 60" and found.why == why


def test_swap_whose_use_is_unknown_is_not_called_unused() -> None:
    facts = with_memory(swap_total_bytes=GIB, swap_free_bytes=None, swappiness=60)
    facts = facts.model_copy(update={"unknown": {"memory.swap_free_bytes": "not reported"}})
    said = assess(facts)
    assert said.findings == [] and [item.what for item in said.unseen] == ["swap usage"]


def test_swap_that_is_not_used() -> None:
    assert names(with_memory(swap_total_bytes=GIB, swap_free_bytes=GIB, swappiness=1)) == []
    used = one(with_memory(swap_total_bytes=GIB, swap_free_bytes=GIB // 2, swappiness=0))
    assert (used.sure, used.scripted, used.title) == ("likely", False, "512 MiB swapped out")


def test_balancing_needs_two_nodes() -> None:
    alone = with_memory(numa_balancing_mode=1)
    assert names(alone.model_copy(update={"nodes": alone.nodes[:1]})) == []


def test_huge_pages_are_missed_by_accounts_that_cannot_reserve_them() -> None:
    facts = with_memory(huge_pages=[HugePages(page_bytes=2 << 20, total=40, free=12)])
    assert names(facts) == [], "root reserves its own"
    found = one(facts.model_copy(update={"system": with_system(uid=1000).system}))
    assert (found.name, found.settings[0].value, found.settings[0].was) == ("huge-pages", "540", "40")
    enough = [HugePages(page_bytes=2 << 20, total=0, free=0), HugePages(page_bytes=GIB, total=2, free=1)]
    assert names(facts.model_copy(update={"system": with_system(uid=1000).system,
                                          "memory": with_memory(huge_pages=enough).memory})) == []  # fmt: skip


def test_limits() -> None:
    assert (one(with_cpu(quota=2.5)).title, names(with_cpu(quota=8.0))) == ("CPU time limited to 2.5 CPUs", [])
    assert one(with_cpu(allowed=[0, 1, 2, 3])).seen == "the account is not permitted to use CPU 4-7"
    assert names(with_cpu(allowed=CPUS[:6], isolated=[6, 7])) == [], "isolated CPUs are left out on purpose"
    assert one(with_memory(limit_bytes=8 * GIB)).name == "memory-limit"
    assert names(with_memory(limit_bytes=64 * GIB)) == []


def test_interrupts() -> None:
    assert one(with_system(irqbalance=True)).undo == ["systemctl start irqbalance"]
    facts = with_system(irq_default_affinity=CPUS)
    isolated = facts.model_copy(update={"cpu": facts.cpu.model_copy(update={"isolated": [6, 7]})})
    assert (one(isolated).fix, one(isolated).undo) == (
        ["echo 0000003f >/proc/irq/default_smp_affinity"],
        ["echo 000000ff >/proc/irq/default_smp_affinity"],
    )
    assert names(facts) == []
    assert (mask([0, 32]), mask([64]), mask([])) == ("00000001,00000001", "00000001,00000000,00000000", "00000000")


def test_a_slow_clock() -> None:
    assert one(with_system(clock_source="hpet", clock_sources=["hpet", "tsc"])).fix == [
        "echo tsc >/sys/devices/system/clocksource/clocksource0/current_clocksource"
    ]
    alone = one(with_system(clock_source="acpi_pm", clock_sources=["acpi_pm"]))
    assert not alone.fix and "dmesg" in alone.advice
    for good in ("tsc", "kvm-clock", "arch_sys_counter", "xen", "timebase", "tod"):
        assert names(with_system(clock_source=good)) == []


def test_storage() -> None:
    assert one(with_memory(dirty_bytes=64 << 20)).fix == ["sync"]
    assert one(quiet(io_uring=False, io_uring_disabled=1)).undo == ["echo 1 >/proc/sys/kernel/io_uring_disabled"]
    seccomp = one(quiet(io_uring=False, io_uring_disabled=None))
    assert not seccomp.scripted and "seccomp" in seccomp.advice
    assert one(quiet(work_filesystem="tmpfs")).sure == "certain"
    assert one(quiet(block_devices=[drive(scheduler="bfq")])).undo == ["echo bfq >/sys/block/nvme0n1/queue/scheduler"]
    odd = one(quiet(block_devices=[drive(scheduler="bfq").model_copy(update={"name": "../../etc/passwd"})]))
    assert odd.settings == [], "a path is made of names of devices only"
    assert names(quiet(block_devices=[drive(scheduler="mq-deadline")])) == []
    assert names(quiet(perf=Perf(paranoid=3))) == [], "root counts all the same"


def test_only_the_drives_below_the_measured_paths_count() -> None:
    slow = {"scheduler": "bfq"}
    devices = [
        drive(**slow),
        BlockDevice(name="nvme0n1p1", kind="partition", parent="nvme0n1", mounted_at=["/"]),
        BlockDevice(name="dm-0", kind="dm", mapper_name="vg-srv"),
        BlockDevice(name="sda", kind="disk", rotational=False, holders=["md0"], scheduler="kyber"),
        BlockDevice(name="sdb", kind="disk", rotational=False, holders=["md0"], **slow),
        BlockDevice(name="md0", kind="md", holders=["dm-0"]),
        BlockDevice(name="sdc", kind="disk", rotational=True, **slow),
    ]
    facts = quiet(block_devices=devices, mounts=MOUNTS)
    assert one(facts).seen == "nvme0n1: bfq, sdb: bfq"
    assert one(facts, scope=MeasuredScope(("/srv/x/file",))).seen == "sdb: bfq", "through LVM and md to its disks"
    assert one(facts, scope=MeasuredScope(("/var/tmp/asct",))).seen == "nvme0n1: bfq"
    assert names(facts, scope=MeasuredScope(("/dev/sdc",), {"/dev/sdc": "sdc"})) == []
    assert names(facts, scope=MeasuredScope(("/tmp/file",))) == ["memory-file-system"]
    mounted, scheduler = assess(facts, scope=MeasuredScope(("/dev/nvme0n1",), {"/dev/nvme0n1": "nvme0n1"})).findings
    assert (mounted.name, mounted.seen) == ("mounted-target", "/dev/nvme0n1 (nvme0n1) is mounted at /")
    assert scheduler.name == "io-scheduler"


def test_devices_that_hold_one_another_end() -> None:
    ring = [BlockDevice(name=a, kind="dm", holders=[b]) for a, b in (("dm-0", "dm-1"), ("dm-1", "dm-0"))]
    assert names(quiet(block_devices=ring), scope=MeasuredScope(("/dev/dm-0",), {"/dev/dm-0": "dm-0"})) == []


def test_tools_in_the_scope() -> None:
    assert names(quiet(tools={}), scope=MeasuredScope()) == []
    assert one(quiet(tools={}), scope=MeasuredScope(tools=("mpstat", "sh"))).fix == ["apt-get install sysstat"]


def test_subjects_of_the_benchmarks() -> None:
    found = {item.name: subjects(item) for item in installed().all()}
    assert {"memory.latency", "memory"} <= found["latency-sweep"] and "memory.bandwidth" not in found["latency-sweep"]
    assert {"memory.bandwidth", "memory"} <= found["peak-bandwidth"]
    for name, words in found.items():
        if name.startswith("storage-"):
            assert {"storage", "storage.latency"} <= words and "memory" not in words, name
    assert all("*" in words for words in found.values())


def test_every_benchmark_belongs_to_a_family() -> None:
    """A benchmark that belonged to no family would never be told what disturbs it."""
    lost = [item.name for item in installed().all() if not item.hidden and subjects(item) == {"*"}]
    assert lost == []


@given(st.lists(st.integers(0, 700), unique=True))
def test_a_mask_is_read_back(cpus: list[int]) -> None:
    bits = int(mask(cpus).replace(",", ""), 16)
    assert [cpu for cpu in range(701) if bits >> cpu & 1] == sorted(cpus)


def test_a_mount_point_of_a_host_is_one_word_of_the_command() -> None:
    """Unprivileged accounts can choose any name for the mount points of FUSE, and root may copy the command."""
    place = "/mnt/a; touch pwned $(id)"
    facts = quiet(block_devices=[BlockDevice(name="sda", kind="disk", mounted_at=[place, "/srv"])])
    [found] = assess(facts, scope=MeasuredScope(("/dev/sda",), {"/dev/sda": "sda"})).findings
    assert f" umount '{place}' /srv, " in found.advice

"""Processors: what they are, how they hang together, how fast they run, what an account may use of them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from asct.sdk.facts.base import Fact

CacheType = Literal["Data", "Instruction", "Unified"]


class Cache(Fact):
    """One cache as CPU 0 (or the first online CPU) sees it. Sizes in bytes."""

    level: int
    type: CacheType
    size_bytes: int
    line_bytes: int | None = None
    ways: int | None = None
    shared_cpus: list[int] = Field(default_factory=list)


class CacheLevel(Fact):
    """All identical caches of a machine: one entry of `instances` for each, the online CPUs that share it; none
    where the kernel does not tell who does. Sizes in bytes, null where it does not tell them."""

    level: int
    type: CacheType
    size_bytes: int | None = None
    line_bytes: int | None = None
    ways: int | None = None
    sets: int | None = None
    instances: list[list[int]] = Field(default_factory=list)


class LogicalCpu(Fact):
    """The place of an online CPU in the topology. `core`, `cluster`, `die` and `socket` count from 0 over the whole
    machine, in the order of their first CPU; `kind` is the index into Cpu.kinds."""

    cpu: int
    core: int | None = None
    cluster: int | None = None
    die: int | None = None
    socket: int | None = None
    node: int | None = None
    kind: int | None = None


class CoreKind(Fact):
    """Cores of one design: one entry on most machines, several on big.LITTLE and hybrid ones.

    `identity` has the numbers that the name comes from: implementer, variant, part, revision (Arm, MIDR_EL1); family,
    model, stepping (x86). `capacity` is the kernel's cpu_capacity, 1024 for the fastest.
    """

    microarchitecture: str | None = None
    model: str | None = None
    vendor: str | None = None
    identity: dict[str, int] = Field(default_factory=dict)
    cpus: list[int] = Field(default_factory=list)
    cores: int | None = None
    threads_per_core: int | None = None
    min_hz: float | None = None
    max_hz: float | None = None
    capacity: int | None = None


class FrequencyPolicy(Fact):
    """CPUs that change their clock together (Documentation/admin-guide/pm/cpufreq.rst). Clocks in Hz.

    `lowest_hz` and `highest_hz` are what the hardware can, `min_hz` and `max_hz` what is asked for. `current_hz` is
    the clock when the facts were read; of x86 the median of its CPUs, from /proc/cpuinfo.
    """

    cpus: list[int]
    driver: str | None = None
    governor: str | None = None
    lowest_hz: float | None = None
    highest_hz: float | None = None
    base_hz: float | None = None
    min_hz: float | None = None
    max_hz: float | None = None
    current_hz: float | None = None
    energy_preference: str | None = None


class IdleState(Fact):
    """A state that idle CPUs may go to; `latency_us` is the time to come back. `disabled_cpus` may not use it."""

    name: str
    description: str | None = None
    latency_us: int | None = None
    residency_us: int | None = None
    disabled_cpus: list[int] = Field(default_factory=list)


class Cpu(Fact):
    """`cpus` is lscpu's CPU(s); `allowed` is the affinity mask of the account that asct runs under; `microcode` the
    revision that the kernel prints, of x86 only. `frequency_hz` is the highest clock of the first CPU. `vendor` and
    `model` are those of the first CPU; where `kinds` differ, `microarchitecture` and `instruction_set` name each once.

    `instruction_set` is the version that the core's manual gives (`ARMv8.2-A`), the lowest that the features allow
    (`ARMv8.4-A or later`), a level of the psABI (`x86-64-v3`), or the string of RISC-V. `sve_bits` is the length of the
    vectors of SVE in a new process: the kernel's default, of which the hardware may have more.

    `quota` is what control groups allow, in CPUs (2.5); null where nothing is limited. `boost` is whether clocks above
    the nominal one may be used. `isolated` and `nohz_full` as the kernel lists them; `smt` as
    /sys/devices/system/cpu/smt/control has it, `smt_active` whether cores run several threads now.
    """

    cpus: int | None = None
    online: list[int] = Field(default_factory=list)
    offline: list[int] = Field(default_factory=list)
    allowed: list[int] = Field(default_factory=list)
    model: str | None = None
    vendor: str | None = None
    microarchitecture: str | None = None
    instruction_set: str | None = None
    sockets: int | None = None
    dies: int | None = None
    clusters: int | None = None
    cores: int | None = None
    threads_per_core: int | None = None
    kinds: list[CoreKind] = Field(default_factory=list)
    logical: list[LogicalCpu] = Field(default_factory=list)
    flags: list[str] = Field(default_factory=list)
    sve_bits: int | None = None
    governor: str | None = None
    microcode: str | None = None
    frequency_hz: float | None = None
    policies: list[FrequencyPolicy] = Field(default_factory=list)
    boost: bool | None = None
    idle_driver: str | None = None
    idle_governor: str | None = None
    idle_states: list[IdleState] = Field(default_factory=list)
    smt: str | None = None
    smt_active: bool | None = None
    isolated: list[int] = Field(default_factory=list)
    nohz_full: list[int] = Field(default_factory=list)
    quota: float | None = None

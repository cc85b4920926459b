"""The machine as a whole: maker, firmware, kernel, account, what it runs in, what may be observed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from asct.sdk.facts.base import Fact


class Product(Fact):
    """The product names from the firmware (SMBIOS types 1 and 2). The serial number and UUID require root."""

    manufacturer: str | None = None
    name: str | None = None
    version: str | None = None
    family: str | None = None
    serial: str | None = None
    uuid: str | None = None
    board: str | None = None


class Firmware(Fact):
    """`description` tells how the kernel learned about the hardware, `boot` how it was started."""

    vendor: str | None = None
    version: str | None = None
    release_date: str | None = None
    bmc_version: str | None = None
    boot: Literal["uefi", "bios", "other"] | None = None
    description: Literal["acpi", "device-tree"] | None = None


class System(Fact):
    """Kernel, distribution and the account; `virtualization` is the hypervisor below the kernel, `container` what asct
    runs in above it, both as systemd-detect-virt names them (`none`: looked for and not there).

    `cloud` is the provider (`aws`, `azure`, `gcp`, ...), `instance_type` what it calls a machine of this kind.
    `kernel_options` are those of the kernel's configuration that bear on measurements (`CONFIG_HZ`: `250`).
    """

    hostname: str | None = None
    arch: str | None = None
    kernel: str | None = None
    kernel_version: str | None = None
    kernel_options: dict[str, str] = Field(default_factory=dict)
    command_line: str | None = None
    os: str | None = None
    libc: str | None = None
    uid: int | None = None
    uptime_s: float | None = None
    virtualization: str | None = None
    container: str | None = None
    cloud: str | None = None
    instance_type: str | None = None
    product: Product = Field(default_factory=Product)
    firmware: Firmware = Field(default_factory=Firmware)
    clock_source: str | None = None
    clock_sources: list[str] = Field(default_factory=list)
    security_modules: list[str] = Field(default_factory=list)
    lockdown: str | None = None
    mitigations: dict[str, str] = Field(default_factory=dict)
    """Vulnerabilities of the CPU and what the kernel does about them."""
    resctrl: bool | None = None
    irq_default_affinity: list[int] = Field(default_factory=list)
    irqbalance: bool | None = None
    """Whether the daemon that moves interrupts between CPUs runs."""


class Load(Fact):
    """Load averages and pressure when the facts were read."""

    load1: float | None = None
    load5: float | None = None
    load15: float | None = None
    cpu_pressure_avg10: float | None = None
    memory_pressure_avg10: float | None = None
    io_pressure_avg10: float | None = None
    running: int | None = None
    """Tasks that could run at that moment."""


class Thermal(Fact):
    """A sensor: its name in the kernel, its temperature in degrees Celsius, and the limit for it."""

    name: str
    celsius: float | None = None
    critical_celsius: float | None = None


class Perf(Fact):
    """The means of observation. `pmus` are the kernel's event sources; `counters` the general counters of a CPU;
    `interconnects` the PMUs of a mesh (arm_cmn_0); `trace` the tracers of instructions (cs_etm, intel_pt)."""

    paranoid: int | None = None
    kptr_restrict: int | None = None
    user_access: bool | None = None
    pmus: list[str] = Field(default_factory=list)
    counters: int | None = None
    sampling: list[str] = Field(default_factory=list)
    """Samplers of single instructions: arm_spe_0, ibs_op."""
    trace: list[str] = Field(default_factory=list)
    interconnects: list[str] = Field(default_factory=list)
    kcore: bool | None = None
    devmem: bool | None = None
    bpf: bool | None = None
    btf: bool | None = None


class Interconnect(Fact):
    """A mesh between cores and memory: its name (`CMN-700`), the number of meshes, and the source."""

    name: str
    count: int
    source: str

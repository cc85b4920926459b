"""Sections about the machine as a whole: manufacturer, firmware, Linux kernel, security, observability, activity and
tools."""

from __future__ import annotations

from collections.abc import Iterator

from asct.analysis.machine.rows import MachineSection, TextRow, cpus, firmware_text, listed, phrase, section, size, yes
from asct.sdk.facts import HostFacts, Perf, System


def virtualization(facts: HostFacts) -> str:
    """Return the type of virtualization and container: `kvm`, `docker on kvm`, `docker`, or `none` on bare metal."""
    below, around = facts.system.virtualization, facts.system.container
    known = [name for name in (around, below) if name and name != "none"]
    return " on ".join(known) or below or ""


def whole(facts: HostFacts) -> Iterator[MachineSection]:
    """Yield the sections about the system, the firmware and the Linux kernel."""
    system = facts.system
    yield section("System", _system(facts), _names(facts))
    yield section("Firmware", _firmware(system))
    yield section("Kernel", _kernel(system), [("Built", system.kernel_version or ""), *_options(system)])


def _system(facts: HostFacts) -> Iterator[TextRow]:
    system, product = facts.system, facts.system.product
    yield "Machine", listed(product.manufacturer, product.name, product.version, by=" ")
    yield "Virtualization", virtualization(facts)
    yield "Cloud", listed(system.cloud, system.instance_type)
    yield "System", system.os or ""
    if system.uid is not None:
        yield "Account", "root" if system.uid == 0 else f"uid {system.uid}, not root"
    yield "Interconnect", listed(*(f"{one.name} x {one.count} ({one.source})" for one in facts.interconnects))


def _names(facts: HostFacts) -> Iterator[TextRow]:
    system, product = facts.system, facts.system.product
    yield "Host name", system.hostname or ""
    yield "Family", product.family or ""
    yield "Serial number", product.serial or ""
    yield "UUID", product.uuid or ""
    yield "Board", product.board or ""
    yield "C library", system.libc or ""
    yield "Byte order", phrase("{} endian", system.byte_order)
    yield "Uptime", "" if system.uptime_s is None else _age(system.uptime_s)


def _age(seconds: float) -> str:
    hours, minutes = divmod(int(seconds // 60), 60)
    return f"{hours // 24} d {hours % 24} h" if hours >= 24 else f"{hours} h {minutes} min"


def _firmware(system: System) -> Iterator[TextRow]:
    firmware = system.firmware
    yield "Firmware", firmware_text(firmware.vendor, firmware.version, firmware.release_date)
    yield "BMC", firmware.bmc_version or ""
    yield "Boot firmware", (firmware.boot or "").upper() if firmware.boot != "other" else "other"
    yield "Hardware description", {"acpi": "ACPI", "device-tree": "device tree"}.get(firmware.description or "", "")


def _kernel(system: System) -> Iterator[TextRow]:
    yield "Kernel", listed(system.kernel, system.arch, by=" ")
    yield "Command line", system.command_line or ""
    others = [name for name in system.clock_sources if name != system.clock_source]
    yield "Clock source", listed(system.clock_source, phrase("(also {})", others), by=" ")
    yield "irqbalance", yes(system.irqbalance, "running", "not running")
    yield "Default interrupt CPUs", cpus(system.irq_default_affinity)
    yield "resctrl", yes(system.resctrl, "present", "not present")


def _options(system: System) -> Iterator[TextRow]:
    """Yield the build options of the Linux kernel, without the prefix `CONFIG_`."""
    known = {name.removeprefix("CONFIG_"): value for name, value in sorted(system.kernel_options.items())}
    options = (name if value == "y" else f"{name}={value}" for name, value in known.items() if value != "n")
    yield "Options", " ".join(options)
    yield "Options not set", " ".join(name for name, value in known.items() if value == "n")


def rest(facts: HostFacts) -> Iterator[MachineSection]:
    """Yield the sections about security, observability, state and tools."""
    yield _security(facts.system)
    yield _observability(facts.perf)
    yield _state(facts)
    yield _tools(facts)


def _security(system: System) -> MachineSection:
    states = sorted(system.mitigations.items())
    weak = [name for name, text in states if text.startswith("Vulnerable")]
    safe = [name for name, text in states if text == "Not affected"]
    others = [(name, text) for name, text in states if text != "Not affected"]
    rows = [
        ("Security modules", ", ".join(system.security_modules)),
        ("Lockdown", system.lockdown or ""),
        ("Vulnerable to", ", ".join(weak)),
    ]
    return section("Security", rows, [*others, ("Not vulnerable to", ", ".join(safe))])


def _observability(perf: Perf) -> MachineSection:
    rows = [
        ("perf_event_paranoid", phrase("{}", perf.paranoid)),
        ("CPU counters", phrase("{}", perf.counters)),
        ("Sampling", ", ".join(perf.sampling)),
        ("Tracing", ", ".join(perf.trace)),
        ("Mesh counters", ", ".join(perf.interconnects)),
    ]
    details = [
        ("Event sources", ", ".join(perf.pmus)),
        ("kptr_restrict", phrase("{}", perf.kptr_restrict)),
        ("Counter access from user space", yes(perf.user_access, "allowed", "not allowed")),
        ("/proc/kcore", yes(perf.kcore, "present", "not present")),
        ("/dev/mem", yes(perf.devmem, "present", "not present")),
        ("BPF", listed(yes(perf.bpf), yes(perf.btf, "with BTF", "without BTF"))),
    ]
    return section("Observability", rows, details)


def _state(facts: HostFacts) -> MachineSection:
    """Return the activity of the host when the facts were read."""
    load = facts.load
    averages = [value for value in (load.load1, load.load5, load.load15) if value is not None]
    pressures = {"CPU": load.cpu_pressure_avg10, "memory": load.memory_pressure_avg10, "I/O": load.io_pressure_avg10}
    pressure = listed(*(f"{name} {value:g} %" for name, value in pressures.items() if value is not None))
    rows = [
        ("Load average", " ".join(f"{value:.2f}" for value in averages)),
        ("Pressure", pressure),
    ]
    details = [
        ("Running tasks", phrase("{}", load.running)),
        ("Dirty pages", size(facts.memory.dirty_bytes)),
        *((f"Sensor {one.name}", _sensor(one.celsius, one.critical_celsius)) for one in facts.thermal),
    ]
    return section("State", rows, details)


def _sensor(celsius: float | None, critical: float | None) -> str:
    now = "" if celsius is None else f"{celsius:g} degC"
    return listed(now, "" if critical is None else f"critical at {critical:g} degC")


def _tools(facts: HostFacts) -> MachineSection:
    tools = [f"{name} {tool.version}" if tool.version else name for name, tool in sorted(facts.tools.items())]
    limits = [f"{name} {'unlimited' if value is None else value}" for name, value in sorted(facts.limits.items())]
    paths = ((name, tool.path) for name, tool in sorted(facts.tools.items()))
    return section("Tools", [("Tools", ", ".join(tools))], [("Limits", ", ".join(limits)), *paths])

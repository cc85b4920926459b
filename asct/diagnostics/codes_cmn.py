"""E460-E469: coherent meshes."""

from __future__ import annotations

from asct.diagnostics.codetext import CodeText

CODES: dict[str, CodeText] = {
    "E460": CodeText(
        "no coherent mesh",
        "`asct cmn` found no Arm CMN or CI-700 on the machine: no PMU of the arm_cmn driver, no map of it in debugfs,\n"
        "no ACPI device of that kind in /proc/iomem. Most machines have none. On one that has, the firmware may not\n"
        "describe it, or the kernel is built without CONFIG_ARM_CMN. The exit code is 3.",
    ),
    "E461": CodeText(
        "registers of a mesh were not read",
        "The registers are read through /dev/mem, by root. A kernel that is locked down, or built with\n"
        "CONFIG_STRICT_DEVMEM for claimed ranges, refuses it. What is shown then comes from the driver's map\n"
        "(/sys/kernel/debug/arm-cmn/map), or without it from the driver and the firmware: kind and count only.",
    ),
    "E462": CodeText(
        "CPUs of a mesh cannot be detected",
        "`asct cmn --detect` loads one CPU after the other and counts requests at every port by watchpoints of the\n"
        "arm_cmn driver. It takes that driver, the places of the requesters (registers or the driver's map), and the\n"
        "right to count for the whole system: root, or kernel.perf_event_paranoid of 0 or below. The exit code is 3.",
    ),
}

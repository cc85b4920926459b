"""The kernel: how it was built and started, what protects it, its clock, who moves interrupts."""

from __future__ import annotations

from asct.facts.sources.cpu import CPU
from asct.facts.sources.model import Command, FolderSet

SECURITY = "/sys/kernel/security"
CLOCKS = "/sys/devices/system/clocksource/clocksource0"
VULNERABILITIES = f"{CPU}/vulnerabilities"

FILES: tuple[str, ...] = (
    "/proc/irq/default_smp_affinity",
    "/proc/sys/kernel/io_uring_disabled",
    f"{CLOCKS}/available_clocksource",
    f"{CLOCKS}/current_clocksource",
    f"{VULNERABILITIES}/*",
    f"{SECURITY}/lockdown",
    f"{SECURITY}/lsm",
)

FOLDERS: tuple[FolderSet, ...] = ()

# The values of what a password or a key may be are left out here already, so that they never leave the host; the
# parser masks in the same way what comes from a copy of /proc. A value in quotes may have blanks; one may have a name
# itself (systemd.setenv=TOKEN=...).
_COMMAND_LINE = """\
(set -f; open=; IFS= read -r line </proc/cmdline; for word in $line; do
if [ -n "$open" ]; then case $word in *\\"*) open= ;; esac; continue; fi
case $word in *=*) case ${word%=*}= in
*[Pp][Aa][Ss][Ss][Ww]* | *[Pp][Aa][Ss][Ss][Pp][Hh][Rr]* | *[Pp][Ww][Dd]* | *[Ss][Ee][Cc][Rr][Ee][Tt]* \
| *[Tt][Oo][Kk][Ee][Nn]* | *[Cc][Rr][Ee][Dd][Ee][Nn][Tt][Ii][Aa][Ll]* | *[Aa][Uu][Tt][Hh]=* | *[Pp][Aa][Ss][Ss]=* \
| *[Pp][Ss][Kk]=* | *[Pp][Ww]=* | *[Kk][Ee][Yy][=._-]* | *[Kk][Ee][Yy][Ss][=._-]*) hide=1 ;;
*) case $word in *=*:*@*) hide=1 ;; *) hide= ;; esac ;;
esac
[ -z "$hide" ] || { case $word in *\\"*\\"*) ;; *\\"*) open=1 ;; esac
word="${word%%=*}=***"; case $word in *\\"*) word=$word\\" ;; esac; } ;;
esac
printf "%s " "$word"; done)"""

_PRESENT = ("/dev/mem", "/proc/kcore", "/sys/fs/resctrl", "/sys/kernel/btf/vmlinux")

# Whether the daemon runs: reading the names of all processes takes too long where there are thousands.
_IRQBALANCE = """\
(for at in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
file=$at/system.slice/irqbalance.service/cgroup.procs
[ -r "$file" ] && read -r pid <"$file" && echo running && exit; done
for file in /run/irqbalance.pid /var/run/irqbalance.pid; do
[ -r "$file" ] && read -r pid <"$file" && [ -d "/proc/${pid:-0}" ] && echo running && exit; done
for file in /run/irqbalance*.sock /run/irqbalance/*.sock; do [ -S "$file" ] && echo running && exit; done
command -v irqbalance >/dev/null || { echo absent; exit; }
if [ -d /run/systemd/system ]; then echo stopped; else echo unknown; fi)"""

KERNEL_OPTIONS = (
    "HZ|NO_HZ_FULL|NO_HZ_IDLE|PREEMPT|PREEMPT_DYNAMIC|PREEMPT_LAZY|PREEMPT_NONE|PREEMPT_RT|PREEMPT_VOLUNTARY"
    "|NUMA|NUMA_BALANCING|NUMA_BALANCING_DEFAULT_ENABLED|TRANSPARENT_HUGEPAGE|TRANSPARENT_HUGEPAGE_[A-Z]*|HUGETLBFS"
    "|ARM64_[0-9]*K_PAGES|ARM64_LSE_ATOMICS|ARM64_USE_LSE_ATOMICS|ARM64_MPAM|ARM64_SVE|ARM64_SME|PAGE_SIZE_[0-9]*KB"
    "|PPC_[0-9]*K_PAGES|CPU_FREQ_DEFAULT_GOV_[A-Z]*|CPU_IDLE|CPU_ISOLATION|IO_URING|NVME_MULTIPATH|BLK_WBT"
    "|BLK_CGROUP_IOCOST|SCHED_CORE|SCHED_CLUSTER|SCHED_SMT|CFS_BANDWIDTH|PSI|PERF_EVENTS|HW_PERF_EVENTS|ARM_CMN"
    "|ARM_SPE_PMU|ARM_PMU|ARM_PMUV3|ARM_DSU_PMU|CORESIGHT|CORESIGHT_[A-Z0-9_]*ETM[A-Z0-9X]*|X86_CPU_RESCTRL|RESCTRL_FS"
    "|BPF|BPF_SYSCALL|BPF_JIT|DEBUG_INFO_BTF|KPROBES|FTRACE|STRICT_DEVMEM|IO_STRICT_DEVMEM|DEVMEM|PROC_KCORE|LSM"
    "|SECURITY_LOCKDOWN_LSM|RANDOMIZE_BASE|CPU_MITIGATIONS|UNMAP_KERNEL_AT_EL0|MITIGATION_PAGE_TABLE_ISOLATION"
    "|PAGE_TABLE_ISOLATION|INIT_ON_ALLOC_DEFAULT_ON|INIT_ON_FREE_DEFAULT_ON|KASAN|LOCKDEP|PROVE_LOCKING|SLUB_DEBUG_ON"
    "|DEBUG_VM|ACPI_HMAT|CXL_BUS"
)
"""Of the kernel's configuration those that bear on measurements and on what may be observed (an extended regular
expression, without CONFIG_)."""

_OPTIONS = f"""\
release=$(uname -r); pattern='^(# )?CONFIG_({KERNEL_OPTIONS})(=| is not set)'
if [ -r /proc/config.gz ]; then zcat /proc/config.gz | grep -E "$pattern"; else
for file in "/boot/config-$release" "/lib/modules/$release/config" "/lib/modules/$release/build/.config"; do
[ -r "$file" ] && grep -E "$pattern" "$file" && break; done; fi"""

COMMANDS: tuple[Command, ...] = (
    ("command-line", _COMMAND_LINE),
    ("irqbalance", _IRQBALANCE),
    (
        "present",
        f'for at in {" ".join(_PRESENT)}; do if [ -r "$at" ]; then echo "readable $at";'
        ' elif [ -e "$at" ]; then echo "there $at"; fi; done',
    ),
)

LASTING: tuple[Command, ...] = (("kernel-options", _OPTIONS),)

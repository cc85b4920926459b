"""Block devices, drives and file systems; where all devices with hardware hang."""

from __future__ import annotations

from asct.facts.sources.model import Command, FolderSet

BLOCK = "/sys/block"
NVME = "/sys/class/nvme"

SECRETS = ("pass", "pwd", "secret", "token", "credential", "key")
_ANY_CASE = "|".join("".join(f"[{char.upper()}{char}]" for char in word) for word in SECRETS)
SECRET_OPTION = f"([ ,][A-Za-z0-9_.-]*({_ANY_CASE})[A-Za-z0-9_.-]*)=[^ ]*"
"""A mount option whose value may be a secret, its name in the first group (an extended regular expression, for sed has
no other way to take capitals for small letters). The kernel does not mark a comma that belongs to a value, so all
options behind it are taken for a part of it."""

FILES: tuple[str, ...] = ("/proc/self/mountinfo", "/proc/self/mounts")

FOLDERS: tuple[FolderSet, ...] = (
    FolderSet(
        "block_devices",
        (f"{BLOCK}/*",),
        (
            "*/dev",
            "*/partition",
            "*/ro",
            "*/size",
            "dev",
            "device/firmware_rev",
            "device/fwrev",
            "device/model",
            "device/name",
            "device/rev",
            "device/serial",
            "device/subsysnqn",
            "device/uevent",
            "dm/name",
            "hidden",
            "loop/backing_file",
            "md/level",
            "queue/discard_max_bytes",
            "queue/logical_block_size",
            "queue/nr_requests",
            "queue/optimal_io_size",
            "queue/physical_block_size",
            "queue/read_ahead_kb",
            "queue/rotational",
            "queue/scheduler",
            "queue/write_cache",
            "removable",
            "ro",
            "serial",
            "size",
            "slaves/*/dev",
        ),
        512,
    ),
    FolderSet(
        "block_devices.nvme",
        (f"{NVME}/nvme*",),
        ("firmware_rev", "model", "numa_node", "serial", "subsysnqn", "transport"),
        256,
    ),
)

# For each device with hardware one line: the path in /sys, the real one, its queues (those of blk-mq, or of receiving
# and sending), then of the PCI function that it hangs at its node, the speed and width of its link, as they are and at
# most, and its driver (the first line of uevent). All by the shell itself; a PCI function is the first folder upwards
# that has a configuration space.
_DEVICES = """\
(first() { value=; [ ! -r "$1" ] || read -r value 2>/dev/null <"$1"; printf "|%s" "$value"; }
taken=0
for at in /sys/class/nvme/nvme* /sys/class/hwmon/hwmon* /sys/block/* /sys/class/net/*; do
[ -e "$at/device" ] && cd -P "$at" 2>/dev/null || continue
taken=$((taken + 1)); [ "$taken" -le 2048 ] || continue
printf "%s|%s" "$at" "$PWD"
case $at in
/sys/block/*) set -- mq/*; [ -e "$1" ] || shift; printf "|%s|" $# ;;
/sys/class/net/*) set -- queues/rx-*; [ -e "$1" ] || shift; printf "|%s" $#
    set -- queues/tx-*; [ -e "$1" ] || shift; printf "|%s" $# ;;
*) printf "||" ;;
esac
case $PWD in
*/pci*) until [ -e config ] || [ "$PWD" = /sys/devices ] || [ "$PWD" = / ]; do cd ..; done
    for file in numa_node current_link_speed current_link_width max_link_speed max_link_width uevent; do
    first "$file"; done ;;
esac
echo
done
[ "$taken" -le 2048 ] || echo "$token left block_devices.node $((taken - 2048))")"""

# /dev/mapper and disks that are not NVMe: serial numbers, full names and buses are only in the data base of udev.
_UDEV = """\
if [ -d /run/udev/data ]; then most block_devices.udev 4000
grep -E "^E:ID_(BUS|MODEL_ENC|REVISION|SERIAL_SHORT)=" /run/udev/data/b[0-9]* /dev/null || true; fi"""

# Of local file systems alone: one of the network whose server is away takes all the time that there is, and tells
# nothing; so does one of FUSE whose process hangs. Where one cannot be asked, df tells of the others and fails.
_SPACE = "most mounts.size_bytes 1000; limited df -P -k -l 2>/dev/null"

# Only root may ask a drive, and nvme-cli has to be there; the sensors of hwmon need neither. All drives have one limit.
# What asks a dead drive no signal ends while the kernel waits for it (a minute, nvme_core.admin_timeout), and timeout
# of BusyBox ends the shell alone: so sed ends at the line behind them, not once nobody holds its pipe any more.
_HEALTH = """\
asked=
for at in /dev/nvme[0-9] /dev/nvme[0-9][0-9] /dev/nvme[0-9][0-9][0-9]; do [ -c "$at" ] || continue
if ! command -v nvme >/dev/null; then echo "$at needs nvme-cli"
elif [ ! -r "$at" ]; then echo "$at needs root"
else asked="$asked $at"; fi
done
[ -z "$asked" ] || { limited sh -c 'for at do echo "$at"
nvme smart-log -o json "$at" | head -c 8192; echo; done' sh $asked 2>/dev/null; echo "over $?"; } | sed '/^over /q'"""

COMMANDS: tuple[Command, ...] = (
    ("df", 'limited df -P -k -- "$work"'),
    ("devices", _DEVICES),
    ("udev", _UDEV),
    ("space", _SPACE),
    ("nvme-health", _HEALTH),
)

LASTING: tuple[Command, ...] = ()

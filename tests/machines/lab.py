"""The lab: an emulated machine with drives in every state in which a drive must not be written, and in some states in
which it may be. lab.sh creates these states at boot."""

from __future__ import annotations

from pathlib import Path

from tests.machines.drives import Drive
from tests.machines.guest import Guest, Machine, Node
from tests.machines.recipes import LAB

GOOD = Drive("LABGOOD", 64, node=1)
"""An empty drive below a host bridge of node 1."""
BURST = Drive("LABBURST", 64, throttle="iops-write=100,iops-write-max=1000,iops-write-max-length=2")
"""A drive with 1000 writes per second for 2 s and then 100, as if it had a fast cache. On a busy machine, an emulator
barely reaches this rate, but must do so for the cache to be used up."""
PAIR = Drive("LABPAIR", 32, namespaces=2)
LARGE_SECTORS = Drive("LAB4K", 64, sector=4096)
HOME = Drive("LABHOME", 256)
"""The drive that contains the work folder, mounted on /var/tmp."""

SCSI_STATES = (
    "slow",
    "mounted",
    "partition",
    "swap",
    "lvm",
    "md1",
    "md2",
    "dm",
    "signature",
    "backup",
    "held",
    "readonly",
    "data",
    "old",
)
"""The states that lab.sh creates on the disks of scsi_debug, in the order of their hosts."""


def scsi_serial(state: str) -> str:
    """Return the serial number that scsi_debug assigns to the disk of a host: 2000 for the first, 4000 for the second,
    and so on."""
    return str((SCSI_STATES.index(state) + 1) * 2000)


def scsi_disk(state: str) -> str:
    """Its name in /dev/disk/by-id (60-persistent-storage.rules: scsi-SVENDOR_MODEL_SERIAL)."""
    return f"/dev/disk/by-id/scsi-SLinux_scsi_debug_{scsi_serial(state)}"


LAB_MACHINE = Machine(
    "lab",
    LAB,
    2,
    (Node("0", 640), Node("1", 640)),
    ((0, 1, 21),),
    kernel="mitigations=off",
    setup=Path(__file__).with_name("lab.sh").read_text(),
    drives=(GOOD, BURST, PAIR, LARGE_SECTORS, HOME),
)

IN_USE = {
    "mounted": "mounted",
    "partition": "mounted",
    "swap": "swap",
    "lvm": "holders",
    "md1": "holders",
    "md2": "holders",
    "dm": "holders",
    "signature": "signature",
    "backup": "signature",
    "held": "open-elsewhere",
    "readonly": "read-only",
    "data": "data",
}
"""The check that reports each state. Other checks may fail as well."""


def contents(lab: Guest) -> str:
    """Return the checksums of the disks that have content and are not in use and, for each disk except the one with the
    work folder, how much was ever written according to the Linux kernel."""
    dormant = " ".join(map(scsi_disk, ("signature", "backup", "data")))
    home = f"$(basename $(readlink {HOME.disk()}))"
    return lab.sh(
        f"sync; md5sum {dormant}; for disk in /sys/block/sd* /sys/block/nvme*n*; do "
        f"case $disk in */{home}) ;; *) awk '{{ print FILENAME, $7 }}' $disk/stat ;; esac; done"
    )


def link(device: str, name: str) -> str:
    """Return the shell command that makes a name in /dev/disk/by-id point to a different device."""
    return f"ln -sfn {device} {name}"

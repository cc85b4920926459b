"""The lab: an emulated machine whose drives are in every state in which one must not be written, and in some in which
one may. lab.sh makes the states when it boots."""

from __future__ import annotations

from pathlib import Path

from tests.machines.drives import Drive
from tests.machines.guest import Guest, Machine, Node
from tests.machines.recipes import LAB

GOOD = Drive("LABGOOD", 64, node=1)
"""Blank; below a host bridge of node 1."""
BURST = Drive("LABBURST", 64, throttle="iops-write=100,iops-write-max=1000,iops-write-max-length=2")
"""1000 writes a second for 2 s, then 100, as a drive with a fast cache. An emulator on a busy machine reaches hardly
more, and must, for what the cache may take to be used up."""
PAIR = Drive("LABPAIR", 32, namespaces=2)
LARGE_SECTORS = Drive("LAB4K", 64, sector=4096)
HOME = Drive("LABHOME", 256)
"""Holds the work folder: mounted on /var/tmp."""

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
"""What lab.sh makes of the disks of scsi_debug, in the order of their hosts."""


def scsi_serial(state: str) -> str:
    """The serial number that scsi_debug gives the disk of a host: 2000 for the first, 4000 for the second ..."""
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
"""The check that names each state; others may fail beside it."""


def contents(lab: Guest) -> str:
    """Checksums of the disks that hold something and are in no use, and of each disk without the work folder how much
    was ever written, by the kernel's count."""
    dormant = " ".join(map(scsi_disk, ("signature", "backup", "data")))
    home = f"$(basename $(readlink {HOME.disk()}))"
    return lab.sh(
        f"sync; md5sum {dormant}; for disk in /sys/block/sd* /sys/block/nvme*n*; do "
        f"case $disk in */{home}) ;; *) awk '{{ print FILENAME, $7 }}' $disk/stat ;; esac; done"
    )


def link(device: str, name: str) -> str:
    """The shell command that lets a name in /dev/disk/by-id lead elsewhere."""
    return f"ln -sfn {device} {name}"

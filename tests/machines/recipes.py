"""The components of the guests: Debian's kernel, packages, and the programs and modules that are taken from them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Recipe:
    """A recipe. `kernel` is Debian's meta package. The parameters of a module follow its name. Machines without drives
    omit `drive_programs`, which make up three quarters of the files that a guest unpacks at boot."""

    name: str
    arch: str
    debian_arch: str
    kernel: str
    packages: tuple[str, ...]
    programs: tuple[str, ...]
    modules: tuple[str, ...]
    drive_programs: tuple[str, ...] = ("usr/bin/fio", "usr/bin/mpstat")


# not dropbear: 2022.83 ends sessions at random (its issue 321)
PACKAGES = ("busybox-static", "openssh-server", "util-linux", "fio", "sysstat")
PROGRAMS = ("bin/busybox", "usr/bin/flock", "usr/sbin/sshd", "usr/bin/ssh-keygen")
MODULES = ("virtio_pci", "virtio_net", "nvme")

X86_64 = Recipe("x86_64", "x86_64", "amd64", "linux-image-cloud-amd64", PACKAGES, PROGRAMS, MODULES)
AARCH64 = Recipe("aarch64", "aarch64", "arm64", "linux-image-cloud-arm64", PACKAGES, PROGRAMS, MODULES)
LAB = Recipe(
    "lab",
    "x86_64",
    "amd64",
    "linux-image-amd64",
    (
        *PACKAGES,
        "nvme-cli",
        "mdadm",
        "lvm2",
        "dmsetup",
        "e2fsprogs",
        "fdisk",
        "mount",
        "hdparm",
        "sg3-utils",
    ),
    (
        *PROGRAMS,
        "usr/sbin/nvme",
        "sbin/mdadm",
        "sbin/lvm",
        "sbin/dmsetup",
        "sbin/mkfs.ext4",
        "sbin/mkswap",
        "sbin/sfdisk",
        "sbin/losetup",
        "sbin/blkid",
        "sbin/blkdiscard",
        "sbin/blockdev",
        "sbin/wipefs",
        "sbin/hdparm",
        "usr/bin/sg_format",
        "usr/bin/sg_readcap",
    ),
    (
        *MODULES,
        "loop",
        "ext4",
        "crc32c_generic",
        "dm-mod",
        "dm-delay",
        "raid0",
        "raid1",
        "raid10",
        "raid456",
        "sd_mod",
        "scsi_debug add_host=14 per_host_store=1 dev_size_mb=8 delay=0",
        "null_blk nr_devices=0",
    ),
)
RECIPES = (X86_64, AARCH64, LAB)

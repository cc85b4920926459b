"""Programs that measurements use and the host does not have."""

from __future__ import annotations

from typing import Final

from asct.disturbances.build import Found, Look, Seen, finding

PACKAGES: Final[dict[str, str]] = {
    "blkdiscard": "util-linux", "fio": "fio", "hdparm": "hdparm", "mpstat": "sysstat", "numactl": "numactl",
    "nvme": "nvme-cli", "perf": "linux-perf", "sg_format": "sg3-utils", "sg_sanitize": "sg3-utils",
}  # fmt: skip
"""The Debian package that brings a program."""
_USUAL: Final = ("fio", "mpstat")
_USES: Final = {
    "fio": "storage is not measured at all",
    "mpstat": "results of storage lack the load of each CPU",
    "nvme": "NVMe drives are not formatted before a qualification, which begins in an unknown state",
    "blkdiscard": "drives are not discarded before a qualification, which begins in an unknown state",
}


@finding("no-program", touches=["storage"], source="PATH; packages.debian.org")
def _missing(seen: Look) -> Found:
    facts = seen.facts
    names = _USUAL if seen.wanted is None else seen.wanted.tools
    for name in names:
        if name in facts.tools or name not in PACKAGES:
            continue
        yield Seen(
            effect=_USES.get(name, "what it adds to the results is missing"),
            name=f"no-{name.replace('_', '-')}",
            title=f"{name} missing",
            seen=f"there is no {name} on the PATH of the account",
            sure="certain",
            why="it was looked for",
            fix=[f"apt-get install {PACKAGES[name]}"],
            undo=[f"apt-get remove {PACKAGES[name]}"],
            advice="the command is Debian's; other systems have the package under this or a similar name",
        )

"""What the host or the account lacks: programs that measurements use, access to hardware counters."""

from __future__ import annotations

from typing import Final

from asct.disturbances.build import Evaluation, Evaluations, RuleInput, finding
from asct.sdk.disturbance import Setting

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
def _missing(seen: RuleInput) -> Evaluations:
    facts = seen.facts
    names = _USUAL if seen.wanted is None else seen.wanted.tools
    for name in names:
        if name in facts.tools or name not in PACKAGES:
            continue
        yield Evaluation(
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


_WANTED: Final = 1
"""From 2 on an account without privileges may not count what the kernel does for it (perf_event_paranoid)."""


@finding(
    "perf-paranoid",
    effect="no value changes; but counters of the CPU and of the mesh, which say why a value is as it is, cannot "
    "be read",
    touches=[],
    source="Linux, Documentation/admin-guide/sysctl/kernel.rst (perf_event_paranoid), perf-security.rst",
)
def _counters(seen: RuleInput) -> Evaluations:
    paranoid = seen.known(seen.facts.perf.paranoid, "hardware counters", "perf.paranoid")
    if paranoid <= _WANTED or seen.facts.system.uid == 0:
        return
    yield Evaluation(
        title="hardware counters closed",
        seen=f"kernel.perf_event_paranoid is {paranoid}, and the account is not root",
        sure="certain",
        why="the kernel refuses",
        settings=[Setting(path="/proc/sys/kernel/perf_event_paranoid", value=str(_WANTED), was=str(paranoid))],
    )

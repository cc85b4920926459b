"""Rules for programs that are missing on the host, and for hardware counters that the account may not read."""

from __future__ import annotations

from typing import Final

from asct.disturbances.build import Evaluation, Evaluations, RuleInput, rule
from asct.sdk.disturbance import Setting

PACKAGES: Final[dict[str, str]] = {
    "blkdiscard": "util-linux", "fio": "fio", "hdparm": "hdparm", "mpstat": "sysstat", "numactl": "numactl",
    "nvme": "nvme-cli", "perf": "linux-perf", "sg_format": "sg3-utils", "sg_sanitize": "sg3-utils",
}  # fmt: skip
"""The Debian package that contains each program."""
_USUAL: Final = ("fio", "mpstat")
_USES: Final = {
    "fio": "storage benchmarks are skipped",
    "mpstat": "storage results do not include CPU utilization",
    "nvme": "NVMe drives are not formatted before a qualification, which then starts in an unknown state",
    "blkdiscard": "drives are not discarded before a qualification, which then starts in an unknown state",
}


@rule("no-program")
def _missing(seen: RuleInput) -> Evaluations:
    facts = seen.facts
    names = _USUAL if seen.wanted is None else seen.wanted.tools
    for name in names:
        if name in facts.tools or name not in PACKAGES:
            continue
        yield Evaluation(
            effect=_USES.get(name, "the results do not include the data that this program provides"),
            name=f"no-{name.replace('_', '-')}",
            title=f"{name} missing",
            seen=f"{name} is not on the PATH of the account",
            sure="certain",
            why="asct searched all directories of the PATH",
            fix=[f"apt-get install {PACKAGES[name]}"],
            undo=[f"apt-get remove {PACKAGES[name]}"],
            advice="the command is for Debian; on other distributions, the package has the same name or a similar one",
        )


_WANTED: Final = 1
"""The highest value of perf_event_paranoid that is sufficient. At 2 and above, an unprivileged account may not count
events in the Linux kernel."""


@rule("perf-paranoid")
def _counters(seen: RuleInput) -> Evaluations:
    paranoid = seen.known(seen.facts.perf.paranoid, "hardware counters", "perf.paranoid")
    if paranoid <= _WANTED or seen.facts.system.uid == 0:
        return
    yield Evaluation(
        title="hardware counters not accessible",
        seen=f"kernel.perf_event_paranoid is {paranoid}, and the account is not root",
        sure="certain",
        why="the kernel denies access",
        settings=[Setting(path="/proc/sys/kernel/perf_event_paranoid", value=str(_WANTED), was=str(paranoid))],
    )

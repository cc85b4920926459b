"""Rules for programs that are missing on the host, and for hardware counters that the account may not read."""

from __future__ import annotations

from typing import Final

from asct.disturbances.build import Evaluation, Evaluations, RuleInput, rule
from asct.sdk.disturbance import Setting

PACKAGES: Final[dict[str, str]] = {
    "blkdiscard": "util-linux", "fio": "fio", "hdparm": "hdparm", "mdadm": "mdadm", "mpstat": "sysstat",
    "numactl": "numactl", "nvme": "nvme-cli", "perf": "linux-perf", "sg_format": "sg3-utils",
    "sg_sanitize": "sg3-utils",
}  # fmt: skip
"""The Debian package that contains each program."""
_USUAL: Final = ("fio", "mpstat")


@rule("no-program")
def _missing(host: RuleInput) -> Evaluations:
    facts = host.facts
    names = _USUAL if host.scope is None else host.scope.tools
    for name in names:
        if name in facts.tools or name not in PACKAGES:
            continue
        values = {"program": name, "key": name.replace("_", "-"), "package": PACKAGES[name]}
        yield Evaluation(values, case=name)


_HIGHEST_LEVEL: Final = 1
"""The highest acceptable value of perf_event_paranoid. At 2 and above, an unprivileged account may not count events in
the Linux kernel."""


@rule("perf-paranoid")
def _counters(host: RuleInput) -> Evaluations:
    paranoid = host.known(host.facts.perf.paranoid, "hardware counters", "perf.paranoid")
    if paranoid <= _HIGHEST_LEVEL or host.facts.system.uid == 0:
        return
    setting = Setting(path="/proc/sys/kernel/perf_event_paranoid", value=str(_HIGHEST_LEVEL), was=str(paranoid))
    yield Evaluation({"paranoid": paranoid}, [setting])

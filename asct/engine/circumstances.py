"""What disturbs a measurement from the start: told once per host, before anything is measured."""

from __future__ import annotations

from asct.diagnostics.model import Diagnostic
from asct.sdk.facts import HostFacts

BUSY_PRESSURE = 10.0
"""Percent of the last ten seconds in which some task waited for a CPU (Linux: Documentation/accounting/psi.rst)."""


def busy(facts: HostFacts) -> Diagnostic | None:
    """A warning when other work competes for the CPUs; by pressure where the kernel accounts it, else by load."""
    load = facts.load
    if load.cpu_pressure_avg10 is not None:
        if load.cpu_pressure_avg10 < BUSY_PRESSURE:
            return None
        sign = f"tasks waited for a CPU in {load.cpu_pressure_avg10:.0f} % of the last ten seconds"
    else:
        cpus = len(facts.cpu.online) or facts.cpu.cpus
        if load.load1 is None or cpus is None or load.load1 < cpus:
            return None
        sign = f"load {load.load1:g} on {cpus} CPUs"
    hint = "results may be slower and wider than those of an idle machine; end the other work, or measure again"
    return Diagnostic("E432", f"host {facts.host} is busy: {sign}", hint=hint, severity="warning")

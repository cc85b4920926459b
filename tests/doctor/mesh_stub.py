"""Replacements for the kernels cmn and cmnwatch: programs that print synthetic output, because no mesh is available."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from asct.engine.services import Services
from asct.facts.snapshot import Snapshot
from asct.hosts.base import Host
from asct.sdk.facts import HostFacts
from tests.engine import plant
from tests.facts.cmn.machine import machine, mesh_map, pmu

PORTS = 6
"""Number of ports with requesters in the map of 4 x 4 that tests/facts/cmn/machine.py draws."""
LINES, NS = 100_000, 10_000_000


def sample(cpu: int, port: int | None, share: float = 1.0) -> dict[str, Any]:
    """Return what cmnwatch prints for a CPU whose load is visible at one port (or at none), above a small amount of
    other traffic."""
    counts = [round(LINES * (0.01 + (share if index == port else 0))) for index in range(PORTS)]
    return {
        "t": "sample", "cpu": cpu, "counts": counts, "idle": [LINES // 100] * PORTS,
        "lines": [LINES] * PORTS, "ns": [NS] * PORTS, "idle_ns": [NS] * PORTS,
    }  # fmt: skip


def text_of(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return a kernel's complete output with these lines."""
    stream = [{"t": "meta", "abi": 1}, {"t": "ready"}, *lines, {"t": "end", "ok": True}]
    return "".join(json.dumps(line) + "\n" for line in stream)


Kernels = Mapping[str, str]
"""What each kernel does, as the body of a shell script. `$*` contains the kernel's arguments."""


def cat(text: str) -> str:
    """Return a script body that prints a text."""
    return f"cat <<'over'\n{text}over\n"


def provide(kernels: Kernels) -> Callable[..., plant.FakeBuilt]:
    def made(host: Host, kernel: str, _facts: HostFacts, _folder: object) -> plant.FakeBuilt:
        path = f"{host.work}/fake-{kernel}"
        head = '#!/bin/sh\ncase "$*" in *--describe*) echo \'{"t":"describe"}\'; exit ;; esac\n'
        script = f'{head}[ "$1" != --sudo ] || shift 2\n{kernels[kernel]}'
        host.execute(["sh", "-c", 'cat >"$1" && chmod 700 "$1"', "sh", path], stdin=script)
        return plant.FakeBuilt(path)

    return made


def ports(kernels: Kernels) -> Services:
    return plant.collaborators(provide=provide(kernels))


def meshy(*more: Mapping[str, str], **fields: Any) -> Snapshot:
    """Return the snapshot of a machine with a mesh of 4 x 4 and eight CPUs, as root sees it unless specified
    otherwise."""
    return machine(pmu(), mesh_map(), *more, **fields)


def show(monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot, kernels: Kernels) -> None:
    """Let `asct cmn` find this machine instead of the one on which it runs."""
    monkeypatch.setattr("asct.doctor.meshes.probe", lambda _host, _base: snapshot)
    monkeypatch.setattr("asct.engine.services.default_services", lambda: ports(kernels))

"""A replacement for the kernel guard that prints the recorded inspection of a host's devices."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from asct.engine.services import Services
from asct.hosts.base import Host
from asct.registry import installed
from asct.sdk.facts import HostFacts
from tests.engine import plant

META, END = {"t": "meta", "abi": 1}, {"t": "end", "ok": True}


def device(path: str, **fields: Any) -> dict[str, Any]:
    return {"t": "device", "when": "before", "path": path, **fields}


def check(path: str, name: str, ok: bool | None, detail: str = "") -> dict[str, Any]:
    return {"t": "check", "path": path, "name": name, "ok": ok, "detail": detail}


LOOK = (
    META,
    device("/dev/nvme0n1", bytes=1 << 40, model="ACME X1", serial="S6XZ"),
    check("/dev/nvme0n1", "serial", True),
    check("/dev/nvme0n1", "mounted", True),
    device("/dev/vda", bytes=20 << 30, model="", serial=None),
    check("/dev/vda", "system", False, "its partition 1 carries / and the work folder of this run, /var/tmp/asct"),
    check("/dev/vda", "signature", None, "Permission denied"),
    END,
)


def guard(*bodies: dict[str, Any], status: int = 0) -> Callable[..., plant.FakeBuilt]:
    """Return a `provide` function for a guard that prints these lines whatever its arguments are."""
    text = "".join(json.dumps(body) + "\n" for body in bodies)

    def provide(host: Host, kernel: str, _facts: HostFacts, _folder: Path) -> plant.FakeBuilt:
        assert kernel == "guard"
        path = f"{host.work}/fake-guard"
        script = f"#!/bin/sh\ncat <<'over'\n{text}over\nexit {status}\n"
        host.execute(["sh", "-c", 'cat >"$1" && chmod 700 "$1"', "sh", path], stdin=script)
        return plant.FakeBuilt(path)

    return provide


def ports(*bodies: dict[str, Any], status: int = 0) -> Services:
    return plant.collaborators(catalog=installed(), provide=guard(*(bodies or LOOK), status=status))

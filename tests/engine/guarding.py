"""A replacement for the kernel guard that prints what a test specifies, and a benchmark that writes to a device under
it.

The replacement never opens a target. The real guard is tested in tests/kernels and tests/e2e.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from asct.engine.guard import REQUIRED
from asct.hosts.base import Host
from asct.plan.model import Destroys, Safety
from asct.sdk.benchmark import Benchmark, Context
from asct.sdk.facts import HostFacts
from asct.sdk.guard import Target, guarded
from asct.sdk.metric import Metric
from asct.sdk.needs import GUARD, Needs
from asct.sdk.params import Params, setting
from asct.sdk.record import Measurement
from asct.sdk.step import Output, Step, Tool
from tests.engine.plant import FakeBuilt

DEVICE = "/dev/loop0"
"""A block device that exists on every test machine, whether or not it is attached."""
SERIAL = "/images/scratch.img"

SCRIPT = """#!{python}
import json, pathlib, sys
calls = pathlib.Path({calls!r})
number = len(calls.read_text().splitlines()) + 1 if calls.exists() else 1
targets = [line.split("\\t") for line in pathlib.Path("targets").read_text().splitlines()]
with calls.open("a") as file:
    file.write(json.dumps([sys.argv[1:], targets]) + "\\n")
say = json.loads({say!r})
def put(**line): print(json.dumps(line, separators=(",", ":")), flush=True)
put(t="meta", abi=1)
refused = None
for access, _, _, _, path in targets:
    put(t="device", when="before", path=path, kind="block", bytes=1 << 30, serial={serial!r})
    for name in {names!r}:
        ok, detail = say.get("checks", {{}}).get(name, [True, ""]) if number >= say.get("from", 1) else [True, ""]
        put(t="check", path=path, name=name, ok=ok, detail=detail)
        refused = refused or (None if ok is True else f"refused: {{name}}: {{detail}}")
if refused:
    put(t="end", ok=False, error=refused)
    sys.exit(4)
put(t="ready")
if "--" in sys.argv:
    wants, stopped = say.get("takes", 0), ""
    if "--max-write-bytes" in sys.argv:
        most = int(sys.argv[sys.argv.index("--max-write-bytes") + 1])
        wants, stopped = min(wants, most), "volume" if wants >= most else ""
    for taken in (0, wants):
        put(t="sample", real_ns=0, mono_ns=0, program_cpu_ns=None, host_cpu_ns=None,
            devices=[[0, 0, 0, 7 + taken, 0, 0, 0] for _ in targets], temperatures_mc=[])
    put(t="exit", status=0, stopped=stopped, started_ns=0, ended_ns=1)
put(t="end", ok=True)
"""


class Guard:
    """A `provide` function for the services. Afterward, it shows how guard was called."""

    def __init__(self, folder: Path, **say: Any) -> None:
        self._calls = folder / "guard-calls"
        self.say = say

    def provide(self, host: Host, kernel: str, _facts: HostFacts, _folder: Path) -> FakeBuilt:
        assert kernel == GUARD
        path = f"{host.work}/fake-guard"
        names = [name for name in sorted(REQUIRED) if name not in self.say.get("silent", ())]
        script = SCRIPT.format(
            python=sys.executable, calls=str(self._calls), say=json.dumps(self.say), names=names, serial=SERIAL
        )
        host.execute(["sh", "-c", 'cat >"$1" && chmod 700 "$1"', "sh", path], stdin=script)
        return FakeBuilt(path)

    @property
    def calls(self) -> list[tuple[list[str], list[list[str]]]]:
        """Return the arguments and the targets (fields) of every call."""
        lines = self._calls.read_text().splitlines() if self._calls.exists() else []
        return [tuple(json.loads(line)) for line in lines]

    @property
    def programs(self) -> int:
        """Return how often a program was started under guard."""
        return sum("--" in arguments for arguments, _ in self.calls)


class WriterParams(Params):
    device: str = setting(DEVICE, "what is written")
    index: int = setting(0, "a number to sweep")
    rounds: int = setting(1, "steps of a repeat")


class Writer(Benchmark[WriterParams]):
    """A benchmark that writes to a device under guard."""

    name = "writer"
    title = summary = "writer"
    version = "1"
    params_model = WriterParams
    metrics = (Metric("value", "1", "neither", "a value"),)

    def needs(self, params: WriterParams, facts: HostFacts | None) -> Needs:
        return Needs(kernels=(GUARD,), writes_bytes=((params.device, 10),), targets=(params.device,))

    def steps(self, params: WriterParams, context: Context) -> Sequence[Step]:
        if len(context.done) >= params.rounds:
            return ()
        consent = context.consents[params.device]
        target = Target(
            params.device, "write", consent.serial, consent.overwrite, dirty=params.device in context.written_paths
        )
        step = Step("write", Tool("sh"), ("-c", "exit 9"))
        return (guarded(step, "/bin/sh", [target]),)

    def parse(self, params: WriterParams, outputs: Sequence[Output], facts: HostFacts) -> Sequence[Measurement]:
        return (Measurement("value", 1.0),)


def consented(max_written: int | None = None, **changes: Any) -> Safety:
    """Return the `safety` section of a plan that allows asct to overwrite DEVICE on this machine."""
    from asct.diagnostics.model import Span

    fields = {"host": "local", "device": DEVICE, "serial": SERIAL, "overwrite": False, "reason": "test"}
    return Safety((Destroys(**{**fields, **changes}, span=Span("plan.yaml", 1, 1)),), max_written)  # type: ignore[arg-type]

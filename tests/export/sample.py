"""Write a whole run as the engine leaves it: two benchmarks, one or more hosts, and, if requested, failures and unusual
text."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from asct.sdk.disturbance import Disturbance, Disturbances
from asct.sdk.facts import (
    Cache,
    Cpu,
    HostFacts,
    HugePages,
    Load,
    Memory,
    NumaNode,
    System,
    ToolFact,
)  # fmt: skip
from asct.sdk.record import Record, Stats
from asct.store.model import (
    CommandDocument,
    HostEntry,
    HostVerdict,
    JobEntry,
    Moment,
    Reason,
    Run,
    Status,
    Telemetry,
    Verdict,
)
from asct.store.writer import RunWriter

HASH = "3f9c2a" + "0" * 58
RUN = "20261121T042813Z-3f9c2a"
SIZES = [128 * 2**power for power in range(24)]
DEPTHS = [1, 2, 4, 8, 16, 32, 64, 128]
FULL = "fio ended with exit status 1: no space left"
LEVELS = (
    ("L1", 128, 33_400, 16_700, 1.18, 4.0),
    ("L2", 33_400, 1_020_000, 524_288, 4.12, 14.0),
    ("LLC", 1_020_000, 26_200_000, 8_388_608, 21.6, 73.0),
    ("DRAM", 26_200_000, 1 << 30, 553_648_128, 98.1, 333.0),
)  # fmt: skip
PLAN = """plan: 1
name: quickstart
benchmarks: [latency-sweep, storage-io-depth-sweep]
expect:
  - {metric: latency-sweep.latency, at: {level: DRAM}, max: 130 ns}
"""


@dataclass(frozen=True)
class Sample:
    """The properties of the run. `text` appears wherever a plan, a host or a program may supply text."""

    hosts: tuple[str, ...] = ("local",)
    repeats: int = 3
    fail_depth: int | None = None
    verdicts: bool = True
    text: str = ""
    status: str = "complete"
    quiet: bool = False
    checks: tuple[dict[str, Any], ...] = ()
    features: Any = None


def write_sample(results: Path, sample: Sample = Sample()) -> Path:
    """Write a run below `results`, and return its folder."""
    run = _run(sample)
    writer = RunWriter.create(results, run, PLAN + f"# {sample.text}\n", json.dumps(_resolved(sample)))
    try:
        for number, host in enumerate(sample.hosts):
            writer.document(writer.layout.facts(host), facts(host, sample.text))
            writer.document(writer.layout.disturbances(host), disturbances(host, sample.text))
            _latency(writer, host, 1 + 0.12 * number)
            _depths(writer, sample, host, 1 + 0.2 * number)
        writer.finish(ended_at="2026-11-21T04:29:41Z", status=sample.status, exit_code=_exit_code(sample))
        writer.seal()
    finally:
        writer.close()
    return writer.layout.root


def facts(host: str, text: str = "") -> HostFacts:
    """Return the facts of an ordinary small virtual machine."""
    cpus = list(range(8))
    return HostFacts(
        host=host,
        collected_at="2026-11-21T04:28:13Z",
        system=System(
            hostname=host, arch="x86_64", kernel="6.1.0-28-amd64", os="Debian GNU/Linux 12 (bookworm)" + text, uid=1000,
            virtualization="kvm",
        ),
        cpu=Cpu(
            cpus=8, online=cpus, allowed=cpus, model="AMD EPYC 7B13" + text, vendor="AuthenticAMD", sockets=1, cores=4,
            threads_per_core=2, frequency_hz=3.4e9,
        ),
        caches=[
            Cache(level=1, type="Data", size_bytes=32768, line_bytes=64, shared_cpus=[0, 1]),
            Cache(level=1, type="Instruction", size_bytes=32768, line_bytes=64, shared_cpus=[0, 1]),
            Cache(level=2, type="Unified", size_bytes=1 << 20, line_bytes=64, shared_cpus=[0, 1]),
            Cache(level=3, type="Unified", size_bytes=32 << 20, line_bytes=64, shared_cpus=cpus),
        ],
        nodes=[NumaNode(id=0, cpus=cpus, memory_bytes=32 << 30, distances=[10])],
        memory=Memory(
            total_bytes=32 << 30, available_bytes=29 << 30, page_bytes=4096, thp="madvise",
            huge_pages=[HugePages(page_bytes=2 << 20, total=0, free=0)],
        ),
        load=Load(load1=0.08, load5=0.21, load15=0.3, cpu_pressure_avg10=0.0),
        tools={"fio": ToolFact(path="/usr/bin/fio", version="fio-3.33"), "mpstat": ToolFact(path="/usr/bin/mpstat")},
        io_uring=False,
        work_free_bytes=210 << 30,
        work_filesystem="ext4",
        unknown={"cpu.governor": "no cpufreq in this guest"},
    )  # fmt: skip


def disturbances(host: str, text: str = "") -> Disturbances:
    """Return three disturbances: one that affects both benchmarks, one that affects storage, and one that may affect
    something."""
    governor = Disturbance(
        name="governor", title="governor schedutil" + text, seen="CPU 0-7: schedutil (driver acpi-cpufreq)" + text,
        effect="clocks below the highest: latency in seconds is higher, bandwidth and IOPS are lower",
        touches=["memory", "storage"], sure="likely", why="the clock follows the load of before",
        fix=["for n in $(seq 0 7); do", "  echo performance >/sys/devices/system/cpu/cpu$n/cpufreq/scaling_governor",
             "done"],
        undo=["for n in $(seq 0 7); do", "  echo schedutil >/sys/devices/system/cpu/cpu$n/cpufreq/scaling_governor",
              "done"],
        scripted=True, source="Linux, Documentation/admin-guide/pm/cpufreq.rst",
    )  # fmt: skip
    dirty = Disturbance(
        name="dirty-pages", title="1G to be written back", seen="1G of the file cache not yet written to the drives",
        effect="the kernel writes them to the drives while these are measured: latency is higher",
        touches=["storage"], sure="certain", why="they are written within some thirty seconds", fix=["sync"],
        advice="nothing to undo" + text, source="Documentation/admin-guide/sysctl/vm.rst",
    )  # fmt: skip
    boost = Disturbance(
        name="boost", title="boost on", seen="the CPU may exceed its nominal clock", effect="values differ",
        touches=["memory", "storage"], sure="possible", why="a cool machine holds it", source="cpufreq.rst",
        fix=["echo 0 >/sys/devices/system/cpu/cpufreq/boost"], undo=["echo 1 >/sys/devices/system/cpu/cpufreq/boost"],
    )  # fmt: skip
    return Disturbances(host=host, findings=[dirty, governor, boost])


def _run(sample: Sample) -> Run:
    return Run(
        run=RUN,
        plan="quickstart",
        description="Memory and storage of this machine in two minutes." + sample.text,
        title="Quickstart" + sample.text,
        plan_hash=HASH,
        plan_file="plans/quickstart.yaml",
        tool_version="0.1.0",
        git_commit="9e21ce706f5a",
        git_dirty=False,
        started_at="2026-11-21T04:28:13Z",
        hosts=[HostEntry(name=host, transport="local", status="ok") for host in sample.hosts],
        jobs=[entry for host in sample.hosts for entry in _jobs(sample, host)],
        counts=_counts(sample),
        verdicts=_verdicts(sample) if sample.verdicts else [],
        findings=[
            {
                "schema": "asct.diagnostic/1", "code": "E411", "severity": "warning", "host": sample.hosts[0],
                "message": "no 2 MiB pages are reserved: `latency-sweep` uses transparent huge pages" + sample.text,
                "hint": "sudo sysctl vm.nr_hugepages=512" + sample.text, "file": None, "line": None, "column": None,
                "length": None, "label": None, "notes": [],
            }
        ],
        command=["asct", "apply", "plans/quickstart.yaml"],
    )  # fmt: skip


def _exit_code(sample: Sample) -> int:
    return 3 if sample.fail_depth else 1 if sample.verdicts else 0


def _lost(sample: Sample) -> int:
    return sample.repeats if sample.fail_depth else 0


def _counts(sample: Sample) -> dict[str, int]:
    good = (1 + len(DEPTHS) * sample.repeats - _lost(sample)) * len(sample.hosts)
    noisy = 0 if sample.quiet else len(sample.hosts)
    counts = {"ok": good - noisy, "noisy": noisy}
    return {**counts, "failed": _lost(sample) * len(sample.hosts)} if sample.fail_depth else counts


def _jobs(sample: Sample, host: str) -> list[JobEntry]:
    noisy = 0 if sample.quiet else 1
    depth = {"ok": len(DEPTHS) * sample.repeats - _lost(sample) - noisy, "noisy": noisy}
    if sample.fail_depth:
        depth["failed"] = _lost(sample)
    return [
        JobEntry(
            id="latency-sweep", benchmark="latency-sweep", version="1", host=host, points=1, repeats=1,
            reason="named in the plan", counts={"ok": 1}, elapsed_s=12.4,
        ),
        JobEntry(
            id="storage-io-depth-sweep", benchmark="storage-io-depth-sweep", version="1", host=host,
            points=len(DEPTHS), repeats=sample.repeats, reason="named in the plan", counts=depth, elapsed_s=58.9,
            note=f"E601 {FULL}{sample.text}" if sample.fail_depth else "",
            host_states={"noisy": 2, "stable": len(DEPTHS) * sample.repeats - 2}, host_reasons={"steal": 2},
        ),
    ]  # fmt: skip


def _verdicts(sample: Sample) -> list[Verdict]:
    host = sample.hosts[0]
    common: dict[str, Any] = {"host": host, "severity": "fail", "file": "plans/quickstart.yaml"}
    return [
        Verdict(
            outcome="pass", id="latency-sweep", metric="latency", unit="s", at={"level": "DRAM"}, value=98.1e-9,
            max=130e-9, text="latency-sweep.latency at level DRAM: at most 130 ns" + sample.text, line=5, **common,
        ),
        Verdict(
            outcome="fail", id="storage-io-depth-sweep", metric="read_iops", unit="ops/s", at={"iodepth": 32},
            value=57_900.0, min=60_000.0, text="storage-io-depth-sweep.read_iops at iodepth 32: at least 60k",
            reason="the bound lies within the spread 56.9k ops/s to 61.2k ops/s" + sample.text, line=6, **common,
        ),
        Verdict(
            outcome="unknown", id="*", metric="*", text="*: no worse than 5% of the baseline",
            reason="the baseline `golden` cannot be read: E505 no run in results/ matches `golden`",
            if_missing="warn", no_baseline=True, line=7, **common,
        ),
    ]  # fmt: skip


def _resolved(sample: Sample) -> dict[str, Any]:
    return {
        "jobs": [
            {
                "host": host,
                "id": "storage-io-depth-sweep",
                "settings": {},
                "origins": {"iodepth": ["sweep", ["plans/quickstart.yaml", 3, 5, 7]], "rw": ["default", None]},
            }
            for host in sample.hosts
        ],
        "checks": list(sample.checks),
        "report": {"features": sample.features},
    }


def _record(host: str, job: str, point: dict[str, Any], repeat: int, metric: str, value: float, **more: Any) -> Record:
    units = {"lat": "s", "cycles": "cycles", "bound": "B", "size": "B", "bandwidth": "B/s", "iops": "ops/s", "cpu": "%"}
    unit = next((u for key, u in reversed(units.items()) if key in metric.replace("latency_", "")), "s")
    number = 0 if not point else next(iter(point.values()))
    point_id = f"{number:012x}"
    return Record(
        run=RUN, plan="quickstart", host=host, benchmark=job, id=job, version="1", point=point, repeat=repeat,
        coords=more.get("coords", {}), point_id=point_id, metric=metric, value=value, unit=unit,
        better="higher" if unit in ("B/s", "ops/s") else "lower" if unit in ("s", "cycles") else "neither",
        stats=more.get("stats"), flags=more.get("flags", []), raw=f"jobs/{host}/{job}/{point_id}/r{repeat}",
    )  # fmt: skip


def _curve(size: int) -> float:
    """Return a latency in seconds. The curve has steps at the level bounds, which are smoothed as TLBs and cache
    replacement would."""
    value = LEVELS[0][4]
    for (_, _, upper, _, low, _), (_, _, _, _, high, _) in pairwise(LEVELS):
        share = 1 / (1 + math.exp(-6 * (math.log2(size) - math.log2(upper * 1.15))))
        value += (high - low) * share
    return value * 1e-9


def _latency(writer: RunWriter, host: str, factor: float) -> None:
    job, records = "latency-sweep", []
    for size in SIZES:
        value = _curve(size) * factor
        spread = value * (0.004 if size < 1 << 22 else 0.03)
        stats = Stats(
            n=31, median=value, mad=spread / 2, ci95=(value - spread, value + spread), min=value * 0.99, max=value * 1.1
        )
        records.append(_record(host, job, {}, 1, "latency", value, coords={"size": size}, stats=stats))
    for level, lower, upper, best, ns, cycles in LEVELS:
        at = {"coords": {"level": level}}
        stats = Stats(n=31, median=ns * 1e-9, mad=0, ci95=(ns * 0.996e-9, ns * 1.004e-9), min=0, max=1)
        records.append(_record(host, job, {}, 1, "latency", ns * factor * 1e-9, stats=stats, **at))
        records.append(_record(host, job, {}, 1, "latency_cycles", cycles, **at))
        for name, value in (("lower_bound", lower), ("upper_bound", upper), ("optimum_size", best)):
            records.append(_record(host, job, {}, 1, name, float(value), **at))
    folder = writer.layout.repeat(host, job, records[0].point_id, 1)
    writer.repeat_folder(folder)
    (folder / "stdout").write_text('{"t":"meta"}\n{"t":"end","ok":true}\n')
    (folder / "stderr").write_text("")
    settings = {"stride": 64, "sizes": SIZES, "pages": "auto"}
    argv = ["/var/tmp/asct/k/chase-1f2e", "--sizes", ",".join(map(str, SIZES)), "--stride", "64", "--pages", "thp"]
    command = CommandDocument(
        host=host, benchmark=job, settings=settings, swept={}, steps=[{"name": "chase", "argv": argv}]
    )
    status = Status(
        status="ok", point_id=records[0].point_id, repeat=1, started_at="2026-11-21T04:28:15Z", elapsed_s=12.4,
        command=command,
    )  # fmt: skip
    writer.finish_repeat(folder, status, records)


def _depths(writer: RunWriter, sample: Sample, host: str, factor: float) -> None:
    for repeat in range(1, sample.repeats + 1):
        for depth in DEPTHS:
            _one_depth(writer, sample, host, factor, (depth, repeat))


def _host_verdict(which: tuple[int, int], text: str) -> HostVerdict:
    """Return the host state. The first two repeats of one depth were measured while the hypervisor withheld CPU
    time."""
    depth, repeat = which
    if depth != 4 or repeat > 2:
        return HostVerdict(state="stable")
    means = "the hypervisor ran other guests" + text
    reason = Reason(what="steal", state="noisy", seen=1.5 * repeat, limit=1.0, unit="%", means=means)
    return HostVerdict(state="noisy", reasons=[reason])


def _telemetry(which: tuple[int, int], text: str) -> Telemetry:
    return Telemetry(verdict=_host_verdict(which, text), steps=1, elapsed_s=2.4, before=Moment(), after=Moment())


def _one_depth(writer: RunWriter, sample: Sample, host: str, factor: float, which: tuple[int, int]) -> None:
    depth, repeat = which
    job, point = "storage-io-depth-sweep", {"iodepth": depth}
    wobble = 1 + 0.01 * (repeat - 2) * (1 + depth % 3)
    rate = 60_000 * factor * depth / (depth + 3) * wobble
    latency = depth / rate
    values = {
        "iops": rate, "read_iops": rate, "bandwidth": rate * 4096, "read_bandwidth": rate * 4096,
        "read_clat_mean": latency, "read_clat_p50": latency * 0.92, "read_clat_p95": latency * 1.7,
        "read_clat_p99": latency * 2.6, "read_clat_p99_99": latency * 9.5, "cpu_usr": 1.5 + rate / 30_000,
        "cpu_sys": 3 + rate / 9_000, "cpu_iowait": 20.0 / depth, "cpu_irq": 0.1, "cpu_soft": 0.3,
    }  # fmt: skip
    noisy = (depth, repeat) == (64, 2) and not sample.quiet
    flags = ["noisy"] if noisy else []
    records = [_record(host, job, point, repeat, name, value, flags=flags) for name, value in values.items()]
    failed = depth == sample.fail_depth
    folder = writer.layout.repeat(host, job, records[0].point_id, repeat)
    writer.repeat_folder(folder)
    (folder / "stdout").write_text("")
    (folder / "stderr").write_text(f"fio: pid=0, err=28/file:filesetup.c{sample.text}\n" if failed else "")
    (folder / "point.fio").write_text(f"[global]\niodepth={depth}\n")
    argv = ["/usr/bin/fio", "--output-format=json+", "--output=fio.json", "point.fio"]
    companion = {"argv": ["/usr/bin/mpstat", "-P", "ALL", "-o", "JSON", "1"]}
    settings = {"block_size": 4096, "iodepth": depth, "rw": "randread", "file_names": sample.text or None}
    steps = [{"name": "fio", "argv": argv, "companions": [companion]}]
    command = CommandDocument(host=host, benchmark=job, settings=settings, swept=point, steps=steps)
    diagnostic = {
        "code": "E601", "severity": "error", "message": FULL + sample.text,
        "hint": "free some space in the work folder",
    }  # fmt: skip
    status = Status(
        status="failed" if failed else "noisy" if noisy else "ok", point_id=records[0].point_id, repeat=repeat,
        started_at="2026-11-21T04:28:40Z", elapsed_s=2.4, flags=flags, diagnostic=diagnostic if failed else None,
        command=command, telemetry=_telemetry(which, sample.text),
    )  # fmt: skip
    writer.finish_repeat(folder, status, [] if failed else records)

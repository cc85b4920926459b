"""Write folders in the format of Arm's ASCT 0.5 and 0.6, for tests.

The folders are written by hand, not recorded by a program. The names of files, columns and keys, their nesting and
their units follow the published source code of ASCT (`save_benchmark_result` and the recipes). All numbers are
invented.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Table = dict[str, dict[str, Any]]

SYSTEM: dict[str, Any] = {
    "report": {"collected_time": "2026-05-04 08:00:00+00:00", "asct_ver": "0.6.0", "run_as_root": True},
    "sys_hw": {
        "arch": "ARMv9.0",
        "n_cpus": 4,
        "cpu_type": "4 x Arm Neoverse-V2 r0p0",
        "cpu_features": ["fp", "asimd", "sve"],
        "cache_info": "size, associativity, sharing",
        "cache_line_size": 64,
        "cache_size_dict": {"L1": 65536, "L2": 2097152, "L3": 33554432},
        "caches": {"L1D 64K 4-way 64b-line": 4},
        "atomics": True,
        "interconnect": ["CMN-700", 1],
        "n_numa_nodes": 1,
        "numa_nodes": {"0": [17179869184, [0, 1, 2, 3]]},
        "numa_kern_cfg": True,
        "sockets": 1,
    },
    "sys_info": {"manufacturer": "ACME", "product_name": "Rack 1", "version": "A", "serial": None, "uuid": None},
    "bios_info": {"vendor": "ACME", "version": "1.2", "release_date": "03/01/2026"},
    "memory": {
        "total_size": 17179869184,
        "n_channels": 8,
        "type_str": "DDR5",
        "manufacturer": None,
        "part_number": None,
        "speed": 4800,
        "data_width": 64,
        "peak_theoretical_bw": 307200000000,
    },
    "kern_cfg": {
        "ver": "6.8.0",
        "cfg_file": "/boot/config-6.8.0-40-generic",
        "build_dir": "/lib/modules/6.8.0-40-generic/build",
        "huge_pages": "2048kB: 0, 1048576kB: 4",
        "thp": "madvise",
        "distro": "Ubuntu 24.04.3 LTS",
        "libc_ver": "glibc 2.39",
        "mitigations": "spectre_v1: __user pointer sanitization",
    },
    "perf_feats": {"bpf": {"bpf": True}},
    "vulnerabilities": {"spectre_v1": "Mitigation: __user pointer sanitization", "meltdown": "Not affected"},
}


def table(columns: Sequence[str], *rows: Sequence[Any], index: Sequence[str] = ()) -> Table:
    """Return a table in the layout of `DataFrame.to_dict`: `{column: {row: cell}}`."""
    labels = index or [str(number) for number in range(len(rows))]
    cells = zip(*rows, strict=True)
    return {name: dict(zip(labels, values, strict=True)) for name, values in zip(columns, cells, strict=True)}


LEVELS = ("L1", "L2", "LLC", "DRAM")
SIZES = (128, 32832, 589824, 8388608, 603979776)
LATENCY_CURVE = table(
    ("sizes", "repetitions", "average_latency_ns", "average_latency_cyc"),
    *((size, 10, latency, latency / 40) for size, latency in zip(SIZES, (1.5, 1.5, 4.0, 25.0, 110.0), strict=True)),
)
LATENCY_LEVELS = table(
    ("Lower Bound", "Upper Bound", "Optimum Datasize", "Latency [ns]"),
    (128, 65536, 32832, 1.5),
    (131072, 1048576, 589824, 4.0),
    (8388608, 8388608, 8388608, 25.0),
    (134217728, 1073741824, 603979776, 110.0),
    index=LEVELS,
)
BANDWIDTH_CURVE = table(
    ("sizes", "repetitions", "total_bandwidth_mbps", "total_bandwidth_bpc"),
    *((size, 10, rate, rate / 100) for size, rate in zip(SIZES, (9e5, 8e5, 9e4, 5e4, 3e4), strict=True)),
)
BANDWIDTH_LEVELS = table(
    ("Datasize Used", "Level", "Bandwidth [GB/s]"),
    *((size, level, rate) for size, level, rate in zip(SIZES[1:], LEVELS, (800.0, 90.0, 50.0, 30.0), strict=True)),
)
NODES = ("Node 0", "Node 1")
_STORAGE = (
    "Read BW (MB/s)", "Write BW (MB/s)", "Total BW (MB/s)", "Read Thruput (kops)", "Write Thruput (kops)",
    "Thruput (kops)", "Read Lat. (us)", "Write Lat. (us)", "Lat. (us)", "CPU usr (%)", "CPU sys (%)", "CPU iowait (%)",
)  # fmt: skip


def storage(index: Sequence[str]) -> Table:
    """Return the table of a storage sweep that only reads."""
    rows = ((100.0, 0.0, 100.0, 25.6, 0.0, 25.6, 620.0, 0.0, 620.0, 5.0, 7.5, 60.0) for _ in index)
    return table(_STORAGE, *rows, index=index)


RESULTS: dict[str, Any] = {
    "system-info": SYSTEM,
    "latency-sweep": {"sweep_data": LATENCY_CURVE, "summary": LATENCY_LEVELS},
    "bandwidth-sweep": {"sweep_data": BANDWIDTH_CURVE, "summary": BANDWIDTH_LEVELS},
    "idle-latency": table(NODES, (110.0, 250.0), (240.0, 112.0), index=NODES),
    "cross-numa-bandwidth": table(NODES, (90.0, 40.0), (41.0, 91.0), index=NODES),
    "peak-bandwidth": table(
        ("Traffic type", "Peak BW [GB/s]", "% of Peak Theoretical"),
        ("All Reads", 180.0, 58.6),
        ("3:1 Reads-Writes", 160.0, 52.1),
        ("2:1 Rd-Wr (Non-Temporal)", 120.0, 39.1),
    ),
    "loaded-latency": table(
        ("Injected NOPs", "Loaded latency [ns]", "Bandwidth [GB/s]", "% of Peak Theoretical BW"),
        (3000, 111.0, 10.0, 3.3),
        (0, 300.0, 170.0, 55.3),
    ),
    "c2c-latency": table(
        ("CPUA", "CPUB", "LATENCY", "CPUA_NODE", "MEMBIND_NODE"),
        (2, 3, 40.0, 0, 0),
        (3, 2, 42.0, 0, 0),
        (2, 3, 90.0, 0, 1),
    ),
    "storage-request-size-sweep": storage(("4K", "128K")),
    "storage-io-depth-sweep": storage(("1", "16")),
    "storage-process-count-sweep": storage(("1", "4")),
    "storage-access-pattern-sweep": storage(("randread", "rw")),
}
"""The results of each recipe."""
_CONFIG: Mapping[str, Any] = {"duration": 0.25, "iterations": 100000, "data_size": 603979776, "cycle_base": False}
_STORAGE_CONFIG: Mapping[str, Any] = {
    "duration": 60, "blocksize": 4096, "ioengine": "libaio", "iodepth": 16, "numjobs": 4, "rw_pattern": "randread",
    "rwmixread": 70, "filesize": 1048576000, "filenames": [], "create_temp_file": True, "direct": True,
    "target_cpus": [0, 1, 2, 3],
}  # fmt: skip


def metadata(version: str, benchmarks: Sequence[str], **more: Any) -> dict[str, Any]:
    """Return the metadata in asct.json."""
    return {
        "run_id": "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
        "timestamp": 1777881600.0,
        "version": version,
        "is_sudo": True,
        "cmd_arguments": {"command": "run", "format": "stdout", "quick_mode": "False", "benchmarks": [*benchmarks]},
        **more,
    }


def write_result(root: Path, name: str, result: Any, **config: Any) -> None:
    """Write the files of a recipe as ASCT 0.5.1 and later do; `config` changes settings."""
    folder = root / "raw" / name
    folder.mkdir(parents=True, exist_ok=True)
    usual = _STORAGE_CONFIG if name.startswith("storage") else _CONFIG
    if name.endswith("width-sweep") or name == "latency-sweep":
        usual = {**_CONFIG, "data_size": 0}
    data = {key: value for key, value in result.items() if key != "summary"}
    texts = {"data.json": json.dumps(data), "metadata.json": json.dumps({"name": name, "config": {**usual, **config}})}
    if "summary" in result:
        texts["summary.json"] = json.dumps(result["summary"])
    for file, text in texts.items():
        (folder / file).write_text(text)
    payload = b"".join(f"{file}\0{texts[file]}\0".encode() for file in sorted(texts))
    (folder / ".hash").write_text(hashlib.sha256(payload).hexdigest())


def folder_06(root: Path, results: Mapping[str, Any] = RESULTS, version: str = "0.6.0", **more: Any) -> Path:
    """Write a folder of ASCT 0.6 (or 0.5.1) and return it."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "asct.json").write_text(json.dumps({"metadata": metadata(version, [*results], **more)}))
    for name, result in results.items():
        write_result(root, name, result)
    return root


def folder_05(root: Path, results: Mapping[str, Any] = RESULTS) -> Path:
    """Write a folder of ASCT 0.5.0, which consists of asct.json, and return it."""
    flat: dict[str, Any] = {"metadata.version": "0.5.0", "metadata.cmd_arguments.command": "run"}
    raw: dict[str, Any] = {}
    for name, result in results.items():
        raw[name] = json.dumps(result["sweep_data"]) if "sweep_data" in result else result
    for column, cells in results.get("latency-sweep", {}).get("summary", {}).items():
        flat |= {f"latency-sweep.data.{column}.{level}": cell for level, cell in cells.items()}
    levels = results.get("bandwidth-sweep", {}).get("summary", {})
    for row, level in levels.get("Level", {}).items():
        named = {column: cells[row] for column, cells in levels.items() if column != "Level"}
        flat |= {f"bandwidth-sweep.data.{level}.{column}": cell for column, cell in named.items()}
    root.mkdir(parents=True)
    (root / "asct.json").write_text(json.dumps({"diff": flat, "raw": raw}))
    return root

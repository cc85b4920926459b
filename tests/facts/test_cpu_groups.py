"""The CPUs and the CPU time that control groups allow, read by a command on hosts and from files in dumps."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from asct.facts import groups
from asct.facts.exchange import COMMANDS
from asct.facts.files_snapshot import load
from asct.facts.memory import memory
from asct.facts.snapshot import CommandOutput, Snapshot
from asct.facts.unknown import UnknownFacts
from tests.facts.made import written
from tests.facts.shells import SHELLS

ROOT = "/sys/fs/cgroup"


@pytest.mark.parametrize(
    ("said", "expected"),
    [("max 100000", None), ("", None), ("250000 100000\nmax 100000", 2.5),
     ("-1 100000\n50000 100000\n200000 100000", 0.5), ("5 0\nx y\n", None)],
)  # fmt: skip
def test_quota(said: str, expected: float | None) -> None:
    gaps = UnknownFacts()
    assert groups.quota(Snapshot({}, {"cpu-groups": CommandOutput(0, said)}), gaps) == expected
    assert "cpu.quota" not in gaps.reasons


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("cgroup", "files", "expected"),
    [
        ("0::/a/b\n", {"cpu.max": "max 100000", "a/cpu.max": "300000 100000", "a/b/cpu.max": "150000 100000"},
         "150000 100000\n300000 100000\nmax 100000\n"),
        ("0::/\n", {"cpu.max": "200000 100000"}, "200000 100000\n"),
        ("12:cpu,cpuacct:/a\n7:memory:/a\n0::/b\n", {
            "cpu/a/cpu.cfs_quota_us": "-1", "cpu/a/cpu.cfs_period_us": "100000", "cpu/cpu.cfs_quota_us": "40000",
            "cpu/cpu.cfs_period_us": "20000", "memory/a/x": ""}, "-1 100000\n40000 20000\n"),
        ("3:cpuset:/a\n2:cpuacct:/a\n", {"cpu/a/cpu.cfs_quota_us": "7", "cpu/a/cpu.cfs_period_us": "7"}, ""),
        ("0::/gone\n", {"x": ""}, ""),
    ],
)  # fmt: skip
def test_the_groups_of_the_account_are_read(
    cgroup: str, files: dict[str, str], expected: str, shell: str, tmp_path: Path
) -> None:
    """The command from `sources` is run on synthetic folders of control groups."""
    text = COMMANDS["cpu-groups"].replace("/sys/fs/cgroup", str(tmp_path)).replace("/proc/self", str(tmp_path))
    (tmp_path / "cgroup").write_text(cgroup)
    for name, value in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{value}\n")
    told = subprocess.run([*shell.split(), "-c", text], capture_output=True, text=True, check=True)
    assert (told.stdout, told.stderr) == (expected, "")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"/proc/self/cgroup": "0::/a/b", f"{ROOT}/a/cpu.max": "300000 100000", f"{ROOT}/a/b/cpu.max": "max 100000",
          f"{ROOT}/c/cpu.max": "1000 100000"}, 3.0),
        ({"/proc/self/cgroup": "0::/", f"{ROOT}/cpu.max": "50000 100000"}, 0.5),
        ({"/proc/self/cgroup": "4:cpu,cpuacct:/x\n1:name=systemd:/y", f"{ROOT}/cpu/x/cpu.cfs_quota_us": "150000",
          f"{ROOT}/cpu/x/cpu.cfs_period_us": "100000", f"{ROOT}/cpu/cpu.cfs_quota_us": "-1"}, 1.5),
        ({"/proc/self/cgroup": "4:cpu,cpuacct:/x", f"{ROOT}/cpu,cpuacct/cpu.cfs_quota_us": "20000",
          f"{ROOT}/cpu,cpuacct/cpu.cfs_period_us": "10000"}, 2.0),
        ({"/proc/self/cgroup": "0::/a"}, None),
    ],
)  # fmt: skip
def test_the_quota_of_a_dump(files: dict[str, str], expected: float | None, tmp_path: Path) -> None:
    gaps = UnknownFacts()
    assert groups.quota(load(written(files | {"/sys/x": ""}, tmp_path)), gaps) == expected
    assert gaps.reasons == {}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"/proc/self/status": "Name: sh\nCpus_allowed: f0\nCpus_allowed_list:\t2-3"}, [2, 3]),
        ({"/proc/self/status": "Cpus_allowed:\t00000001,0000000f"}, [0, 1, 2, 3, 32]),
        ({"/proc/self/cgroup": "0::/a/b", f"{ROOT}/a/cpuset.cpus.effective": "4-7",
          f"{ROOT}/cpuset.cpus.effective": "0-7"}, [4, 5, 6, 7]),
        ({"/proc/self/cgroup": "3:cpuset:/job", f"{ROOT}/cpuset/job/cpuset.cpus": "1,3"}, [1, 3]),
        ({"/proc/self/cpuset": "/torque/1", "/dev/cpuset/torque/1/cpus": "8-9", "/dev/cpuset/cpus": "0-15"}, [8, 9]),
        ({"/proc/self/cpuset": "/gone", "/dev/cpuset/cpus": "0-1"}, [0, 1]),
    ],
)  # fmt: skip
def test_the_cpus_of_the_account(files: dict[str, str], expected: list[int], tmp_path: Path) -> None:
    gaps = UnknownFacts()
    assert groups.allowed(load(written(files | {"/sys/x": ""}, tmp_path)), gaps) == expected
    assert gaps.reasons == {}


@pytest.mark.parametrize("text", ["", "::", "0::", "0::../../x", "x:y", "1:cpu", ":::::", "0::" + "/a" * 3000])
def test_odd_groups_allow_everything(text: str) -> None:
    found = Snapshot({"/proc/self/cgroup": text, "/proc/self/cpuset": text})
    assert groups.quota(found, UnknownFacts()) is None
    assert groups.allowed(found, UnknownFacts()) == []


@pytest.mark.parametrize(
    ("names", "root", "limit", "used"),
    [("", "", "max", "current"), ("memory", "/memory", "limit_in_bytes", "usage_in_bytes")],
)
def test_a_limit_of_memory_in_a_dump(names: str, root: str, limit: str, used: str) -> None:
    """The lowest limit among the group and its ancestors applies, together with what is left below each. The inactive
    file cache counts as free."""
    above = f"/sys/fs/cgroup{root}/a"
    files = {
        "/proc/meminfo": "MemTotal: 8000000 kB\nMemAvailable: 6000000 kB",
        "/proc/self/cgroup": f"4:{names}:/a/b\n3:cpu,cpuacct:/" if names else "0::/a/b",
        f"{above}/b/memory.{limit}": "9223372036854771712" if names else "max",
        f"{above}/b/memory.{used}": "5",
        f"{above}/memory.{limit}": "4000000000",
        f"{above}/memory.{used}": "1500000000",
        f"{above}/memory.stat": "anon 7\ninactive_file 500000000\nother 8",
    }
    gaps = UnknownFacts()
    made = memory(Snapshot(files), "none", gaps)
    assert (made.limit_bytes, made.available_bytes) == (4_000_000_000, 3_000_000_000)
    assert "memory.limit_bytes" not in gaps.reasons
    free = memory(Snapshot({**files, f"{above}/memory.{limit}": "max"}), "none", gaps)
    assert (free.limit_bytes, free.available_bytes) == (None, 6_000_000 << 10)
    assert memory(Snapshot({"/proc/self/cgroup": files["/proc/self/cgroup"]}), "none", gaps).limit_bytes is None
    assert "memory.limit_bytes" not in gaps.reasons
    memory(Snapshot(), "none", gaps)
    assert "control groups" in gaps.reasons["memory.limit_bytes"]

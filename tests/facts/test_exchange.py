"""The script on synthetic machines that are too large to own: its output stays small, and every omission is
reported."""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from asct.facts import exchange
from asct.facts.exchange import script
from asct.facts.mounts import veiled
from asct.facts.reading import facts_of, reasons
from asct.facts.snapshot import Snapshot, from_output
from asct.facts.sources import CPU, FolderSet
from tests.facts.shells import SHELLS

TOKEN = "asct-0123456789abcdef"


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> list[str]:
    return str(request.param).split()


def look(shell: list[str], text: str, folder: Path, path: str | None = None) -> tuple[Snapshot, str]:
    """Return the output of the script in a shell, with a separate work folder and cache."""
    for name in ("work", "cache"):
        (folder / name).mkdir(exist_ok=True)
    program = shutil.which(shell[0])
    assert program is not None
    words = [program, *shell[1:], "-s", TOKEN, f"{folder}/work", f"{folder}/cache"]
    environment = {"PATH": path or "/usr/sbin:/usr/bin:/sbin:/bin"}
    done = subprocess.run(words, input=text, capture_output=True, text=True, env=environment, check=False)
    assert done.stderr == ""
    return from_output(done.stdout, TOKEN), done.stdout


def steady(text: str) -> str:
    """Remove the clocks of x86, which change constantly."""
    return re.sub(r"(?m)^(cpu MHz.*: ).*", r"\1", text).strip()


def test_this_machine_is_written_out_as_it_is(shell: list[str], tmp_path: Path) -> None:
    found, _ = look(shell, script(), tmp_path)
    assert steady(found.files["/proc/cpuinfo"]) == steady(Path("/proc/cpuinfo").read_text())
    packed = [path for path in found.files if re.fullmatch(rf"{CPU}/cpu\d+/.*", path)]
    assert packed
    for path in packed:
        if "freq" not in path and "time" not in path and "usage" not in path:
            assert found.files[path] == Path(path).read_text().rstrip(), path
    assert found.omitted == {}


def test_hosts_without_awk_are_read_unpacked(shell: list[str], tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "grep", "xargs", "cat", "sed", "readlink", "ls", "df", "id", "uname", "rm", "mv", "mkdir"):
        program = shutil.which(name)
        assert program is not None
        (tools / name).symlink_to(program)
    text = script().replace("PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "")
    found, _ = look(shell, text, tmp_path, str(tools))
    assert steady(found.files["/proc/cpuinfo"]) == steady(Path("/proc/cpuinfo").read_text())
    assert "/proc/meminfo" in found.files and not any("mount" in path for path in found.files)


def server(folder: Path, cpus: int) -> None:
    """Create folders for CPUs: two threads per core, 96 cores per package, and five caches, the last of which is shared
    by 16 CPUs."""
    for cpu in range(cpus):
        core = cpu % (cpus // 2)
        values = {
            "core_id": core,
            "physical_package_id": core // 96,
            "thread_siblings_list": f"{core},{core + cpus // 2}",
        }
        files = {f"topology/{name}": str(value) for name, value in values.items()}
        for index, (level, kind, size) in enumerate(
            ((1, "Data", "48K"), (1, "Instruction", "32K"), (2, "Unified", "2048K"), (3, "Unified", "32768K"))
        ):
            first = core // 16 * 16
            shared = f"{first}-{first + 15}" if level == 3 else values["thread_siblings_list"]
            named = {"level": level, "type": kind, "size": size, "shared_cpu_list": shared, "coherency_line_size": 64}
            files |= {f"cache/index{index}/{name}": str(value) for name, value in named.items()}
        for name, text in files.items():
            path = folder / f"cpu{cpu}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")


def test_hundreds_of_cpus(tmp_path: Path) -> None:
    server(tmp_path / "sys", 576)
    info = "".join(
        f"processor\t: {cpu}\nmodel name\t: A chip\nflags\t\t: fpu{' flag' * 200}\ncore id\t\t: {cpu // 2}\n\n"
        for cpu in range(576)
    )
    (tmp_path / "cpuinfo").write_text(info)
    text = script().replace(CPU, f"{tmp_path}/sys").replace("/proc/cpuinfo", f"{tmp_path}/cpuinfo")
    found, printed = look(["dash"], text, tmp_path)
    assert len(printed) < 200_000
    assert found.files[f"{tmp_path}/cpuinfo"] == info.strip()
    wanted = {str(path): path.read_text().strip() for path in (tmp_path / "sys").rglob("*") if path.is_file()}
    taken = {path: text for path, text in found.files.items() if path.startswith(f"{tmp_path}/sys/cpu")}
    assert taken == {path: text for path, text in wanted.items() if path in taken}
    assert len(taken) > 576 * 10


def test_thousands_of_devices(shell: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hardware is listed first, whatever its name is, and the rest is counted."""
    block = tmp_path / "block"
    for number in range(3000):
        (block / f"loop{number}").mkdir(parents=True)
        (block / f"loop{number}" / "size").write_text("8\n")
    for name in ("a b", "sda", "zz"):
        (block / name / "device").mkdir(parents=True)
        (block / name / "size").write_text("9\n")
    folders = FolderSet("block_devices", (f"{block}/*",), ("size", "device/m*"), 100)
    monkeypatch.setattr(exchange, "FOLDERS", (folders,))
    found, _ = look(shell, script(), tmp_path)
    sizes = {path.split("/")[-2]: text for path, text in found.files.items() if path.startswith(f"{block}/")}
    assert len(sizes) == 100
    assert {name for name, text in sizes.items() if text == "9"} == {"a b", "sda", "zz"}
    assert found.omitted == {"block_devices": 2903}


def test_long_files(shell: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, lines in (("a", 5000), ("b", 20), ("c", 3)):
        (tmp_path / name).write_text(f"{'x' * 200}\n" * lines)
    monkeypatch.setattr(exchange, "FILES", tuple(f"{tmp_path}/{name}" for name in "abc"))
    found, printed = look(shell, script(), tmp_path)
    assert len(printed) < 1 << 20
    assert found.omitted[f"{tmp_path}/a"] > 3000
    lines = found.files[f"{tmp_path}/a"].split("\n")
    assert set(lines) == {"x" * 200}
    assert len(lines) + found.omitted[f"{tmp_path}/a"] == 5000


MOUNTS = [
    ("ftp://me:word@h/a /mnt fuse rw,user_id=0", "ftp://***@h/a /mnt fuse rw,user_id=0"),
    ("curlftpfs#ftp://me:p@ss@h/ /mnt fuse rw", "curlftpfs#ftp://***@h/ /mnt fuse rw"),
    ("//me:w@h/share /mnt cifs rw,user=me,password=wo,rd 0 0", "//***@h/share /mnt cifs rw,user=me,password=*** 0 0"),
    ("a /b c secret=x,key=y,rw", "a /b c secret=***"),
    ("1 2 0:9 / /a rw - fuse a rw,Auth_TOKEN=a,b=c", "1 2 0:9 / /a rw - fuse a rw,Auth_TOKEN=***"),
    ("a /b fuse rw,PASSWORD2=Word,rw 0 0", "a /b fuse rw,PASSWORD2=*** 0 0"),
    ("/dev/sda1 / ext4 rw,data=ordered", "/dev/sda1 / ext4 rw,data=ordered"),
    ("me@h:/home /home fuse.sshfs rw", "me@h:/home /home fuse.sshfs rw"),
]


@pytest.mark.parametrize("awk", ["mawk", "busybox awk"])
def test_passwords_of_mounts_do_not_leave_the_host(awk: str) -> None:
    lines = "".join(f"/proc/self/mountinfo:{line}\n/proc/self/mounts:{line}\n/other:{line}\n" for line, _ in MOUNTS)
    program = script().split("program='", 1)[1].split("}'\n", 1)[0] + "}"
    words = [*awk.split(), "-v", f"token={TOKEN}", program]
    said = f"{TOKEN} files -\n{lines}"
    done = subprocess.run(words, input=said, capture_output=True, text=True, check=True)
    for (line, expected), printed in zip(MOUNTS, batched(done.stdout.splitlines()[1:], 3), strict=True):
        assert printed == [f"/proc/self/mountinfo:{expected}", f"/proc/self/mounts:{expected}", f"/other:{line}"]
        assert veiled(line) == veiled(expected) == expected


def batched(lines: list[str], size: int) -> list[list[str]]:
    return [lines[start : start + size] for start in range(0, len(lines), size)]


def test_long_answers_of_programs_are_cut_and_counted(shell: list[str], tmp_path: Path) -> None:
    """What follows the truncation is unknown only for that reason."""
    tools = tmp_path / "bin"
    tools.mkdir()
    address = "3: e0    inet 10.%d.%d.1/24 scope host e0"
    printing = {
        "ip": f"awk 'BEGIN {{ for (i = 0; i < 1500; i++) printf \"{address}\\n\", i / 250, i % 250 }}'",
        "df": "awk 'BEGIN { for (i = 0; i < 1200; i++) printf \"/dev/x%d 100 50 50 50%% /mnt/%d\\n\", i, i }'",
    }
    for name, line in printing.items():
        (tools / name).write_text(f"#!/bin/sh\n{line}\n")
        (tools / name).chmod(0o755)
    found, _ = look(shell, script(), tmp_path, f"{tools}:/usr/sbin:/usr/bin:/sbin:/bin")
    assert (found.omitted["network.addresses"], found.omitted["mounts.size_bytes"]) == (500, 200)
    printed = (found.command_output("addresses") or "").split("\n")
    assert sum(not line.startswith("hosts ") for line in printed) == 1000
    unknown = facts_of(found, "h", datetime.now(UTC)).unknown
    assert unknown["network.addresses"] == "too many entries: 500 omitted"
    assert unknown["mounts.size_bytes"] == "too many entries: 200 omitted"
    assert unknown["mounts./.size_bytes"].startswith("the output of df was truncated")
    assert "too many addresses" in unknown["network.ipv4"]


def test_many_routes(shell: list[str], tmp_path: Path) -> None:
    rows = "".join(f"e{number}\t00000000\t01{number:06X}\t0003\t0\t0\t1\t00000000\t0\t0\t0\n" for number in range(55))
    (tmp_path / "route").write_text("Iface\tDestination\n" + rows)
    found, _ = look(shell, script().replace("/proc/net/route", f"{tmp_path}/route"), tmp_path)
    assert found.omitted["network.gateways"] >= 15
    assert len((found.command_output("routes") or "").split("\n")) == 40


def test_what_is_left_out_of_files_is_told_of_their_fact() -> None:
    left = {"/proc/self/mountinfo": 7, "/proc/self/mounts": 5, "mounts": 2, f"{CPU}/cpu": 3, "/etc/os-release": 1}
    assert reasons(left) == {
        "mounts": "too many entries: 2 omitted; too many lines in /proc/self/mountinfo, /proc/self/mounts: 12 omitted",
        "cpu": f"too many lines in {CPU}/cpu: 3 omitted",
        "system": "too many lines in /etc/os-release: 1 omitted",
    }

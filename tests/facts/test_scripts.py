"""The commands that run on a host, tested on synthetic machines with the shells that hosts have."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from asct.facts import exchange, files_snapshot
from asct.facts.blocks import controllers
from asct.facts.devices import DeviceLocation, places
from asct.facts.exchange import COMMANDS, LASTING, bounds
from asct.facts.files_snapshot import load
from asct.facts.filetree import FolderTree
from asct.facts.kernel import kernel
from asct.facts.reading import facts_of
from asct.facts.snapshot import CommandOutput, Snapshot
from asct.facts.system import device_tree
from asct.facts.unknown import UnknownFacts
from tests.facts.shells import SHELLS
from tests.facts.test_parsers import WHEN

PCI = "sys/devices/pci0000:00"
FUNCTIONS = {
    "0000:00:01.0/0000:01:00.0": {"numa_node": "1", "current_link_speed": "16.0 GT/s PCIe", "current_link_width": "4",
                                  "max_link_speed": "16.0 GT/s PCIe", "max_link_width": "4",
                                  "uevent": "DRIVER=nvme\nPCI_CLASS=10802"},
    "0000:00:02.0": {"numa_node": "-1", "uevent": "DRIVER=virtio-pci"},
    "0000:00:17.0": {"numa_node": "-1", "uevent": "PCI_CLASS=10601"},
}  # fmt: skip
DEVICES = {
    "class/nvme/nvme0": f"{PCI}/0000:00:01.0/0000:01:00.0/nvme/nvme0",
    "block/nvme0n1": f"{PCI}/0000:00:01.0/0000:01:00.0/nvme/nvme0/nvme0n1",
    "class/hwmon/hwmon0": f"{PCI}/0000:00:01.0/0000:01:00.0/nvme/nvme0/hwmon0",
    "class/net/eth0": f"{PCI}/0000:00:02.0/virtio1/net/eth0",
    "block/sda": f"{PCI}/0000:00:17.0/ata1/host0/block/sda",
    "class/net/eth1": "sys/devices/platform/soc/eth1",
}
VIRTUAL = {"block/loop0": "sys/devices/virtual/block/loop0", "class/net/lo": "sys/devices/virtual/net/lo"}
QUEUES = {"block/nvme0n1": ("mq/0", "mq/1"), "class/net/eth0": ("queues/rx-0", "queues/rx-1", "queues/tx-0")}


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Return a tree like /sys, including its links."""
    for address, texts in FUNCTIONS.items():
        folder = tmp_path / PCI / address
        folder.mkdir(parents=True)
        for name, text in {**texts, "config": "x"}.items():
            (folder / name).write_text(f"{text}\n")
    for at, real in {**DEVICES, **VIRTUAL}.items():
        (tmp_path / real).mkdir(parents=True, exist_ok=True)
        if at in DEVICES:
            (tmp_path / real / "device").symlink_to("..")
        for queue in QUEUES.get(at, ()):
            (tmp_path / real / queue).mkdir(parents=True)
        link = tmp_path / "sys" / at
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(tmp_path / real, link.parent))
    return tmp_path


def ask(name: str, shell: str, top: Path, *, paths: str = "") -> str:
    """Return the output of a command for which `top` is the root folder."""
    text = f"{bounds()}\n{(COMMANDS | LASTING)[name]}"
    for folder in ("/sys/", "/proc/", "/dev/nvme", "/boot/", "/lib/modules", "/run/"):
        text = text.replace(folder, f"{top}{folder}")
    environment = {**os.environ, "PATH": f"{paths}:{os.environ['PATH']}" if paths else os.environ["PATH"]}
    done = subprocess.run([*shell.split(), "-c", text], capture_output=True, text=True, check=True, env=environment)
    assert done.stderr == ""
    return done.stdout.replace(f"{top}/", "/")


@pytest.mark.parametrize("shell", SHELLS)
def test_where_devices_hang(shell: str, machine: Path) -> None:
    found = places(Snapshot({}, {"devices": CommandOutput(0, ask("devices", shell, machine))}))
    assert set(found) == {f"/sys/{at}" for at in DEVICES}
    drive = f"/{DEVICES['block/nvme0n1']}"
    assert found["/sys/block/nvme0n1"] == DeviceLocation(
        drive, queues=2, node=1, link="16.0 GT/s PCIe x4", link_max="16.0 GT/s PCIe x4", driver="nvme"
    )
    assert found["/sys/class/net/eth0"] == DeviceLocation(
        f"/{DEVICES['class/net/eth0']}", receiving=2, sending=1, driver="virtio-pci"
    )
    assert found["/sys/block/sda"] == DeviceLocation(f"/{DEVICES['block/sda']}")
    assert found["/sys/class/net/eth1"].pci_address is None
    assert places(Snapshot({}, files_snapshot.emulated(FolderTree(machine), {}))) == found


@pytest.mark.parametrize("shell", SHELLS)
def test_functions_and_the_bridges_above_them(shell: str, machine: Path) -> None:
    """The result shows the same tree as lspci -t and lstopo. Devices that no benchmark measures are omitted."""
    bus = machine / "sys/bus/pci/devices"
    bus.mkdir(parents=True)
    texts = {
        "0000:00:01.0": ("0x060400", "0x8086", "0x352a"), "0000:00:01.0/0000:01:00.0": ("0x010802", "0x144d", "0xa80a"),
        "0000:00:02.0": ("0x020000", "0x1af4", "0x1041"), "0000:00:17.0": ("0x010601", "0x8086", "0xa182"),
        "0000:00:01.0/0000:01:00.1": ("0x030200", "0x10de", "0x2330"), "0000:00:1f.0": ("0x060100", "0x8086", "0x1bc3"),
        "0000:00:1f.1": ("garbage", "x", "y"),
    }  # fmt: skip
    for address, values in texts.items():
        folder = machine / PCI / address
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in zip(("class", "vendor", "device"), values, strict=True):
            (folder / name).write_text(f"{text}\n")
        (bus / folder.name).symlink_to(os.path.relpath(folder, bus))
    (machine / PCI / "0000:00:01.0/0000:01:00.1/drm/card1").mkdir(parents=True)
    (machine / PCI / "0000:00:01.0/0000:01:00.1/physfn").symlink_to("../0000:01:00.0")
    said = ask("pci", shell, machine)
    devices = {"devices": CommandOutput(0, ask("devices", shell, machine)), "pci": CommandOutput(0, said)}
    files = {f"/sys/block/{name}/size": "8" for name in ("nvme0n1", "sda")} | {"/sys/class/net/eth0/type": "1"}
    found = facts_of(Snapshot(files, devices), "h", WHEN).pci
    assert [(one.address, one.kind, one.root, one.bridges, one.names) for one in found] == [
        ("0000:00:02.0", "Ethernet controller", "0000:00", [], ["eth0"]),
        ("0000:00:17.0", "SATA controller", "0000:00", [], ["sda"]),
        ("0000:01:00.0", "NVMe controller", "0000:00", ["0000:00:01.0"], ["nvme0n1"]),
        ("0000:01:00.1", "3D controller", "0000:00", ["0000:00:01.0"], ["card1"]),
    ]
    nvme = found[2]
    assert (nvme.node, nvme.link, nvme.driver, nvme.vendor_id, nvme.device_id) == (
        1, "16.0 GT/s PCIe x4", "nvme", "144d", "a80a"
    )  # fmt: skip
    assert (found[3].node, found[3].driver) == (None, None)
    assert [one.physical for one in found] == [None, None, None, "0000:01:00.0"]
    assert files_snapshot.emulated(FolderTree(machine), {})["pci"].text.split("\n") == [
        line.replace(" |", "|") for line in said.strip().split("\n")
    ]


def test_a_dump_tells_as_much_as_its_files(machine: Path) -> None:
    for name, text in {
        "version": "Linux version 6.1.0-9 (b@h) (gcc 12) #1 SMP Debian 6.1.27-1",
        "cmdline": "ro password=x",
        "sys/kernel/hostname": "h9",
    }.items():
        (machine / "proc" / name).parent.mkdir(parents=True, exist_ok=True)
        (machine / "proc" / name).write_text(f"{text}\n")
    found = load(machine)
    assert found.command_output("uname") == "h9\n6.1.0-9\n#1 SMP Debian 6.1.27-1"
    assert found.command_output("command-line") == "ro password=***"
    assert "/proc/cmdline" not in found.files


@pytest.mark.parametrize("shell", SHELLS)
def test_health_of_drives(shell: str, tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "bin").mkdir()
    assert ask("nvme-health", shell, tmp_path).strip() == ""
    for name in ("nvme0", "nvme11"):
        (tmp_path / "dev" / name).symlink_to("/dev/null")
    (tmp_path / "dev" / "nvme0n1").symlink_to("/dev/null")
    tool = tmp_path / "bin" / "nvme"
    tool.write_text("#!/bin/sh\ncase $4 in *nvme0) echo '{\"temperature\": 300}' ;; *) echo no >&2; exit 1 ;; esac\n")
    tool.chmod(0o755)
    said = ask("nvme-health", shell, tmp_path, paths=str(tmp_path / "bin"))
    files = {f"/sys/class/nvme/{name}/model": "M" for name in ("nvme0", "nvme11")}
    first, second = controllers(Snapshot(files, {"nvme-health": CommandOutput(0, said)}), {})
    assert first.health is not None
    assert (first.health.celsius, first.reason) == (27.0, None)
    assert (second.health, second.reason) == (None, "the drive did not return its health log")


HANGS = {
    "coreutils": ("timeout", "exec sleep 300.75"),
    "coreutils, beyond signals": ("timeout", 'setsid sh -c \'echo $$ >"$0"; exec sleep 300.75\' "$PID" & wait'),
    "busybox": ("busybox timeout", "exec sleep 300.75"),
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("case", HANGS)
def test_a_dead_drive_holds_nobody_up(case: str, shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program that replaces one that no signal can end leads a separate session, so that a signal to its group does
    not reach it."""
    limit, body = HANGS[case]
    monkeypatch.setattr(exchange, "TOOL_S", 2)
    monkeypatch.setenv("PID", f"{tmp_path}/pid")
    for name in ("nvme0", "nvme1", "nvme2"):
        (tmp_path / "dev").mkdir(exist_ok=True)
        (tmp_path / "dev" / name).symlink_to("/dev/null")
    (tmp_path / "bin").mkdir()
    stands_in = f'case $4 in *nvme0) echo "{{\\"temperature\\": 300}}" ;; *) echo $$ >"$PID"; {body} ;; esac'
    for name, text in (("nvme", stands_in), ("timeout", f'exec {shutil.which(limit.split()[0])} {limit[8:]} "$@"')):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    began = time.monotonic()
    try:
        said = ask("nvme-health", shell, tmp_path, paths=str(tmp_path / "bin"))
    finally:
        end(tmp_path / "pid")
    assert time.monotonic() - began < 200, "nobody waits for the drive"
    files = {f"/sys/class/nvme/{name}/model": "M" for name in ("nvme0", "nvme1", "nvme2")}
    made = controllers(Snapshot(files, {"nvme-health": CommandOutput(0, said)}), {})
    assert made[0].health is not None and made[0].health.celsius == 27.0
    assert [one.reason for one in made] == [
        None, "nvme timed out", "nvme timed out before this drive was queried",
    ]  # fmt: skip


def end(noted: Path) -> None:
    """End the process whose pid is in the file, if it still exists."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(noted.read_text()), signal.SIGKILL)


@pytest.mark.parametrize("shell", SHELLS)
def test_options_of_the_kernel(shell: str, tmp_path: Path) -> None:
    (tmp_path / "boot").mkdir()
    config = tmp_path / "boot" / f"config-{os.uname().release}"
    config.write_text("CONFIG_HZ=100\nCONFIG_HZ_100=y\n# CONFIG_NUMA is not set\nCONFIG_SOUND=y\n")
    said = ask("kernel-options", shell, tmp_path)
    assert said == "CONFIG_HZ=100\n# CONFIG_NUMA is not set\n"
    made = kernel(Snapshot({}, {"kernel-options": CommandOutput(0, said)}), "none", UnknownFacts())
    assert made["kernel_options"] == {"CONFIG_HZ": "100", "CONFIG_NUMA": "n"}
    (tmp_path / "proc").mkdir()
    subprocess.run(["sh", "-c", f"echo CONFIG_HZ=1000 | gzip >{tmp_path}/proc/config.gz"], check=True)
    assert ask("kernel-options", shell, tmp_path) == "CONFIG_HZ=1000\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_device_trees(shell: str, tmp_path: Path) -> None:
    assert ask("device-tree", shell, tmp_path) == ""
    root = tmp_path / "proc" / "device-tree"
    root.mkdir(parents=True)
    (root / "model").write_bytes(b"Some Board\0")
    (root / "compatible").write_bytes(b"maker,board\0maker,soc\0")
    said = ask("device-tree", shell, tmp_path)
    assert device_tree(Snapshot({}, {"device-tree": CommandOutput(0, said)})) == {
        "model": "Some Board",
        "compatible": "maker,board maker,soc",
    }


@pytest.mark.parametrize("shell", SHELLS)
def test_what_udev_knows(shell: str, tmp_path: Path) -> None:
    assert ask("udev", shell, tmp_path) == ""
    folder = tmp_path / "run" / "udev" / "data"
    folder.mkdir(parents=True)
    (folder / "b8:0").write_text("S:disk/by-id/x\nE:ID_BUS=ata\nE:ID_SERIAL_SHORT=S1\nE:ID_WWN=1\n")
    (folder / "c1:3").write_text("E:ID_BUS=ata\n")
    assert ask("udev", shell, tmp_path) == (
        "/run/udev/data/b8:0:E:ID_BUS=ata\n/run/udev/data/b8:0:E:ID_SERIAL_SHORT=S1\n"
    )


@pytest.mark.parametrize("awk", ["mawk", "busybox awk"])
def test_only_default_routes_leave_the_host(awk: str, tmp_path: Path) -> None:
    net = tmp_path / "proc" / "net"
    net.mkdir(parents=True)
    rows = ["Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask"]
    rows += [f"e{number}\t{number:08X}\t0\t1\t0\t0\t0\t00FFFFFF" for number in range(1, 50)]
    rows += [f"d{number}\t00000000\t0\t3\t0\t0\t{number}\t00000000" for number in range(100)]
    (net / "route").write_text("\n".join(rows) + "\n")
    (net / "ipv6_route").write_text(f"{'0' * 32} 00 x\n{'f' * 32} 80 x\n")
    text = COMMANDS["routes"].replace("/proc/", f"{tmp_path}/proc/").replace("awk -v", f"{awk} -v")
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines.pop() == " left network.gateways 61"
    assert len(lines) == 40
    assert all("\t00000000\t0\t3" in line for line in lines)
    (net / "route").write_text("\n".join(rows[:52]) + "\n")
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True)
    assert [line.rpartition("/")[2].split(":")[0] for line in done.stdout.splitlines()] == [
        "route",
        "route",
        "ipv6_route",
    ]


@pytest.mark.parametrize("shell", SHELLS)
def test_networks_of_their_own(shell: str) -> None:
    assert ask("network-namespace", shell, Path("/.")).strip() in ("first", "own", "unreadable")
    text = COMMANDS["network-namespace"]
    done = subprocess.run(
        ["unshare", "--net", *shell.split(), "-c", text.replace("/proc/1/", f"/proc/{os.getpid()}/")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if os.getuid() == 0:
        assert done.stdout.strip() == "own"


@pytest.mark.parametrize("awk", ["mawk", "busybox awk"])
def test_only_the_names_of_this_machine_leave_the_host(awk: str, tmp_path: Path) -> None:
    """Lines of /etc/hosts for other machines, and comments, may contain information that was not requested."""
    hosts = tmp_path / "hosts"
    hosts.write_text(
        "127.0.0.1 localhost # a comment\n#192.0.2.1 hidden\n192.0.2.1\tme.example me\r\n192.0.2.99 secret-server\n"
        "FD00::2 me6\n::1 ip6-localhost\n192.0.2.1\n"
    )
    (tmp_path / "ip").write_text(
        "#!/bin/sh\necho '2: eth0    inet 192.0.2.1/24 brd 192.0.2.255 scope global eth0'\n"
        "echo '2: eth0    inet6 fd00::2/64 scope global'\n"
    )
    (tmp_path / "ip").chmod(0o755)
    text = COMMANDS["addresses"].replace("/etc/hosts", str(hosts)).replace("| awk", f"| {awk}")
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True, env={"PATH": path})
    assert [line.split()[:3] for line in done.stdout.splitlines()] == [
        ["2:", "eth0", "inet"], ["2:", "eth0", "inet6"], ["hosts", "127.0.0.1", "localhost"],
        ["hosts", "192.0.2.1", "me.example"], ["hosts", "FD00::2", "me6"], ["hosts", "::1", "ip6-localhost"],
    ]  # fmt: skip
    assert "secret" not in done.stdout and "comment" not in done.stdout
    hosts.unlink()
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True, env={"PATH": path})
    assert len(done.stdout.splitlines()) == 2, "a machine without the file still has addresses"


@pytest.mark.parametrize("shell", SHELLS)
def test_named_network_namespaces(shell: str, tmp_path: Path) -> None:
    folder = tmp_path / "netns"
    text = COMMANDS["network-namespaces"].replace("/run/netns", str(folder)).replace("/run/docker/netns", "/nowhere")
    command = [*shell.split(), "-c", f"set -- one two; {text}; echo $#"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "2\n", "none, and the positional parameters of the script are left alone"
    folder.mkdir()
    (folder / "mine").symlink_to("/proc/self/ns/net")
    (folder / "other").write_text("")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[1] for row in rows[:2]] == [str(folder / "mine"), str(folder / "other")]
    assert rows[2:] == [["own", str(folder / "mine")], ["2"]]

"""Facts about the Linux kernel, parsed from synthetic files, and the command line as it leaves the host."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asct.facts.exchange import COMMANDS
from asct.facts.kernel import kernel, masked
from asct.facts.snapshot import CommandOutput, Snapshot
from asct.facts.sources import CLOCKS, SECURITY, VULNERABILITIES
from asct.facts.unknown import UnknownFacts
from tests.facts.shells import SHELLS

SECRETS = [
    ("root=/dev/sda1 quiet", "root=/dev/sda1 quiet"),
    ("ro rd.luks.key=/keys/a:UUID=1 x", "ro rd.luks.key=*** x"),
    ("Admin_Password=hunter2", "Admin_Password=***"),
    ('net_secret="two words" a=b', "net_secret=*** a=b"),
    ('"api.token=two words" a=b', '"api.token=***" a=b'),
    ('wifi.passphrase="a b c" b', "wifi.passphrase=*** b"),
    ("inst.ks=https://me:word@h/ks.cfg", "inst.ks=***"),
    ("inst.ks=https://h/ks.cfg", "inst.ks=https://h/ks.cfg"),
    ("iommu.passthrough=1 rd.vconsole.keymap=us", "iommu.passthrough=1 rd.vconsole.keymap=us"),
    ("systemd.set_credential=a:b ssh-keys=x authkey=y basic.auth=z pwd=q",
     "systemd.set_credential=*** ssh-keys=*** authkey=*** basic.auth=*** pwd=***"),
    ("systemd.setenv=DB_TOKEN=x rd.luks.key=YWI== wpa.psk=z rootpw=q adminpass=w",
     "systemd.setenv=*** rd.luks.key=*** wpa.psk=*** rootpw=*** adminpass=***"),
    ("netroot=iscsi:me:word@10.0.0.1::::iqn a.keys=b=c", "netroot=*** a.keys=***"),
    ("root=UUID=1-2 rd.luks.name=3=root bypass ip=10.0.0.2::10.0.0.1:eth0",
     "root=UUID=1-2 rd.luks.name=3=root bypass ip=10.0.0.2::10.0.0.1:eth0"),
    ("key", "key"),
    ("", ""),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), SECRETS)
def test_secrets_of_the_command_line_are_masked(line: str, expected: str) -> None:
    assert masked(line) == expected
    assert masked(expected) == expected


def on_the_host(shell: str, folder: Path, line: str) -> str:
    file = folder / "cmdline"
    file.write_text(f"{line}\n")
    text = COMMANDS["command-line"].replace("/proc/cmdline", str(file))
    done = subprocess.run([*shell.split(), "-c", text], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.strip()


@pytest.mark.parametrize("shell", SHELLS)
def test_they_do_not_leave_the_host(shell: str, tmp_path: Path) -> None:
    for line, expected in SECRETS:
        assert on_the_host(shell, tmp_path, line) == expected
    assert on_the_host(shell, tmp_path, "a=$(id) `id` * %s \\n") == "a=$(id) `id` * %s \\n"


@settings(max_examples=40)
@given(
    st.lists(st.sampled_from(["a", "Key", "key_", "pass", "word", "=", '"', " ", "://", "@", "auth", "s", "pw", ":"]))
)
def test_the_host_and_the_parser_mask_alike(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    line = "".join(parts)
    assert on_the_host("dash", tmp_path_factory.mktemp("line"), line) == masked(line)


OPTIONS = """\
CONFIG_HZ=250
# CONFIG_PREEMPT_RT is not set
CONFIG_LSM="landlock,lockdown"
CONFIG_ARM_CMN=m
CONFIG_ODD=y
CONFIG_HZ
"""


def made_of(
    files: dict[str, str], container: str | None = "none", **said: str
) -> tuple[dict[str, object], dict[str, str]]:
    gaps = UnknownFacts()
    commands = {name.replace("_", "-"): CommandOutput(0, text) for name, text in said.items()}
    return kernel(Snapshot(files, commands), container, gaps), gaps.reasons | gaps.absent


def test_a_kernel() -> None:
    files = {
        "/proc/irq/default_smp_affinity": "f",
        f"{CLOCKS}/current_clocksource": "arch_sys_counter",
        f"{CLOCKS}/available_clocksource": "arch_sys_counter jiffies",
        f"{SECURITY}/lockdown": "none [integrity] confidentiality",
        f"{SECURITY}/lsm": "lockdown,capability,apparmor",
        f"{VULNERABILITIES}/meltdown": "Mitigation: PTI",
    }
    said = {"kernel_options": OPTIONS, "command_line": "ro quiet", "present": "there /sys/fs/resctrl"}
    made, unknown = made_of(files, **said, irqbalance="running")
    assert made == {
        "kernel_options": {
            "CONFIG_ARM_CMN": "m", "CONFIG_HZ": "250", "CONFIG_LSM": "landlock,lockdown", "CONFIG_PREEMPT_RT": "n"
        },
        "command_line": "ro quiet",
        "clock_source": "arch_sys_counter",
        "clock_sources": ["arch_sys_counter", "jiffies"],
        "security_modules": ["lockdown", "capability", "apparmor"],
        "lockdown": "integrity",
        "mitigations": {"meltdown": "Mitigation: PTI"},
        "resctrl": True,
        "irq_default_affinity": [0, 1, 2, 3],
        "irqbalance": True,
    }  # fmt: skip
    assert unknown == {}


def test_a_kernel_that_says_nothing() -> None:
    made, unknown = made_of({})
    assert set(unknown) == {f"system.{name}" for name in made if name != "clock_sources"}
    assert made_of({f"{SECURITY}/lsm": "yama"})[1]["system.lockdown"] == "the Linux kernel has no lockdown support"
    assert made_of({"/proc/cmdline": "a token=b"})[0]["command_line"] == "a token=***"
    assert made_of({}, present="readable /dev/mem")[0]["resctrl"] is False


@pytest.mark.parametrize(
    ("said", "container", "expected"),
    [
        ("running", "docker", True),
        ("stopped", "none", False),
        ("absent", "none", False),
        ("absent", "docker", None),
        ("absent", None, None),
        ("unknown", "none", None),
    ],
)
def test_the_daemon_that_moves_interrupts(said: str, container: str | None, expected: bool | None) -> None:
    made, unknown = made_of({}, container, irqbalance=said)
    assert made["irqbalance"] is expected
    assert ("system.irqbalance" in unknown) == (expected is None)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_daemon_is_found_by_its_traces(shell: str, tmp_path: Path) -> None:
    text = COMMANDS["irqbalance"]
    for place in ("/sys/fs/cgroup", "/run/", "/var/run/"):
        text = text.replace(place, f"{tmp_path}{place}")

    def ask() -> str:
        done = subprocess.run([*shell.split(), "-c", text], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    (tmp_path / "run" / "systemd" / "system").mkdir(parents=True)
    assert ask() in ("absent", "stopped")
    (tmp_path / "run" / "irqbalance.pid").write_text("1\n")
    assert ask() == "running"
    (tmp_path / "run" / "irqbalance.pid").write_text("999999999\n")
    assert ask() in ("absent", "stopped")
    service = tmp_path / "sys" / "fs" / "cgroup" / "system.slice" / "irqbalance.service"
    service.mkdir(parents=True)
    (service / "cgroup.procs").write_text("77\n")
    assert ask() == "running"

"""Reading the meshes of hosts: over ssh with fake kernels, and on this machine with the real cmnwatch."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asct.doctor.meshes import MeshQuery, MeshReading, read_meshes
from asct.engine.services import Services, default_services
from asct.engine.stop import StopRequest
from asct.errors import HostLocked, Interrupted, NotMeasured
from asct.facts.cmn.cpumap import file_name
from asct.facts.cmn.kernel_output import register_list
from asct.facts.cmn.mesh import mesh_of_dump
from asct.facts.reading import probe
from asct.facts.snapshot import CommandOutput, Snapshot
from asct.hosts.base import Host, SessionSpec
from asct.hosts.factory import make_host
from asct.plan.model import HostSpec
from tests.awaiting import until
from tests.doctor.mesh_stub import cat, meshy, ports, sample, text_of
from tests.facts.cmn.machine import FORMATS, machine, mesh_map, pmu
from tests.facts.cmn.shapes import SHAPES
from tests.sshd import Sshd
from tests.sudo import grant, of_root, sudoers

Glance = Callable[[Host, str], Snapshot]
SOME = text_of([sample(0, 0), sample(1, 0), sample(2, 1)])
CPUS = sorted(os.sched_getaffinity(0))
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


@pytest.fixture
def seen_as(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Snapshot | Glance], None]:
    """Return a function that makes asct find this machine, with a separate cache."""
    place = tmp_path / "cache"
    place.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))

    def put(found: Snapshot | Glance) -> None:
        glanced = (lambda _host, _base: found) if isinstance(found, Snapshot) else found
        monkeypatch.setattr("asct.doctor.meshes.probe", glanced)

    return put


def here(folder: Path) -> HostSpec:
    return HostSpec("here", "local", workdir=str(folder / "work"))


def looked(
    spec: HostSpec, chosen: Services, folder: Path, stop: StopRequest | None = None, *, detect: bool = True
) -> MeshReading:
    return read_meshes(spec, chosen, folder, MeshQuery(detect=detect), lambda *_: None, stop or StopRequest())


def account(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot as an account other than root would see it."""
    return replace(snapshot, commands={**snapshot.commands, "id": CommandOutput(0, "1000")})


@pytest.mark.ssh
def test_a_host_over_ssh_is_detected_and_keeps_what_was_found(
    sshd: Sshd, seen_as: Callable[..., None], tmp_path: Path
) -> None:
    seen_as(account(meshy(cpus=3)))
    seen = looked(sshd.spec(), ports({"cmnwatch": cat(SOME)}), tmp_path)
    assert seen.detection is not None and (seen.detection.located, seen.detection.problems) == (3, ())
    (mesh,) = seen.report.meshes
    assert {cpu: (place.x, place.y) for cpu, place in mesh.cpus.items() if place} == {0: (1, 0), 1: (1, 0), 2: (2, 0)}
    with_cache = make_host(sshd.spec())
    with_cache.open()
    try:
        name = f"{with_cache.cache}/cmn-cpus-meshy.json"
        answer = with_cache.execute(["cat", name])
        assert answer.stdout == seen.detection.cached
        with_cache.remove(name)
    finally:
        with_cache.close()


@pytest.mark.ssh
def test_a_detection_over_ssh_is_stopped_with_what_is_known(
    sshd: Sshd, seen_as: Callable[..., None], tmp_path: Path
) -> None:
    seen_as(account(meshy(cpus=8)))
    heard = threading.Event()
    stop = StopRequest()
    body = cat(SOME.rpartition('{"t": "end"')[0]) + "exec sleep 300\n"

    def end() -> None:
        heard.wait(200)
        stop.on_signal(signal.SIGTERM, None)

    def progress(done: int, total: int, ports: int) -> None:
        assert (total, ports) == (8, 6)
        if done == 3:
            heard.set()

    stopper = threading.Thread(target=end)
    stopper.start()
    seen = read_meshes(sshd.spec(), ports({"cmnwatch": body}), tmp_path, MeshQuery(detect=True), progress, stop)
    stopper.join()
    assert heard.is_set()
    assert seen.detection is not None and (seen.detection.located, seen.detection.stopped) == (3, True)
    assert "stopped after 3 of 8 CPUs" in seen.report.meshes[0].unknown["cpus"]


def test_a_look_can_be_stopped_before_anything_is_known(seen_as: Callable[..., None], tmp_path: Path) -> None:
    stop = StopRequest()

    def slow(host: Host, _base: str) -> Snapshot:
        threading.Timer(0.3, stop.on_signal, (signal.SIGINT, None)).start()
        host.probe("sleep 300", [])
        raise AssertionError("it was not stopped")

    seen_as(slow)
    with pytest.raises(Interrupted) as stopped:
        looked(here(tmp_path), ports({}), tmp_path, stop)
    assert stopped.value.signal_number == signal.SIGINT


def test_a_machine_that_is_measured_is_looked_at_without_registers(
    seen_as: Callable[..., None], tmp_path: Path
) -> None:
    seen_as(meshy({"/proc/iomem": "40000000-4fffffff : ARMHC700:00"}))
    other = make_host(here(tmp_path))
    other.open(SessionSpec("other", "somebody who measures"))
    try:
        seen = looked(here(tmp_path), ports({}), tmp_path, detect=False)
        assert seen.report.meshes[0].source == "debugfs"
        assert any("somebody who measures" in item.message for item in seen.problems)
        assert {item.severity for item in seen.problems} == {"warning"}
        with pytest.raises(HostLocked):
            looked(here(tmp_path), ports({}), tmp_path)
    finally:
        other.close()


def test_what_a_host_keeps_is_read_with_its_facts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The script that reads the facts finds the file under the name that the detection gives it."""
    (tmp_path / "cache/asct").mkdir(parents=True, mode=0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    host = make_host(here(tmp_path))
    found = probe(host, str(tmp_path))
    assert (found.command_output("cmn-cpus"), found.command_output("cmn-links")) == ("", "")
    kept = tmp_path / "cache/asct" / file_name(found)
    kept.write_text("what was found\n")
    assert probe(host, str(tmp_path)).command_output("cmn-cpus") == "what was found"


FAULTS = {name: f"config{1 if name == 'wp_val' else 2}:0-63" for name in FORMATS} | {"bynodeid": "config:1"}
"""Fields that put 2 into `config`. In the software PMU, this event counts page faults, which replace all
watchpoints."""
in_root = pytest.mark.skipif(os.geteuid() != 0, reason="counting for the whole system is for root")


def software(**changed: str | None) -> Snapshot:
    """Return a mesh whose PMU is the Linux kernel's PMU for software events."""
    fields: dict[str, Any] = {"type": "1", "cpumask": str(CPUS[0]), **changed}
    numbers = {"/sys/devices/system/cpu/online": ",".join(map(str, CPUS[:2]))}
    names = CommandOutput(0, f"{platform.machine()}\nmeshy\n6.12.0\n#1")
    return machine(pmu(**fields), mesh_map(), numbers, commands={"uname": names})


@in_root
@pytest.mark.kernels
def test_the_real_kernel_counts_what_it_is_given(seen_as: Callable[..., None], tmp_path: Path) -> None:
    """Page faults do not depend on the load, so no CPU is found, and each CPU has a reason. The test checks that page
    faults were counted."""
    seen_as(software(**{f"format/{name}": text for name, text in FAULTS.items()}))
    progress: list[tuple[int, int, int]] = []
    seen = read_meshes(
        here(tmp_path),
        default_services(),
        tmp_path,
        MeshQuery(detect=True),
        lambda *one: progress.append(one),
        StopRequest(),
    )
    assert seen.detection is not None and (seen.detection.total, seen.detection.located) == (len(CPUS[:2]), 0)
    (mesh,) = seen.report.meshes
    assert mesh.cpus == dict.fromkeys(CPUS[:2])
    assert all("no port showed load from this CPU" in mesh.unknown[f"cpus.{cpu}"] for cpu in CPUS[:2])
    assert progress[0] == (0, len(CPUS[:2]), 6) and progress[-1][0] == 2 * len(CPUS[:2]), "each was watched twice"


@in_root
@pytest.mark.kernels
def test_a_driver_that_refuses_watchpoints_is_told_by_the_real_kernel(
    seen_as: Callable[..., None], tmp_path: Path
) -> None:
    seen_as(software())
    with pytest.raises(NotMeasured, match="no event can be opened"):
        looked(here(tmp_path), default_services(), tmp_path)


@pytest.mark.ssh
@pytest.mark.kernels
def test_an_account_that_may_not_count_is_told_so(sshd: Sshd, seen_as: Callable[..., None], tmp_path: Path) -> None:
    if int(PARANOID.read_text()) <= 0:
        pytest.skip("every account may count here")
    seen_as(account(software()))
    with pytest.raises(NotMeasured, match=r"kernel\.perf_event_paranoid"):
        looked(sshd.spec(), default_services(), tmp_path)


@in_root
@pytest.mark.ssh
@pytest.mark.kernels
def test_an_account_counts_through_sudo_by_the_line_that_is_offered(
    sshd: Sshd, seen_as: Callable[..., None], tmp_path: Path
) -> None:
    seen_as(account(software(**{f"format/{name}": text for name, text in FAULTS.items()})))
    spec = sshd.spec(sudo=True)
    with sudoers():
        with pytest.raises(NotMeasured) as refused:
            looked(spec, default_services(), tmp_path)
        (finding,) = refused.value.diagnostics
        assert finding.code == "E428" and finding.verbatim is not None and finding.verbatim.endswith("/cmnwatch")
        grant(finding.verbatim)
        seen = looked(spec, default_services(), tmp_path)
    assert seen.detection is not None and seen.detection.total == len(CPUS[:2])
    assert seen.report.meshes[0].cpus == dict.fromkeys(CPUS[:2])
    until(lambda: of_root("cmnwatch") == [])


BASE = 0x40000000
SEEN_AS = """
import sys
from asct.cli.app import run
from asct.facts.snapshot import Snapshot, CommandOutput
import asct.doctor.meshes
files = {"/proc/iomem": "40000000-4fffffff : ARMHC700:00"}
said = {"uname": CommandOutput(0, sys.argv[1] + "\\nmeshy\\n6.12.0\\n#1"), "id": CommandOutput(0, "0")}
asct.doctor.meshes.probe = lambda host, base: Snapshot(files, said)
sys.exit(run(["cmn", "--json"]))
"""
OTHER_MEM = """
mount -t tmpfs none /dev && mkdir /dev/shm && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/zero c 1 5 &&
mknod -m 666 /dev/urandom c 1 9 && cp --sparse=always "$0" /dev/mem && exec "$@"
"""


@in_root
@pytest.mark.kernels
def test_registers_are_read_through_dev_mem_by_the_real_kernel(tmp_path: Path) -> None:
    """An image replaces /dev/mem in a separate mount namespace. The test covers everything from the firmware's address
    range to the document."""
    hardware = SHAPES["CMN-700 3x7"]()
    image, memory = hardware.write(tmp_path / "image"), tmp_path / "memory"
    with memory.open("wb") as file:
        file.seek(BASE)
        file.write(image.read_bytes())
        file.truncate(BASE + 0x10000000)
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", OTHER_MEM, str(memory)]
    done = subprocess.run(
        [*command, sys.executable, "-c", SEEN_AS, platform.machine()], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (mesh,) = json.loads(done.stdout)["meshes"]
    assert (mesh["kind"], mesh["source"], mesh["base"]) == ("CMN-700", "registers", hex(BASE))
    assert (mesh["width"], mesh["height"]) == (hardware.width, hardware.height)
    expected = mesh_of_dump(hardware.printed(register_list(mesh_of_dump(hardware.printed(register_list()))), BASE))
    assert mesh["registers"] == expected.model_dump(mode="json")["registers"]

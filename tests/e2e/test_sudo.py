"""`sudo: true` over ssh: an account measures what only root can measure, and everything that root runs for the account
ends with the run."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.awaiting import until
from tests.disks.loop import Loop, loop_device
from tests.e2e.running import PACE, apply, asct, begin, latest, lines
from tests.e2e.test_ssh import hosts, leftovers, running_from
from tests.sshd import ACCOUNT, Sshd
from tests.sudo import as_root, grant, of_root, sudoers

pytestmark = [pytest.mark.e2e, pytest.mark.ssh, pytest.mark.fio, pytest.mark.kernels, as_root]

POOL = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
PAGES = "plan: 1\nname: quick\nbenchmarks:\n  - {uses: latency-sweep, config: {sizes: [64K], pages: 2M}}\n"


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Loop]:
    with loop_device(tmp_path, 16) as made:
        yield made


def writing(loop: Loop, seconds: float, more: str = "") -> str:
    """Return a plan that writes to a loop device."""
    config = f"{{rw: randwrite, duration: {seconds}s, numjobs: 1, rate_iops: {PACE}, file_names: [{loop.path}]}}"
    return (
        f"plan: 1\nname: quick\nbenchmarks:\n  - {{uses: storage-fio, id: job, config: {config}{more}}}\n"
        f"safety: {{destroys: [{{host: server, device: {loop.path}, serial: {loop.backing}}}]}}\n"
    )


def offered(text: str) -> list[str]:
    """Return the sudoers lines that a message suggests."""
    return re.findall(rf"{ACCOUNT} ALL=\(root\) NOPASSWD: sha256:[0-9a-f]{{64}} \S+", text)


@pytest.mark.alone
def test_huge_pages_are_reserved_by_the_line_that_is_offered(sshd: Sshd, tmp_path: Path) -> None:
    before = POOL.read_text()
    plan = PAGES + hosts(sshd, sudo=True)
    with sudoers():
        refused = apply(plan, tmp_path)
        assert "E428" in refused.err and "measurement runs without" in " ".join(refused.err.split()), refused.err
        (line,) = offered(refused.err)
        assert line.endswith("/chase")
        grant(line)
        ended = apply(plan, tmp_path)
    assert ended.code == 0, ended.err
    assert "E428" not in ended.err
    sizes = {r["value"] for r in lines(latest(tmp_path) / "records.jsonl") if r["metric"] == "page_size"}
    assert sizes == {2 << 20}
    until(lambda: POOL.read_text() == before)
    assert leftovers(sshd) == [] and running_from(sshd) == []


def test_a_device_is_written_by_root_alone_and_its_results_come_back(sshd: Sshd, loop: Loop, tmp_path: Path) -> None:
    plan = writing(loop, 1, ", repeats: 2") + hosts(sshd, sudo=True)
    before = loop.backing.read_bytes()
    with sudoers(f"{ACCOUNT} ALL=(root) ALL"):  # with a password: refused at once, as nobody is asked
        refused = apply(plan, tmp_path)
        assert refused.code == 3, refused.err
        assert "a password is required); the kernel needs root because it writes to the device" in " ".join(
            refused.err.split()
        )
        assert loop.backing.read_bytes() == before
        grant(*offered(refused.err))
        ended = apply(plan, tmp_path)
    assert ended.code == 0, ended.err
    assert loop.backing.read_bytes() != before
    run = latest(tmp_path)
    audit = json.loads((run / "jobs/server/job/audit.json").read_text())
    assert {look["decision"] for look in audit["looks"]} == {"allowed"}
    folders = sorted((run / "jobs/server/job").glob("*/r*"))
    assert len(folders) == 2
    for folder in folders:
        assert '"jobname" : "' in (folder / "fio.json").read_text()
        (step,) = json.loads((folder / "status.json").read_text())["command"]["steps"]
        assert step["argv"][1] == "--sudo"
    assert leftovers(sshd) == [] and running_from(sshd) == []


def test_without_sudo_in_the_plan_nothing_is_asked(sshd: Sshd, loop: Loop, tmp_path: Path) -> None:
    before = loop.backing.read_bytes()
    with sudoers(f"{ACCOUNT} ALL=(root) NOPASSWD: ALL"):
        ended = apply(writing(loop, 1) + hosts(sshd), tmp_path)
    assert ended.code == 4, ended.err
    assert "sudo" not in ended.err
    assert loop.backing.read_bytes() == before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_ends_what_root_runs(own_sshd: Sshd, loop: Loop, tmp_path: Path, number: int, code: int) -> None:
    (tmp_path / "plan.yaml").write_text(writing(loop, 120) + hosts(own_sshd, sudo=True))
    with sudoers(f"{ACCOUNT} ALL=(root) NOPASSWD: ALL"):
        process = begin(tmp_path, stderr=subprocess.PIPE)
        until(lambda: any("job.fio" in text for text in of_root(str(own_sshd.folder))))
        process.send_signal(number)
        _, err = process.communicate(timeout=120)
        assert process.returncode == code, err
        until(lambda: of_root(str(own_sshd.folder)) == [])
    assert running_from(own_sshd) == [] and leftovers(own_sshd) == []


def test_what_root_runs_ends_by_itself_when_asct_is_killed(own_sshd: Sshd, loop: Loop, tmp_path: Path) -> None:
    """The host completes its tasks without asct. Afterward, no process of root remains, and `resume` continues."""
    plan = writing(loop, 4, ", repeats: 2") + hosts(own_sshd, sudo=True)
    (tmp_path / "plan.yaml").write_text(plan)
    with sudoers(f"{ACCOUNT} ALL=(root) NOPASSWD: ALL"):
        process = begin(tmp_path)
        until(lambda: any("job.fio" in text for text in of_root(str(own_sshd.folder))))
        process.kill()
        process.wait(120)
        until(lambda: of_root(str(own_sshd.folder)) == [])
        resumed = asct("resume", str(latest(tmp_path)), cwd=tmp_path)
    assert resumed.code == 0, resumed.err
    assert running_from(own_sshd) == [] and leftovers(own_sshd) == []


def sessions(server: Sshd) -> list[int]:
    """Return the processes of a server that each serve one login."""
    assert server.process is not None
    listed = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
    return [int(word) for word in listed.split()]


def test_a_lost_connection_neither_ends_nor_doubles_what_root_runs(own_sshd: Sshd, loop: Loop, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(writing(loop, 8) + hosts(own_sshd, sudo=True))
    with sudoers(f"{ACCOUNT} ALL=(root) NOPASSWD: ALL"):
        process = begin(tmp_path, stderr=subprocess.PIPE)
        until(lambda: any("job.fio" in text for text in of_root(str(own_sshd.folder))))
        for pid in sessions(own_sshd):
            os.kill(pid, signal.SIGKILL)
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        until(lambda: of_root(str(own_sshd.folder)) == [])
    (status,) = (latest(tmp_path) / "jobs/server/job").glob("*/r1/status.json")
    found = json.loads(status.read_text())
    assert (found["status"] in ("ok", "noisy"), found["attempts"]) == (True, 1), found["status"]
    assert running_from(own_sshd) == [] and leftovers(own_sshd) == []


def test_a_time_limit_ends_what_root_runs(own_sshd: Sshd, loop: Loop, tmp_path: Path) -> None:
    with sudoers(f"{ACCOUNT} ALL=(root) NOPASSWD: ALL"):
        ended = apply(writing(loop, 120, ", timeout: 3s") + hosts(own_sshd, sudo=True), tmp_path)
        assert ended.code == 3, ended.err
        until(lambda: of_root(str(own_sshd.folder)) == [])
    status = json.loads(next((latest(tmp_path) / "jobs/server/job").glob("*/r1/status.json")).read_text())
    assert status["status"] == "timeout"
    assert running_from(own_sshd) == [] and leftovers(own_sshd) == []


def test_the_preview_says_what_runs_through_sudo_and_why(tmp_path: Path) -> None:
    write = (
        "  - {uses: storage-fio, config: {rw: randwrite, file_names: [/dev/disk/by-id/x]}}\n"
        "safety: {destroys: [{host: far, device: /dev/disk/by-id/x, serial: S1}]}\n"
    )
    (tmp_path / "plan.yaml").write_text(PAGES + write + "hosts: {far: {transport: ssh, user: bench, sudo: true}}\n")
    shown = asct("plan", "plan.yaml", cwd=tmp_path)
    assert shown.code == 0, shown.err
    assert "privileges: sudo -n chase: reserves 2 MiB pages if the pool has too few free pages" in shown.out
    assert "privileges: sudo -n guard: writes to the device /dev/disk/by-id/x" in shown.out
    typed = asct("plan", "plan.yaml", "--show-commands", cwd=tmp_path).out
    assert "sudo -n -- chase --" in typed and "sudo -n -- guard --" in typed
    assert json.loads(asct("plan", "plan.yaml", "--json", cwd=tmp_path).out)["hosts"][0]["sudo"] is True
    without = asct("plan", "plan.yaml", "--set", "hosts.far.sudo=false", "--show-commands", cwd=tmp_path)
    assert "sudo" not in without.out
    assert "root: reserves 2 MiB pages" in asct("plan", "plan.yaml", "--set", "hosts.far.sudo=false", cwd=tmp_path).out

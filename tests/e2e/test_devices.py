"""Loop devices through `asct apply`: with consent, they are measured; without it, they are refused by name and not a
byte changes.

`asct doctor` briefly tries every device of the machine, so tests that run it need the machine alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from asct.store.reader import read_run
from asct.store.verify import verify
from tests.disks.loop import Loop, loop_device
from tests.e2e.running import Ended, apply, asct, latest, lines, require_measured
from tests.e2e.test_ssh import hosts, leftovers
from tests.sshd import Sshd

pytestmark = [pytest.mark.e2e, pytest.mark.disks, pytest.mark.fio]


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Loop]:
    with loop_device(tmp_path, 16) as made:
        yield made


def plan_of(loop: Loop, *, consent: str | None = None, config: str = "", more: str = "", rw: str = "randwrite") -> str:
    """Return a plan that runs `rw` over the whole device for half a second."""
    given = consent if consent is not None else f"{{host: local, device: {loop.path}, serial: {loop.backing}}}"
    settings = f"rw: {rw}, duration: 500ms, numjobs: 1, file_names: [{loop.path}]{config}"
    return (
        f"plan: 1\nname: quick\nbenchmarks:\n  - {{uses: storage-fio, id: job, config: {{{settings}}}, repeats: 2}}\n"
        f"safety: {{destroys: [{given}]{more}}}\n"
    )


def content(loop: Loop) -> str:
    with loop.path.open("rb") as device:  # what was written may still be in the device's part of the page cache
        os.fsync(device.fileno())
    return hashlib.sha256(loop.backing.read_bytes()).hexdigest()


def audit(folder: Path) -> Any:
    return json.loads((latest(folder) / "jobs/local/job/audit.json").read_text())


def refused(loop: Loop, folder: Path, plan: str, *says: str) -> Ended:
    """Apply the plan. It must end with exit code 4 and this message, and leave the device unchanged."""
    before = content(loop)
    ended = apply(plan, folder)
    told = " ".join(ended.err.split())
    assert ended.code == 4, ended.err
    assert all(word in told for word in says), told
    assert "Traceback" not in ended.err
    assert content(loop) == before
    return ended


def test_with_consent_a_device_is_measured_and_audited(loop: Loop, tmp_path: Path) -> None:
    before = content(loop)
    ended = apply(plan_of(loop, more=", max_written: 10GiB"), tmp_path)
    require_measured(ended, latest(tmp_path))
    assert content(loop) != before
    assert {record["id"] for record in lines(latest(tmp_path) / "records.jsonl")} == {"job"}
    found = audit(tmp_path)
    assert [look["decision"] for look in found["looks"]] == ["allowed", "allowed"]
    assert {check["name"] for check in found["looks"][0]["checks"]} > {"serial", "exclusive", "signature"}
    (target,) = found["targets"]
    assert target["path"] == str(loop.path) and target["capacity_bytes"] == 16 << 20
    assert target["written_bytes"] > 0 and target["drive_writes"] == pytest.approx(
        target["written_bytes"] / 2**24, rel=1e-3
    )
    assert verify(read_run(latest(tmp_path))) == []


def test_a_backing_file_with_a_hostile_name(tmp_path: Path) -> None:
    with loop_device(tmp_path, 16, name="dïsk $(touch x);'\"#: {y}.img") as loop:
        serial = json.dumps(str(loop.backing), ensure_ascii=False)
        plan = plan_of(loop, consent=f"{{host: local, device: {loop.path}, serial: {serial}}}")
        refused(loop, tmp_path, plan.replace("dïsk", "disk"), "E440", "check `serial`")
        ended = apply(plan, tmp_path)
        require_measured(ended, latest(tmp_path))
    (device,) = audit(tmp_path)["looks"][0]["devices"]
    assert device["serial"] == str(loop.backing)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("consent", "codes"),
    [
        ("{host: local, device: @, serial: /images/other.img}", ("E440", "check `serial`")),
        ("{host: local, device: /dev/loop99, serial: /images/x}", ("E251",)),
        ("", ("E251",)),
    ],
)
def test_half_a_consent_is_refused(loop: Loop, tmp_path: Path, consent: str, codes: tuple[str, ...]) -> None:
    refused(loop, tmp_path, plan_of(loop, consent=consent.replace("@", str(loop.path))), *codes)


@pytest.mark.parametrize("field", ["host: '${vars.x}'", "serial: '${vars.x}'"])
def test_a_template_is_no_consent(loop: Loop, tmp_path: Path, field: str) -> None:
    fields = {"host": "local", "device": str(loop.path), "serial": str(loop.backing)}
    name, _, template = field.partition(": ")
    fields[name] = template
    consent = "{" + ", ".join(f"{key}: {value}" for key, value in fields.items()) + "}"
    before = content(loop)
    ended = apply(plan_of(loop, consent=consent) + "vars: {x: local}\n", tmp_path)
    assert ended.code == 2 and "E125" in ended.err
    assert content(loop) == before


@contextmanager
def file_system(loop: Loop) -> Iterator[None]:
    subprocess.run(["mkfs.ext4", "-q", "-F", str(loop.path)], check=True, capture_output=True)
    yield


@contextmanager
def mounted(loop: Loop) -> Iterator[None]:
    with file_system(loop):
        point = loop.backing.parent / "mnt"
        point.mkdir()
        # read-only, or the file system changes its disk by itself
        subprocess.run(["mount", "-o", "ro,noload", str(loop.path), str(point)], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", str(point)], check=True)


def test_a_mounted_device_is_refused_whatever_the_plan_says(loop: Loop, tmp_path: Path) -> None:
    consent = f"{{host: local, device: {loop.path}, serial: {loop.backing}, overwrite: true}}"
    with mounted(loop):
        ended = refused(loop, tmp_path, plan_of(loop, consent=consent), "E442", "check `mounted`")
    assert "umount" in ended.err or "unmount" in ended.err
    found = audit(tmp_path)
    assert found["looks"][0]["decision"] == "refused"
    assert verify(read_run(latest(tmp_path))) == []


def test_a_file_system_is_destroyed_only_with_overwrite(loop: Loop, tmp_path: Path) -> None:
    with file_system(loop):
        refused(loop, tmp_path, plan_of(loop), "E443", "check `signature`", "ext", "overwrite: true")
        refused(loop, tmp_path, plan_of(loop, config=", overwrite: true"), "E443", "safety.destroys")
        consent = f"{{host: local, device: {loop.path}, serial: {loop.backing}, overwrite: true}}"
        ended = apply(plan_of(loop, consent=consent), tmp_path)
        require_measured(ended, latest(tmp_path))


def test_unknown_data_is_destroyed_only_with_overwrite(loop: Loop, tmp_path: Path) -> None:
    loop.path.write_bytes(b"mine" * 1024)
    refused(loop, tmp_path, plan_of(loop), "E443", "check `data`")


def test_a_device_that_another_program_holds_is_refused(loop: Loop, tmp_path: Path) -> None:
    with loop.path.open("rb+"):
        refused(loop, tmp_path, plan_of(loop), "E442", "check `open-elsewhere`")


def test_a_link_to_a_device_is_no_consent(loop: Loop, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(loop.path)
    plan = plan_of(loop).replace(f"file_names: [{loop.path}]", f"file_names: [{link}]")
    refused(loop, tmp_path, plan, "E431")


def test_a_mistyped_device_gets_a_suggestion_and_is_never_made(loop: Loop, tmp_path: Path) -> None:
    wrong = f"/dev/loop{loop.path.name.removeprefix('loop')}0"
    plan = plan_of(loop).replace(f"{loop.path}", wrong)
    before = content(loop)
    ended = apply(plan, tmp_path)
    assert ended.code == 3, ended.err
    assert "E424" in ended.err and f"did you mean {loop.path}" in " ".join(ended.err.split())
    assert content(loop) == before and not Path(wrong).exists()


def test_reading_a_device_needs_no_consent(loop: Loop, tmp_path: Path) -> None:
    before = content(loop)
    plan = plan_of(loop, rw="randread").partition("safety")[0]
    ended = apply(plan, tmp_path)
    require_measured(ended, latest(tmp_path))
    assert content(loop) == before
    commands = next(latest(tmp_path).glob("jobs/local/job/*/r1/status.json")).read_text()
    assert "--readonly" in commands
    assert not (latest(tmp_path) / "jobs/local/job/audit.json").exists()


def test_two_jobs_on_one_device_and_a_resume(loop: Loop, tmp_path: Path) -> None:
    plan = plan_of(loop)
    entry = next(line for line in plan.splitlines() if "uses:" in line)
    plan = plan.replace(entry, f"{entry}\n{entry.replace('id: job', 'id: second')}")
    ended = apply(plan, tmp_path)
    require_measured(ended, latest(tmp_path))
    status = next(latest(tmp_path).glob("jobs/local/second/*/r2/status.json"))
    status.unlink()
    again = asct("resume", str(latest(tmp_path)), cwd=tmp_path)
    require_measured(again, latest(tmp_path))
    assert status.exists(), "what this run wrote is its own after a resume, too"


@pytest.mark.alone
def test_doctor_shows_what_apply_would_do(loop: Loop, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(plan_of(loop))
    ended = asct("doctor", "plan.yaml", "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    (host,) = json.loads(ended.out)["hosts"]
    disk = next(disk for disk in host["disks"] if disk["device"] == str(loop.path))
    assert disk["target"] and disk["serial"] == str(loop.backing) and disk["bytes"] == 16 << 20
    assert host["consents"][0]["refusals"] == []
    with loop.path.open("rb"):
        held = json.loads(asct("doctor", "plan.yaml", "--json", cwd=tmp_path).out)["hosts"][0]
    disk = next(disk for disk in held["disks"] if disk["device"] == str(loop.path))
    assert "open-elsewhere" in {item["check"] for item in disk["objections"]}
    assert held["consents"][0]["refusals"][0]["code"] == "E442"


@pytest.mark.ssh
@pytest.mark.kernels
@pytest.mark.alone
def test_over_ssh_an_account_that_may_not_look_may_not_write(loop: Loop, sshd: Sshd, tmp_path: Path) -> None:
    plan = plan_of(loop).replace("host: local", "host: server") + hosts(sshd)
    account = "" if sshd.user == "root" else "E444"
    wrong = plan.replace(f"serial: {loop.backing}", "serial: /other")
    refused(loop, tmp_path, wrong, "E440", "host server", "check `serial`", account)
    looked = asct("doctor", "plan.yaml", "--json", cwd=tmp_path)
    (host,) = json.loads(looked.out)["hosts"]
    codes = {item["code"] for item in host["consents"][0]["refusals"]}
    assert (looked.code, host["transport"]) == (0, "ssh") and "E440" in codes
    found = json.loads((latest(tmp_path) / "jobs/server/job/audit.json").read_text())
    assert [look["decision"] for look in found["looks"]] == ["refused"]
    if account:
        refused(loop, tmp_path, plan, account, "could not be completed")
    assert leftovers(sshd) == []


def test_run_writes_with_consent_and_names_its_own_options(loop: Loop, tmp_path: Path) -> None:
    settings = (f"sfio.file_names={loop.path}", "sfio.rw=randwrite", "sfio.duration=500ms", "sfio.numjobs=1")
    consent = f"local:{loop.path}:{loop.backing}"

    def run(folder: str, *options: str) -> Ended:
        return asct("run", "sfio", "-o", folder, "--wait", "5m", *options, "--user-config", *settings, cwd=tmp_path)

    before = content(loop)
    ended = run("none")
    assert ended.code == 4 and f"--destroys local:{loop.path}:BACKING_FILE" in " ".join(ended.err.split())
    ended = run("wrong", "--destroys", f"local:{loop.path}:/elsewhere")
    told = " ".join(ended.err.split())
    assert ended.code == 4 and "`--destroys`" in told and "safety.destroys" not in told
    assert content(loop) == before
    require_measured(run("first", "--destroys", consent), tmp_path / "first")
    assert content(loop) != before
    ended = run("again", "--destroys", consent)
    assert ended.code == 4 and "add `--overwrite`" in " ".join(ended.err.split())
    require_measured(run("over", "--destroys", consent, "--overwrite"), tmp_path / "over")

"""`asct doctor`: text of at most 80 columns for people, and a document for programs."""

from __future__ import annotations

from pathlib import Path

import pytest

import asct.engine.services
from tests.cli.conftest import Asct
from tests.doctor.stub import LOOK, META, ports

PLAN = """
plan: 1
name: disks
hosts: {here: {transport: local}, there: {transport: local}}
benchmarks: [{uses: storage-fio, hosts: [here], config: {rw: write, file_names: [/dev/loop7], duration: 1s}}]
safety: {destroys: [{host: here, device: /dev/loop7, serial: /img}]}
"""


@pytest.fixture(autouse=True)
def stubbed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asct.engine.services, "default_services", lambda: ports(*LOOK))


def test_this_machine(asct: Asct) -> None:
    ended = asct("doctor")
    assert ended.code == 0
    assert all(len(line) <= 80 for line in ended.out.splitlines()) and "\x1b" not in ended.out
    assert "2 block devices, 1 of them writable with consent" in ended.out
    assert "/dev/nvme0n1  1.1 TB  ACME X1" in ended.out
    assert "serial  S6XZ" in ended.out and "target  yes" in ended.out
    assert "system: its partition 1 carries /" in ended.out
    assert "signature: not checked: Permission denied" in ended.out


def test_as_a_document(asct: Asct) -> None:
    document = asct("doctor", "--json").document
    assert document["schema"] == "asct.doctor/1"
    (host,) = document["hosts"]
    assert (host["name"], host["status"]) == ("local", "ok")
    able, unable = host["disks"]
    assert able["target"] is True and unable["target"] is False
    assert unable["objections"][0]["check"] == "system" and unable["objections"][1]["ok"] is None


def test_the_hosts_of_a_plan_and_what_it_gives_up(asct: Asct, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    ended = asct("doctor", "plan.yaml", "--json")
    assert ended.code == 0
    hosts = ended.document["hosts"]
    assert [host["name"] for host in hosts] == ["here"], "hosts without a job are left alone"
    (item,) = hosts[0]["consents"]
    assert (item["device"], item["refusals"][0]["code"]) == ("/dev/loop7", "E445")
    text = asct("doctor", "plan.yaml")
    assert "/dev/loop7, which the plan may overwrite: asct would refuse to write to it:" in text.out
    assert "E445" in text.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.yaml"], "nothing is made"


def test_a_host_that_could_not_be_looked_at(asct: Asct, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("asct.engine.services.default_services", lambda: ports(META))
    ended = asct("doctor")
    assert ended.code == 3
    assert ended.out.startswith("local (local): Test CPU") and "E445" in ended.err
    assert "fio missing" in ended.out, "what was found before it failed is told"
    assert "block device" not in ended.out
    assert asct("doctor", "--json").document["hosts"][0]["problems"][0]["code"] == "E445"


@pytest.mark.parametrize("arguments", [("nosuch.yaml",), ("--host", "a b"), ("a.yaml", "b.yaml")])
def test_wrong_usage(asct: Asct, arguments: tuple[str, ...]) -> None:
    assert asct("doctor", *arguments).code == 2

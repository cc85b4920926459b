"""Routes to a host: several jump hosts, ~/.ssh/config, and known hosts for a plan or for a single host."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from asct.errors import ConnectError
from asct.hosts.factory import make_host, open_host
from asct.plan.load import load_plan
from asct.plan.model import HostSpec
from tests.fleet import Fleet, fleet
from tests.sshd import Sshd, keygen, known_line

pytestmark = pytest.mark.ssh


@pytest.fixture(scope="module")
def three() -> Iterator[Fleet]:
    with fleet(3) as made:
        yield made


def logins(made: Fleet) -> list[int]:
    return [server.log.read_text().count("Accepted publickey") for server in made.servers.values()]


def place(server: Sshd) -> str:
    return f"{server.user}@{server.address}:{server.port}"


def spec_of(made: Fleet, **changes: object) -> HostSpec:
    """Return the third host; the other hosts are in front of it."""
    files = {"identity_file": str(made.identity), "known_hosts": str(made.known_hosts)}
    return made.servers["n003"].spec("n003", **{**files, "workdir": "/var/tmp/asct", **changes})


def reached_by(made: Fleet, spec: HostSpec) -> list[int]:
    """Return the number of logins on each host of the route to `spec`."""
    before = logins(made)
    host = open_host(spec)
    try:
        assert host.execute(["sh", "-c", "echo ${SSH_CONNECTION}"]).stdout.split()[2] == made.servers["n003"].address
    finally:
        host.close()
    return [after - one for one, after in zip(before, logins(made), strict=True)]


def test_two_jump_hosts_of_the_plan(three: Fleet, home: Path) -> None:
    first, second, _ = three.servers.values()
    assert reached_by(three, spec_of(three, jump=f"{place(first)}, {place(second)}")) == [1, 1, 1]
    assert reached_by(three, spec_of(three, jump=place(second))) == [0, 1, 1]
    assert reached_by(three, spec_of(three)) == [0, 0, 1]


@pytest.mark.parametrize("way", ["list", "nested"])
def test_two_jump_hosts_of_ssh_config(three: Fleet, home: Path, way: str) -> None:
    """ProxyJump may be a list, or the jump host may itself be behind another one. Users and ports come from
    ~/.ssh/config, too."""
    first, second, third = three.servers.values()
    jumps = {"list": ("", "a,b"), "nested": ("ProxyJump a", "b")}[way]
    (home / ".ssh" / "config").write_text(
        f"Host a\n HostName {first.address}\nHost b\n HostName {second.address}\n {jumps[0]}\n"
        f"Host inner\n HostName {third.address}\n ProxyJump {jumps[1]}\n"
        f"Host *\n Port {first.port}\n User {first.user}\n IdentityFile {three.identity}\n"
    )
    shutil.copy(three.known_hosts, home / ".ssh" / "known_hosts")
    assert reached_by(three, HostSpec("n", "ssh", address="inner")) == [1, 1, 1]


def test_a_time_limit_in_ssh_config_does_no_harm(three: Fleet, home: Path) -> None:
    (home / ".ssh" / "config").write_text("ConnectTimeout 60\n")
    assert reached_by(three, spec_of(three)) == [0, 0, 1]


def test_jump_hosts_in_a_circle(three: Fleet, home: Path) -> None:
    (home / ".ssh" / "config").write_text("Host a\n ProxyJump b\nHost b\n ProxyJump a\n")
    with pytest.raises(ConnectError) as error:
        open_host(spec_of(three, address="a"))
    assert (error.value.diagnostics[0].code, "loop" in error.value.diagnostics[0].message) == ("E314", True)


def test_a_jump_host_has_a_key_of_its_own(three: Fleet, home: Path, tmp_path: Path) -> None:
    """The plan's `identity_file` is for the host, whereas the jump host uses the key from ~/.ssh/config."""
    first = three.servers["n001"]
    keygen(tmp_path / "other")
    keys = first.folder / "authorized_keys"
    kept = keys.read_text()
    (home / ".ssh" / "config").write_text(f"Host {first.address}\n IdentityFile {tmp_path / 'other'}\n")
    try:
        keys.write_text((tmp_path / "other.pub").read_text())
        assert reached_by(three, spec_of(three, jump=place(first))) == [1, 0, 1]
    finally:
        keys.write_text(kept)


def test_known_hosts_of_the_plan_and_of_a_host(three: Fleet, home: Path, tmp_path: Path) -> None:
    """One file contains the keys of all hosts in the plan, and another one those of a single host. A host that is
    missing from its file is refused."""
    hosts = three.hosts()
    first, second, third = three.servers.values()
    (tmp_path / "lab").mkdir()
    (tmp_path / "known").write_text(known_line(first) + known_line(third))
    (tmp_path / "lab" / "own").write_text(known_line(second))
    hosts["defaults"]["known_hosts"] = "./known"
    hosts["n002"]["known_hosts"] = "lab/own"
    hosts["n003"]["known_hosts"] = "lab/own"
    (tmp_path / "p.yaml").write_text(f"plan: 1\nname: t\nbenchmarks: [noop]\nhosts: {json.dumps(hosts)}\n")
    loaded = load_plan(tmp_path / "p.yaml")
    assert loaded.plan is not None, loaded.diagnostics
    for name in ("n001", "n002"):
        host = make_host(loaded.plan.hosts[name], folder=tmp_path)
        host.open()
        host.close()
    with pytest.raises(ConnectError) as error:
        make_host(loaded.plan.hosts["n003"], folder=tmp_path).open()
    found = error.value.diagnostics[0]
    assert (found.code, found.verbatim) == ("E307", known_line(third).strip())
    assert str(tmp_path / "lab" / "own") in found.hint

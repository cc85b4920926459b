"""Transports by name, and the one that does not contact a host."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from asct import hosts
from asct.errors import HostError, UsageError
from asct.hosts.base import Host, Process, SessionSpec, Task
from asct.hosts.dryrun import DryRun
from asct.hosts.factory import make_host
from asct.plan.model import HostSpec
from asct.transports import transports


def test_transports_are_found() -> None:
    modules = [importlib.import_module(info.name) for info in pkgutil.iter_modules(hosts.__path__, "asct.hosts.")]
    found = [name for name, _ in transports()]
    assert found == sorted(one.__name__.removeprefix("asct.hosts.") for one in modules if hasattr(one, "make"))
    assert all(summary.endswith(".") for _, summary in transports())


def test_looking_for_transports_loads_none() -> None:
    text = (
        "import sys; from asct.hosts.factory import make_host; from asct.plan.model import HostSpec;"
        "from asct.transports import transport; transport('ssh'), transport('slurm');"
        "make_host(HostSpec('x'));"
        "print([m for m in ('fabric', 'paramiko', 'asct.hosts.dryrun') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("name", "code", "hint"),
    [("shh", "E301", "ssh"), ("x", "E301", "local"), ("base", "E301", "local")],
)
def test_transport_that_is_not_there(name: str, code: str, hint: str) -> None:
    with pytest.raises(UsageError) as error:
        make_host(HostSpec("h", name))
    found = error.value.diagnostics[0]
    assert (found.code, name in found.message, hint in found.hint) == (code, True, True)


def dry_host() -> DryRun:
    host = make_host(HostSpec("h", "ssh", address="nowhere", workdir="/var/tmp/asct"), transport="dryrun")
    assert isinstance(host, DryRun)
    return host


def test_dryrun_text_can_be_pasted(tmp_path: Path) -> None:
    host = dry_host()
    folder = str(tmp_path / "a b")
    beside = Process(("sleep", "100"), folder, stdout_file="c.out", stderr_file="c.err")
    main = Process(("sh", "-c", 'printf "%s" "$V$1"', "sh", "it's\n$(x)"), folder, env={"V": "a 'b' "})
    done = host.run(Task(main, tmp_path / "into", files={"job": "one\n'two'"}, companions=(beside,)))
    assert (done.status, done.fetched) == (0, ())
    assert not (tmp_path / "into").exists()
    subprocess.run(["bash", "-c", host.commands[0]], check=False, timeout=20)
    assert (tmp_path / "a b" / "stdout").read_text() == "a 'b' it's\n$(x)"
    assert (tmp_path / "a b" / "job").read_text() == "one\n'two'"


def test_dryrun_touches_nothing(tmp_path: Path) -> None:
    host: Host = dry_host()
    host.open(SessionSpec("tests", "the tests"))
    source = tmp_path / "s"
    source.write_text("x")
    assert host.execute(["uname", "-m"]).stdout == ""
    host.put(source, f"{host.cache}/k", mode=0o700)
    host.get("/etc/passwd", tmp_path / "passwd")
    host.remove(f"{host.work}/x")
    host.interrupt()
    host.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s"]
    assert len(dry_host().commands) == 0


def test_dryrun_refuses_what_a_host_refuses(tmp_path: Path) -> None:
    with pytest.raises(HostError):
        dry_host().run(Task(Process(("true",), "/x"), tmp_path, collect=("../up",)))


def test_many_threads_make_hosts_of_one_ssh_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a fleet: the threads share the content of the file, and nothing that making a connection changes."""
    from asct.hosts.ssh.link import Hop

    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/config").write_text("Host n*\n  User somebody\n  ProxyJump gw\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(16) as pool:
            specs = [HostSpec(f"n{number}", "ssh") for number in range(400)]
            hops = list(pool.map(lambda spec: Hop(spec, tmp_path, spec.name, 1.0), specs))
    finally:
        sys.setswitchinterval(interval)
    assert [hop.label for hop in hops] == [f"n{number} (somebody@n{number}:22)" for number in range(400)]
    assert [hop.jumps() for hop in hops] == [["gw"]] * 400

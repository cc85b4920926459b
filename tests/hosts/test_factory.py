"""Finding transports by name."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from asct import hosts
from asct.errors import UsageError
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
        "print([m for m in ('fabric', 'paramiko', 'asct.hosts.ssh.link') if m in sys.modules])"
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


def test_many_threads_make_hosts_of_one_ssh_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a fleet, the threads share the content of the file, but nothing that changes when a connection is made."""
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

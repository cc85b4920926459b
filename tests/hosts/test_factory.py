"""Finding transports by name."""

from __future__ import annotations

import importlib
import os
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


def test_ssh_does_not_load_what_only_commands_in_ssh_config_need() -> None:
    text = "import sys, asct.hosts.ssh.link; print([m for m in ('invoke', 'asyncio', 'unittest') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_settings_of_ssh_config_that_depend_on_a_command(tmp_path: Path) -> None:
    (tmp_path / ".ssh").mkdir()
    config = 'Match exec "false"\n User nobody\nMatch exec "test %n = n1"\n User somebody\n HostName 10.0.0.7\n'
    (tmp_path / ".ssh/config").write_text(config)
    text = (
        "from pathlib import Path; from asct.hosts.ssh.link import Hop; from asct.plan.model import HostSpec;"
        "print(Hop(HostSpec('n1', 'ssh'), Path('/'), 'n1', 1.0).label)"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.stdout == "n1 (somebody@10.0.0.7:22)\n"


def test_looking_for_transports_loads_none() -> None:
    text = (
        "import sys; from asct.hosts.factory import make_host; from asct.plan.model import HostSpec;"
        "from asct.transports import transport; transport('ssh'), transport('slurm');"
        "make_host(HostSpec('x'));"
        "print([m for m in ('paramiko', 'asct.hosts.ssh.link') if m in sys.modules])"
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

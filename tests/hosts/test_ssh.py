"""The ssh transport against real servers: keys, logins, jump hosts, and servers that fail."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import threading
from pathlib import Path
from typing import cast

import paramiko
import pytest

from asct.diagnostics.model import Diagnostic
from asct.errors import ConnectError, HostError
from asct.hosts import script, shell_files
from asct.hosts.base import Process, SessionSpec, Task
from asct.hosts.factory import make_host, open_host
from asct.hosts.ssh import link
from asct.hosts.ssh.link import IDLE_S, PromptSocket, SshChannel
from asct.plan.model import HostSpec
from tests.awaiting import PATIENCE_S, until
from tests.hosts.forced import force, with_programs
from tests.sshd import Sshd, free_port, keygen

pytestmark = [pytest.mark.ssh, pytest.mark.usefixtures("home")]


def refused(spec: HostSpec) -> Diagnostic:
    with pytest.raises(ConnectError) as error:
        open_host(spec)
    assert error.value.host == spec.name
    return error.value.diagnostics[0]


def quick(spec: HostSpec, seconds: float = 1.0) -> HostSpec:
    return spec._replace(options={"connect_timeout": seconds})


def ssh_keygen_fingerprint(file: Path) -> str:
    done = subprocess.run(["ssh-keygen", "-lf", str(file)], capture_output=True, text=True, check=True)
    return done.stdout.split()[1]


def test_unknown_key_is_refused_with_the_line_to_add(sshd: Sshd, tmp_path: Path) -> None:
    known = tmp_path / "known"
    spec = sshd.spec(known_hosts=str(known))
    for content in (
        None,
        "",
        "other ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl\n",
    ):
        if content is not None:
            known.write_text(content)
        found = refused(spec)
        assert found.code == "E307"
        assert ssh_keygen_fingerprint(sshd.folder / "host.pub") in found.notes[0][0]
        assert str(known) in found.hint
    line = found.verbatim
    known.write_text(line + "\n")
    open_host(spec).close()


def test_hashed_known_hosts(sshd: Sshd, tmp_path: Path) -> None:
    known = tmp_path / "known"
    shutil.copy(sshd.known_hosts, known)
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(known)], check=True, capture_output=True)
    assert "127.0.0.1" not in known.read_text()
    open_host(sshd.spec(known_hosts=str(known))).close()


def test_changed_key_is_refused_with_both_fingerprints(sshd: Sshd, tmp_path: Path) -> None:
    keygen(tmp_path / "other")
    kind, blob = (tmp_path / "other.pub").read_text().split()[:2]
    known = tmp_path / "known"
    known.write_text(f"[127.0.0.1]:{sshd.port} {kind} {blob}\n")
    found = refused(sshd.spec(known_hosts=str(known)))
    assert found.code == "E308"
    assert ssh_keygen_fingerprint(sshd.folder / "host.pub") in found.notes[0][0]
    assert ssh_keygen_fingerprint(tmp_path / "other.pub") in found.notes[1][0]


def test_ssh_config_does_not_weaken_the_check(sshd: Sshd, home: Path, tmp_path: Path) -> None:
    (home / ".ssh" / "config").write_text(
        f"Host box\n HostName 127.0.0.1\n Port {sshd.port}\n User {sshd.user}\n IdentityFile {sshd.identity}\n"
        " StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n"
    )
    spec = HostSpec("box", "ssh", workdir=sshd.spec().workdir)
    assert refused(spec).code == "E307"
    shutil.copy(sshd.known_hosts, home / ".ssh" / "known_hosts")
    host = open_host(spec)
    assert host.execute(["whoami"]).stdout.strip() == sshd.user
    host.close()


def test_wrong_login(sshd: Sshd, tmp_path: Path) -> None:
    keygen(tmp_path / "stranger")
    found = refused(sshd.spec(identity_file=str(tmp_path / "stranger")))
    assert found.code == "E309"
    assert sshd.user in found.message
    assert refused(sshd.spec(identity_file=None)).code == "E309"


def test_identity_that_cannot_be_used(sshd: Sshd, tmp_path: Path) -> None:
    assert refused(sshd.spec(identity_file=str(tmp_path / "absent"))).code == "E311"
    locked = tmp_path / "locked"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", str(locked)], check=True)
    assert refused(sshd.spec(identity_file=str(locked))).code == "E311"


def test_agent(sshd: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sock = tmp_path / "a"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(sock)], stdout=subprocess.DEVNULL)
    try:
        monkeypatch.setenv("SSH_AUTH_SOCK", str(sock))
        add = ["ssh-add", "-q", str(sshd.identity)]
        until(lambda: subprocess.run(add, capture_output=True, check=False).returncode == 0, "the agent takes no key")
        open_host(sshd.spec(identity_file=None)).close()
    finally:
        agent.terminate()
        agent.wait()


def test_received_data_is_acknowledged_at_once(sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket that replies to what it receives delays acknowledgments (TCP_QUICKACK is 0) unless told otherwise."""
    prompt: list[int] = []

    class Seen(PromptSocket):
        def read_at_once(self, flags: int) -> bytes:
            data = super().read_at_once(flags)
            prompt.append(self.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK))
            return data

    monkeypatch.setattr(link, "PromptSocket", Seen)
    host = open_host(sshd.spec())
    assert host.execute(["echo", "there"]).stdout == "there\n"
    host.close()
    assert prompt and all(prompt)
    monkeypatch.setattr(PromptSocket, "read_at_once", lambda self, flags: socket.socket.recv(self, 1 << 15, flags))
    prompt.clear()
    open_host(sshd.spec()).close()
    assert not all(prompt)


def test_data_that_has_arrived_is_read_at_once() -> None:
    """paramiko asks for the length and the content of each packet separately."""
    reads: list[bytes] = []

    class Counted(PromptSocket):
        def read_at_once(self, flags: int) -> bytes:
            reads.append(super().read_at_once(flags))
            return reads[-1]

    with socket.create_server(("127.0.0.1", 0)) as server:
        sock = Counted(fileno=socket.create_connection(server.getsockname()).detach())
        with sock, server.accept()[0] as peer:
            peer.sendall(b"abcdef")
            peer.shutdown(socket.SHUT_WR)
            assert [sock.recv(size) for size in (2, 3, 3, 2)] == [b"ab", b"cde", b"f", b""]
    assert reads == [b"abcdef", b""]


def test_idle_connection_wakes_rarely(sshd: Sshd) -> None:
    before = set(threading.enumerate())
    host = open_host(sshd.spec())
    readers = [one for one in set(threading.enumerate()) - before if isinstance(one, paramiko.Transport)]
    assert [one.sock.gettimeout() for one in readers] == [IDLE_S]
    host.close()


def test_closing_wakes_the_reader() -> None:
    """Otherwise, the thread that reads from a connection would hold it until the read times out."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        sock = PromptSocket(fileno=socket.create_connection(silent.getsockname()).detach())
        reader = threading.Thread(target=read_to_the_end, args=(sock,), daemon=True)
        reader.start()
        stat = Path(f"/proc/self/task/{reader.native_id}/stat")
        until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "S", "the reader does not wait")
        sock.close()
        reader.join(PATIENCE_S)
        assert not reader.is_alive()


def read_to_the_end(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):  # the socket can be closed between two reads
        while sock.recv(1):
            pass


def test_nothing_listens(sshd: Sshd) -> None:
    assert refused(sshd.spec(port=free_port())).code == "E305"


def test_name_that_does_not_resolve(sshd: Sshd) -> None:
    assert refused(sshd.spec(address="no-such-host.invalid")).code == "E303"


def test_silent_server(sshd: Sshd) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert refused(quick(sshd.spec(port=silent.getsockname()[1]))).code == "E306"


def hang_up(server: socket.socket) -> None:
    server.accept()[0].close()


def test_server_that_hangs_up(sshd: Sshd) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=hang_up, args=(server,), daemon=True).start()
        assert refused(quick(sshd.spec(port=server.getsockname()[1]))).code in ("E306", "E313")


def test_unreachable(sshd: Sshd) -> None:
    """A server whose queue of new connections is full does not respond, like a host that is down."""
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for one in (first, second):
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        assert refused(quick(sshd.spec(port=full.getsockname()[1]))).code == "E304"


def test_large_and_growing_files_are_copied_without_sftp(sshd: Sshd, tmp_path: Path) -> None:
    host = make_host(sshd.spec())
    host.open(SessionSpec("r", "a test"))
    data, lines, begun = tmp_path / "data", [], threading.Event()
    data.write_bytes(os.urandom(3 << 20))

    def heard(line: str) -> None:
        lines.append(line)
        begun.set()

    try:
        host.put(data, f"{host.work}/copy")
        host.get(f"{host.work}/copy", tmp_path / "back")
        go = Path(host.work, "go")
        argv = ("sh", "-c", 'echo first; until [ -e "$1" ]; do sleep 0.05; done; echo last', "sh", str(go))
        release = threading.Thread(target=lambda: begun.wait(PATIENCE_S) and go.write_text(""))
        release.start()
        done = host.run(Task(Process(argv, f"{host.work}/t"), tmp_path / "into", timeout_s=2 * PATIENCE_S), heard)
        release.join()
    finally:
        host.close()
    assert (tmp_path / "back").read_bytes() == data.read_bytes()
    assert done.status == 0 and lines == ["first", "last"]


def test_a_file_is_copied_to_a_host_that_reads_slowly(own_sshd: Sshd, tmp_path: Path) -> None:
    """The file is larger than what asct sends before the host has confirmed anything."""
    slow = {"head": 'sleep 1.2\nexec /usr/bin/head "$@"'}
    force(own_sshd, with_programs(own_sshd.folder / "slow", slow))
    data = tmp_path / "data"
    data.write_bytes(os.urandom(2 * shell_files._BLOCK + 1))
    host = open_host(own_sshd.spec())
    host.put(data, f"{host.work}/copy")
    host.get(f"{host.work}/copy", tmp_path / "back")
    host.close()
    assert (tmp_path / "back").read_bytes() == data.read_bytes()


def test_what_has_not_arrived_is_discarded_with_a_connection_that_is_dropped() -> None:
    """The peer does not read, so that a part of the data remains here."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        sock = PromptSocket(fileno=socket.create_connection(server.getsockname()).detach())
        peer, _ = server.accept()
        with peer:
            sock.settimeout(0.1)
            with pytest.raises(TimeoutError):
                sock.sendall(bytes(100 << 20))
            sock.discard()
            with pytest.raises(ConnectionResetError):
                while peer.recv(1 << 20):
                    pass


def test_all_data_is_sent_though_the_server_takes_little_at_once() -> None:
    class Narrow:
        taken = b""
        patience = 0

        def send(self, data: bytes) -> int:
            self.patience += 1
            if self.patience % 2:
                raise TimeoutError
            self.taken += data[:10_000]
            return len(data[:10_000])

    narrow, data = Narrow(), os.urandom(25_000)
    SshChannel(cast(paramiko.Channel, narrow)).send(data)
    assert narrow.taken == data


def test_standard_error_does_not_stop_transfers(own_sshd: Sshd, tmp_path: Path) -> None:
    """Standard error that is not read reduces what ssh may send in total."""
    flood = own_sshd.folder / "account" / "flood"
    force(own_sshd, f'[ ! -e {flood} ] || head -c 3000000 /dev/zero >&2\nexec sh -c "$SSH_ORIGINAL_COMMAND"\n')
    host = open_host(own_sshd.spec())
    (tmp_path / "data").write_text("data")
    flood.touch()
    host.put(tmp_path / "data", f"{host.work}/copy")
    host.get(f"{host.work}/copy", tmp_path / "back")
    flood.unlink()
    host.close()
    assert (tmp_path / "back").read_text() == "data"


def test_all_files_are_copied_over_one_channel(sshd: Sshd, tmp_path: Path, opened: list[str]) -> None:
    host = make_host(sshd.spec())
    host.open(SessionSpec("r", "a test"))
    try:
        done = host.run(Task(Process(("echo", "x"), f"{host.work}/t"), tmp_path / "into"))
    finally:
        host.close()
    assert done.status == 0 and (tmp_path / "into" / "stdout").read_text() == "x\n"
    assert opened == ["session", "session"], "the session and its files"


def test_forced_command(own_sshd: Sshd) -> None:
    keys = own_sshd.folder / "authorized_keys"
    keys.write_text(f'command="echo go away" {keys.read_text()}')
    assert refused(own_sshd.spec()).code == "E327"


def test_work_folder_that_cannot_be_made(sshd: Sshd) -> None:
    found = refused(sshd.spec(workdir="/proc/asct"))
    assert found.code == "E322"
    assert "workdir" in found.hint


def test_jump_host_is_checked_too(sshd: Sshd, own_sshd: Sshd, tmp_path: Path) -> None:
    key = (sshd.folder / "client.pub").read_text()
    (own_sshd.folder / "authorized_keys").write_text(key)
    both = tmp_path / "both"
    both.write_text(sshd.known_hosts.read_text() + own_sshd.known_hosts.read_text())
    spec = sshd.spec(jump=f"{own_sshd.user}@127.0.0.1:{own_sshd.port}", known_hosts=str(both))
    host = open_host(spec)
    assert host.execute(["sh", "-c", "echo ${SSH_CONNECTION##* }"]).stdout == f"{sshd.port}\n"
    host.close()
    found = refused(spec._replace(known_hosts=str(sshd.known_hosts)))
    assert found.code == "E307"
    assert "jump host" in found.message
    found = refused(spec._replace(known_hosts=str(own_sshd.known_hosts)))
    assert found.code == "E307"
    assert "jump host" not in found.message


def test_proxy_jump_of_ssh_config(sshd: Sshd, own_sshd: Sshd, home: Path, tmp_path: Path) -> None:
    (own_sshd.folder / "authorized_keys").write_text((sshd.folder / "client.pub").read_text())
    both = tmp_path / "both"
    both.write_text(sshd.known_hosts.read_text() + own_sshd.known_hosts.read_text())
    (home / ".ssh" / "config").write_text(
        f"Host inner\n HostName 127.0.0.1\n ProxyJump outer\nHost outer\n HostName 127.0.0.1\n"
        f" Port {own_sshd.port}\n User {own_sshd.user}\n"
    )
    host = open_host(sshd.spec(address="inner", known_hosts=str(both)))
    assert host.execute(["true"]).status == 0
    host.close()


def test_login_script_that_talks(own_sshd: Sshd, tmp_path: Path) -> None:
    """The output of a login script before the reply is ignored."""
    keys = own_sshd.folder / "authorized_keys"
    talk = 'echo Welcome; echo oops >&2; eval \\"$SSH_ORIGINAL_COMMAND\\"'
    keys.write_text(f'command="{talk}" {keys.read_text()}')
    host = open_host(own_sshd.spec())
    answer = host.execute(["sh", "-c", "echo out; echo err >&2"])
    assert (answer.stdout, answer.stderr) == ("out\n", "err\n")
    (tmp_path / "sent").write_text("Welcome\nasct\n")
    host.put(tmp_path / "sent", f"{host.work}/sent")
    host.get(f"{host.work}/sent", tmp_path / "back")
    assert (tmp_path / "back").read_text() == "Welcome\nasct\n"
    host.close()


@pytest.fixture(params=["bash", "busybox", "dash"])
def other_shell(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return a search path on which `sh` is a different shell."""
    folder = tmp_path / "bin"
    folder.mkdir()
    found = shutil.which(request.param)
    assert found is not None, "apt-get install bash busybox dash"
    (folder / "sh").symlink_to(found)
    return f"{folder}:{os.environ['PATH']}"


def test_other_shells_run_the_runner(other_shell: str, tmp_path: Path) -> None:
    """The test runs a complete session without asct's classes: it opens the session, submits a job file and leaves."""
    environment = {**os.environ, "PATH": other_shell, "HOME": str(tmp_path)}
    text = script.open_script("x", str(tmp_path / "w"), "0" * 32, SessionSpec("r", "a test"))
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
    with subprocess.Popen(["sh", "-s"], bufsize=1, start_new_session=True, **streams) as shell:  # type: ignore[call-overload]
        assert shell.stdin is not None and shell.stdout is not None
        shell.stdin.write(text)
        shell.stdin.flush()
        said = dict(script.messages(line.strip() for line in iter(shell.stdout.readline, "asct:serving 1\n")))
        folder = f"{said['work']}/t"
        argv = ("sh", "-c", 'printf %s "$1"; exit 137', "sh", "it's\na $(test)")
        task = Task(Process(argv, folder, env={"A": "b c"}), tmp_path, files={"f": "one\ntwo'"})
        line = script.task_line("x", task, empty=False)
        Path(said["work"], ".queue", "1").write_text(script.job_text("x", [script.TaskLine("k1", 20, line, folder)]))
        shell.stdin.write("job 1\n")
        heard = [shell.stdout.readline().split()[:2] for _ in range(3)]
        assert heard == [["asct:started", "k1"], ["asct:ended", "k1"], ["asct:done", "k1"]]
        assert Path(folder, "stdout").read_text() == "it's\na $(test)"
        assert Path(folder, "f").read_text() == "one\ntwo'"
        command = script.runner_command(said["work"], posix_login=False)
        leave = subprocess.run(
            ["sh", "-c", command], input="leave\n", capture_output=True, text=True, env=environment,
            start_new_session=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert "asct:done" in leave.stdout, leave.stderr
        assert not Path(said["work"]).exists()
        shell.stdin.close()


def test_closed_host_says_so(sshd: Sshd) -> None:
    host = make_host(sshd.spec())
    with pytest.raises(HostError):
        host.execute(["true"])
    host.close()

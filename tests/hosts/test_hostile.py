"""Hostile text in every part of a plan that reaches a host: it arrives unchanged or is refused, and is never
executed."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asct.errors import AsctError, ConnectError, HostError
from asct.hosts.base import Process, SessionSpec, Task
from asct.hosts.factory import make_host
from asct.plan.model import HostSpec
from tests.hosts.conftest import SESSION, Bench, spec_of
from tests.sshd import Sshd

MARK = "asct-hostile-mark"
COMMANDS = [f"$(touch {MARK})", f"`touch {MARK}`", f"; touch {MARK};", f"' ; touch {MARK} '", f"| touch {MARK} &"]
WORDS = [
    *COMMANDS, '"$HOME"', "$nl", "\\", "\\n", "-n", "-rf", "--", "*", "?", "~", "!x", "%s", "#", "é\u202e",
    "\x1b[2J", "a\tb", "a b ", "asct:done 0", "\x7f",
]  # fmt: skip
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
HOSTILE = st.sampled_from(WORDS)
NAME = st.one_of(HOSTILE, TEXT).map(lambda text: text.replace("/", "_").replace("\n", "_")[:60])
NUMBERS = itertools.count()
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def nothing_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Assert that no text was executed, neither on this machine nor on the host."""
    monkeypatch.chdir(tmp_path)
    places = [tmp_path, Path("/"), Path.home(), Path("/home/asct-bench")]
    yield
    assert [place for place in places if (place / MARK).exists()] == []


def plain(name: str) -> bool:
    return name not in ("", ".", "..")


@QUICK
@given(
    name=NAME, text=TEXT | HOSTILE, value=TEXT | HOSTILE, key=TEXT | HOSTILE, words=st.lists(TEXT | HOSTILE, max_size=4)
)
def test_names_values_and_keys(bench: Bench, name: str, text: str, value: str, key: str, words: list[str]) -> None:
    """The test uses file and folder names, contents, environment variables, task keys and arguments at the same
    time."""
    folder = f"{bench.host.work}/{name or 'x'}"
    process = Process(("sh", "-c", 'printf "%s\\0" "$V" "$PWD" "$@"', "sh", *words), folder, {"V": value})
    task = Task(process, bench.into, {name: text}, collect=(name,), key=f"{key}{next(NUMBERS)}")
    if not plain(name):
        with pytest.raises(HostError) as error:
            bench.host.run(task)
        assert error.value.diagnostics[0].code == "E323"
        return
    try:
        done = bench.host.run(task)
    except HostError as error:  # a key that no runner takes is refused by name
        assert error.diagnostics[0].code in ("E323", "E332")
        return
    assert done.status == 0
    assert bench.text().split("\0")[:-1] == [value, folder, *words]
    if name not in ("stdout", "stderr"):
        assert bench.text(name) == text
    bench.host.remove(folder)


@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("kind", ["local", pytest.param("ssh", marks=pytest.mark.ssh)])
def test_work_folders(kind: str, name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    spec = spec_of(kind, request, tmp_path)
    base = f"{spec.workdir}/{name.replace('/', '_')}"
    host = make_host(HostSpec(**{**fields(spec), "workdir": base}))
    host.open(SESSION)
    try:
        assert host.work.startswith(f"{base}/run-")
        assert host.execute(["pwd"]).stdout.startswith("/")
        done = host.run(Task(Process(("sh", "-c", 'printf %s "$PWD"'), f"{host.work}/t"), tmp_path / "into"))
        assert done.status == 0
        assert (tmp_path / "into" / "stdout").read_text() == f"{host.work}/t"
        work = Path(host.work)
    finally:
        host.close()
    assert not work.exists()


def fields(spec: HostSpec) -> dict[str, object]:
    return spec._asdict()


@pytest.mark.ssh
def test_a_work_folder_of_several_lines(sshd: Sshd) -> None:
    """The plan rejects such a folder. A host that receives it nevertheless creates exactly this folder or none."""
    base = f"{sshd.folder}/account/a\nasct:work /etc\nb"
    host = make_host(sshd.spec(workdir=base))
    try:
        host.open(SESSION)
        assert host.work.startswith(f"{base}/run-")
    except AsctError as error:
        assert isinstance(error, ConnectError)
    finally:
        host.close()


@pytest.mark.ssh
@pytest.mark.parametrize("owner", WORDS)
def test_owners(sshd: Sshd, owner: str) -> None:
    host = make_host(sshd.spec())
    host.open(SessionSpec("run", owner))
    host.close()


@pytest.mark.ssh
@pytest.mark.parametrize(
    "text", ["-oProxyCommand=touch " + MARK, "-", *COMMANDS, "a b", "a\nb", "\x1b[2J", "é" * 70, "x" * 300]
)
@pytest.mark.parametrize("field", ["address", "user", "jump"])
def test_addresses_users_and_jumps(
    sshd: Sshd, field: str, text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """None of these values becomes an option or a command, and an unreachable host results in a diagnostic."""

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    if field != "user":  # no question about such a name leaves this machine
        monkeypatch.setattr(socket, "create_connection", unknown)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with pytest.raises(ConnectError) as error:
        make_host(sshd.spec(options={"connect_timeout": 3.0}, **{field: text})).open(SESSION)
    assert error.value.diagnostics[0].code in ("E303", "E304", "E306", "E307", "E309", "E313", "E314")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_plain_small_file_stays_on_the_host(bench: Bench) -> None:
    script = (
        "truncate -s 1T sparse; ln sparse hard; ln -s sparse soft; ln -s /etc/passwd away; mkfifo pipe; mkdir folder; "
        "truncate -s 3M large; echo small >small; ln /etc/hostname outside 2>/dev/null; "
        "(while :; do echo grows; done >grows) & sleep 0.3"
    )
    names = ("sparse", "hard", "soft", "away", "pipe", "folder", "large", "small", "never", "grows")
    done = bench.run("sh", "-c", script, collect=names, max_bytes=2 << 20)
    assert done.status == 0, bench.text("stderr")
    assert set(done.fetched) - {"grows"} == {"stdout", "stderr", "small"}
    assert sorted(note.partition(" ")[0] for note in done.notes if not note.startswith("grows")) == sorted(
        ("sparse", "hard", "soft", "away", "pipe", "folder", "large")
    )
    assert sum(path.stat().st_size for path in bench.into.iterdir()) <= len(names) * (2 << 20)
    assert not any(path.is_symlink() for path in bench.into.iterdir())


def test_the_files_of_a_task_have_a_bound_together(bench: Bench) -> None:
    names = tuple(f"f{number}" for number in range(8))
    script = 'for name do head -c 1000 /dev/zero >"$name"; done'
    done = bench.run("sh", "-c", script, "sh", *names, collect=names, max_bytes=1000, max_total_bytes=3500)
    assert [name for name in done.fetched if name.startswith("f")] == ["f0", "f1", "f2"]
    assert [note for note in done.notes if note.startswith("f3")] == ["f3 is larger than 500 bytes and was not copied"]
    assert len(done.notes) == 5

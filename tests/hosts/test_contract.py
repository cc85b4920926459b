"""The contract of transports (base.Host), tested with the real ones."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asct.errors import HostError, HostLost, HostTimeout, StoreError
from asct.hosts import script
from asct.hosts.base import Process, Task, TaskResult
from asct.hosts.remote import RemoteHost
from tests.awaiting import PATIENCE_S, until
from tests.disks.running import processes
from tests.hosts.conftest import Bench


def code(error: pytest.ExceptionInfo[HostError]) -> str:
    return error.value.diagnostics[0].code


def processes_in(folder: str) -> list[str]:
    """Return the command lines of processes whose current folder is in `folder`."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str((entry / "cwd").readlink()).startswith(folder):
                found.append((entry / "cmdline").read_text())
        except OSError:
            continue
    return found


def gone(folder: str) -> bool:
    """Wait until all of these processes have ended (a killed process disappears from /proc with a delay)."""
    until(lambda: not processes_in(folder), f"processes go on in {folder}")
    return True


def late(bench: Bench, script: str, begun: str, cwd: str = "") -> TaskResult:
    """Run a script that reaches its time limit. If it has not printed `begun` by then, try again with more time."""
    for limit_s in (1.5, 6.0, 24.0):
        done = bench.run("sh", "-c", script, cwd=cwd or bench.folder(), timeout_s=limit_s)
        if begun in bench.text():
            break
    return done


@pytest.mark.parametrize("status", [0, 1, 2, 100, 126, 127, 129, 134, 137, 139, 200, 255])
def test_exit_status(bench: Bench, status: int) -> None:
    assert bench.run("sh", "-c", f"exit {status}").status == status


@pytest.mark.parametrize("name", ["HUP", "INT", "QUIT", "ABRT", "KILL", "SEGV", "PIPE", "TERM", "USR1"])
def test_death_by_signal(bench: Bench, name: str) -> None:
    done = bench.run("sh", "-c", f"ulimit -c 0; kill -{name} $$")
    assert done.status == -signal.Signals[f"SIG{name}"]


def test_output_files(bench: Bench) -> None:
    done = bench.run("sh", "-c", "echo out; echo err >&2; echo more > more.json", collect=("more.json", "absent"))
    assert (done.status, done.notes) == (0, ())
    assert set(done.fetched) == {"stdout", "stderr", "more.json"}
    assert (bench.text(), bench.text("stderr"), bench.text("more.json")) == ("out\n", "err\n", "more\n")
    assert not (bench.into / "absent").exists()


def test_named_outputs(bench: Bench) -> None:
    done = bench.run("echo", "hello", stdout_file="fio.json", stderr_file="fio.err")
    assert set(done.fetched) == {"fio.json", "fio.err"}
    assert bench.text("fio.json") == "hello\n"
    assert bench.text("fio.err") == ""


def test_standard_input_is_empty(bench: Bench) -> None:
    assert bench.run("cat").status == 0
    assert bench.text() == ""


def test_large_output_is_whole(bench: Bench) -> None:
    bench.run("seq", "1", "1500000")
    assert bench.text() == "".join(f"{n}\n" for n in range(1, 1500001))


def test_output_over_the_bound_is_a_note(bench: Bench) -> None:
    done = bench.run("sh", "-c", "seq 1 1000; echo small >&2", max_bytes=1000)
    assert done.status == 0
    assert done.fetched == ("stderr",)
    assert "stdout is larger than 1000 bytes" in done.notes[0]


def test_missing_program(bench: Bench) -> None:
    done = bench.run("no-such-program", "x")
    assert done.status == 127
    assert "not found" in bench.text("stderr").lower() or "no such file" in bench.text("stderr").lower()


def test_program_that_cannot_run(bench: Bench) -> None:
    assert bench.run("/etc/passwd").status == 126


def test_environment(bench: Bench) -> None:
    bench.run("sh", "-c", 'printf "%s|%s|%s" "$A" "$B" "$LC_ALL"', env={"A": "it's; $HOME `x`", "B": "two\nlines\n"})
    assert bench.text() == "it's; $HOME `x`|two\nlines\n|C"


def test_files_are_written_first(bench: Bench) -> None:
    done = bench.run("cat", "job.fio", "in/deep.txt", files={"job.fio": "[g]\nrw=read\n", "in/deep.txt": "no end"})
    assert done.status == 0
    assert bench.text() == "[g]\nrw=read\nno end"


def test_a_fresh_folder_is_empty_and_private(bench: Bench) -> None:
    folder = f"{bench.host.work}/a/b/c"
    bench.run("touch", "old", cwd=folder)
    bench.run("sh", "-c", "ls -A; stat -c %a .; umask", cwd=folder)
    assert bench.text().splitlines() == ["stderr", "stdout", "700", "0077"]
    bench.run("sh", "-c", "ls -A", cwd=folder, fresh=False, stdout_file="again")
    assert bench.text("again").split() == ["again", "stderr", "stdout"]


def test_elapsed_is_about_right(bench: Bench) -> None:
    began = time.monotonic_ns()
    done = bench.run("sleep", "0.3")
    tick = 20_000_000  # of the host's clock, at both ends
    assert 300_000_000 - tick <= done.elapsed_ns <= time.monotonic_ns() - began + tick


@pytest.mark.parametrize(
    "script",
    ["sleep 501 & echo begun; sleep 502; echo never", "trap '' INT TERM; echo begun; while :; do sleep 1; done"],
    ids=["obedient", "deaf"],
)
def test_timeout_ends_the_group(bench: Bench, script: str) -> None:
    folder = bench.folder()
    done = late(bench, script, "begun", folder)
    assert done.status is None
    assert bench.text() == "begun\n"
    assert gone(folder)


def test_sigint_comes_first(bench: Bench) -> None:
    done = late(bench, "trap 'echo tidied; exit 0' INT; echo begun; while :; do sleep 0.1; done", "begun")
    assert done.status is None
    assert bench.text() == "begun\ntidied\n"


def test_what_the_program_leaves_behind_is_ended(bench: Bench) -> None:
    folder = bench.folder()
    assert bench.run("sh", "-c", "sleep 503 & exit 0", cwd=folder).status == 0
    assert gone(folder)


def test_a_program_that_kills_its_group(bench: Bench) -> None:
    assert bench.run("sh", "-c", "kill -9 0").status == -9
    assert bench.run("true").status == 0


def test_companion_runs_beside_and_gets_sigint(bench: Bench) -> None:
    folder = bench.folder()
    script = "trap 'echo end; exit 0' INT; echo begin; while :; do sleep 0.05; done"
    companion = Process(("bash", "-c", script), folder, stdout_file="beside.txt", stderr_file="beside.err")
    until_it_began = "until [ -s beside.txt ]; do sleep 0.02; done"
    done = bench.run("sh", "-c", until_it_began, cwd=folder, companions=(companion,))
    assert (done.status, done.notes) == (0, ())
    assert bench.text("beside.txt") == "begin\nend\n", (
        "it can trap SIGINT although the shell starts it in the background"
    )
    assert "beside.txt" in done.fetched


@pytest.mark.skipif(not Path("/usr/bin/mpstat").exists(), reason="sysstat is not installed")
def test_mpstat_as_companion_writes_whole_json(bench: Bench) -> None:
    import json

    folder = bench.folder()
    companion = Process(("mpstat", "-o", "JSON", "1"), folder, stdout_file="mpstat.json", stderr_file="mpstat.err")
    until_it_listens = """
        until grep -q mpstat "$one/comm" && grep -q '^SigCgt:.*[2367abef]$' "$one/status"; do
            for one in /proc/[0-9]*; do [ ! "$one/cwd" -ef . ] || ! grep -q mpstat "$one/comm" || break; done
        done 2>/dev/null
        sleep 1.2"""
    done = bench.run("sh", "-c", until_it_listens, cwd=folder, companions=(companion,))
    assert done.status == 0
    assert json.loads(bench.text("mpstat.json"))["sysstat"]["hosts"]


def test_companion_that_will_not_end_is_ended(bench: Bench) -> None:
    folder = bench.folder()
    companion = Process(("sh", "-c", "trap '' INT; sleep 504"), folder, stdout_file="c.out", stderr_file="c.err")
    assert bench.run("true", cwd=folder, companions=(companion,)).status == 0
    assert gone(folder)


def test_the_shell_that_stops_companions_does_not_outlive_them(bench: Bench) -> None:
    folder = bench.folder()
    companion = Process(("sleep", "504"), folder, stdout_file="c.out", stderr_file="c.err")
    assert bench.run("sleep", "0.2", cwd=folder, companions=(companion,)).status == 0
    bench.run("true")  # it starts when the shell of the first task has ended
    assert [line for line in processes_in(folder) if not line.startswith("sleep")] == []


def test_companion_that_cannot_start_is_a_note(bench: Bench) -> None:
    folder = bench.folder()
    companion = Process(("no-such-companion",), folder, stdout_file="c.out", stderr_file="c.err")
    until_it_failed = "while [ ! -s c.err ] && [ -e . ]; do sleep 0.02; done"
    done = bench.run("sh", "-c", until_it_failed, cwd=folder, companions=(companion,))
    assert done.status == 0
    assert done.notes == ("no-such-companion, which runs alongside the program, could not be started (status 127)",)


def test_interrupt_leaves_no_process(bench: Bench) -> None:
    folder = bench.folder()
    begun = threading.Event()

    def interrupt() -> None:
        begun.wait(PATIENCE_S)
        # dash drops a SIGINT that arrives while it starts a program
        until(lambda: any(line.startswith("sleep\x00506") for line in processes_in(folder)), "the script hangs")
        bench.host.interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    script = "sleep 505 & echo begun; sleep 506"
    done = bench.run("sh", "-c", script, cwd=folder, timeout_s=2 * PATIENCE_S, on_line=lambda _: begun.set())
    thread.join()
    assert done.status == -2
    assert bench.text() == "begun\n"
    assert gone(folder)
    assert bench.run("true").status == 0


def test_interrupt_without_a_task_does_nothing(bench: Bench) -> None:
    bench.host.interrupt()
    assert bench.run("true").status == 0


def test_lines_arrive(bench: Bench) -> None:
    lines: list[str] = []
    bench.run("sh", "-c", "echo one; sleep 1.2; echo two; printf three", on_line=lines.append)
    assert lines == ["one", "two", "three"]


def test_an_error_of_the_listener_ends_the_task(bench: Bench) -> None:
    def listen(line: str) -> None:
        raise KeyboardInterrupt

    folder = bench.folder()
    with pytest.raises(KeyboardInterrupt):
        bench.run("sh", "-c", "echo x; sleep 509", cwd=folder, on_line=listen)
    assert gone(folder)
    assert bench.run("true").status == 0


def test_close_removes_the_folder(bench: Bench) -> None:
    work = bench.seen(bench.host.work)
    bench.run("true")
    assert work.is_dir()
    assert stat.S_IMODE(work.stat().st_mode) == 0o700
    bench.host.close()
    assert not work.exists()
    bench.host.close()


def test_cache_is_private_and_stays(bench: Bench) -> None:
    cache = Path(bench.host.cache)
    assert stat.S_IMODE(cache.stat().st_mode) & 0o077 == 0
    bench.host.close()
    assert cache.is_dir()


def test_answer(bench: Bench) -> None:
    found = bench.host.execute(["sh", "-c", 'cat; echo "$1" >&2; exit 3', "sh", "an 'argument'\n"], stdin="two\nlines")
    assert (found.status, found.stdout, found.stderr) == (3, "two\nlines", "an 'argument'\n\n")


def test_answer_of_nothing(bench: Bench) -> None:
    assert bench.host.execute(["true"]).stdout == ""


def test_answer_that_takes_too_long(bench: Bench) -> None:
    with pytest.raises(HostTimeout) as error:
        bench.host.execute(["sh", "-c", f"cd {bench.host.work}; sleep 507"], timeout_s=0.5)
    assert code(error) == "E321"
    assert gone(bench.host.work)
    assert bench.host.execute(["echo", "well"]).stdout == "well\n"


def test_a_command_that_starts_after_its_time_limit_is_killed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    link = bench.host._link  # type: ignore[attr-defined]
    start = link.start
    monkeypatch.setattr(link, "start", lambda command: start(f"sleep 1; {command}"))
    with pytest.raises(HostTimeout):
        bench.host.execute(["sh", "-c", f"cd {bench.host.work}; sleep 509"], timeout_s=0.1)
    time.sleep(2)  # if nothing ended the command, it has started by now
    assert gone(bench.host.work)


def test_an_answer_that_is_interrupted(bench: Bench) -> None:
    over = threading.Event()

    def interrupt() -> None:
        # If asct does not know yet that a command is running, the command ends only with the session.
        while not over.wait(0.5):
            if any(line.startswith("sleep") for line in processes_in(bench.host.work)):  # not while a shell starts it
                bench.host.interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(HostLost):
            bench.host.execute(["sh", "-c", f"cd {bench.host.work}; sleep 508"], timeout_s=PATIENCE_S)
    finally:
        over.set()
        thread.join()
    assert gone(bench.host.work)
    assert bench.host.execute(["echo", "well"]).stdout == "well\n"


def test_an_answer_without_end_is_not_kept(bench: Bench) -> None:
    with pytest.raises(HostError) as error:
        bench.host.execute(["yes"], timeout_s=PATIENCE_S)
    assert code(error) == "E328"
    assert bench.host.execute(["echo", "well"]).stdout == "well\n"


def test_answer_that_is_too_long(bench: Bench) -> None:
    with pytest.raises(HostError) as error:
        bench.host.execute(["sh", "-c", "yes | head -c 3000000"])
    assert code(error) == "E328"


def test_put_and_get(bench: Bench, tmp_path: Path) -> None:
    data = bytes(range(256)) * 5000
    source, back = tmp_path / "source", tmp_path / "back"
    source.write_bytes(data)
    target = f"{bench.host.work}/some/where/file"
    bench.host.put(source, target, mode=0o700)
    bench.host.get(target, back)
    assert back.read_bytes() == data
    assert bench.host.execute(["stat", "-c", "%a", target]).stdout == "700\n"
    assert bench.host.execute(["ls", "-A", f"{bench.host.work}/some/where"]).stdout == "file\n"
    with pytest.raises(HostError) as error:
        bench.host.get(target, back, max_bytes=1000)
    assert code(error) == "E325"


def test_links_folders_and_devices_are_refused(bench: Bench, tmp_path: Path) -> None:
    work = bench.host.work
    bench.host.execute(["sh", "-c", 'cd "$1"; ln -s /etc/passwd link; mkfifo fifo', "sh", work])
    for path in (f"{work}/link", f"{work}/fifo", "/dev/null", work):
        with pytest.raises(HostError) as error:
            bench.host.get(path, tmp_path / "x")
        assert code(error) == "E324"
    with pytest.raises(HostError) as error:
        bench.host.get(f"{work}/absent", tmp_path / "x")
    assert code(error) == "E326"


def test_a_link_in_place_of_a_result_is_not_fetched(bench: Bench) -> None:
    done = bench.run("sh", "-c", "ln -s /etc/passwd r1; mkfifo r2; mkdir r3", collect=("r1", "r2", "r3"))
    assert set(done.fetched) == {"stdout", "stderr"}
    assert sorted(note.split()[0] for note in done.notes) == ["r1", "r2", "r3"]


@pytest.mark.parametrize("name", ["../up", "/etc/passwd", "a/../../b", "", ".", "a//b", "x\0y"])
def test_names_cannot_escape(bench: Bench, name: str) -> None:
    for fields in ({"collect": (name,)}, {"files": {name: ""}}, {"stdout_file": name}):
        with pytest.raises(HostError) as error:
            bench.run("true", **fields)
        assert code(error) == "E323"


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """Provide a folder that is not one of asct's and that the host's account can change."""
    folder = Path(tempfile.mkdtemp(prefix="asct-elsewhere-"))
    folder.chmod(0o777)
    (folder / "keep").mkdir(mode=0o777)
    yield folder
    shutil.rmtree(folder)


def test_remove_only_below_the_folders(bench: Bench, elsewhere: Path) -> None:
    host = bench.host
    bench.run("touch", "x", cwd=f"{host.work}/d/e")
    host.remove(f"{host.work}/d/e")
    host.remove(f"{host.work}/absent/deeper")
    assert host.execute(["ls", f"{host.work}/d"]).stdout == ""
    host.execute(["ln", "-s", str(elsewhere), f"{host.work}/d/link"])
    for path in (str(elsewhere), host.work, f"{host.work}/../x", f"{host.work}/d/link/keep", "relative"):
        with pytest.raises(HostError):
            host.remove(path)
    assert (elsewhere / "keep").is_dir()
    host.remove(f"{host.work}/d/link")
    assert (elsewhere / "keep").is_dir()


def test_put_and_fresh_only_below_the_folders(bench: Bench, tmp_path: Path) -> None:
    source = tmp_path / "s"
    source.write_text("x")
    with pytest.raises(HostError):
        bench.host.put(source, "/tmp/asct-escaped")
    with pytest.raises(HostError):
        bench.run("true", cwd="/tmp/asct-escaped")
    assert not Path("/tmp/asct-escaped").exists()


def test_bad_arguments_are_refused(bench: Bench) -> None:
    for fields in ({"env": {"a b": "x"}}, {"files": {"f": "a\0b"}}):
        with pytest.raises(HostError) as error:
            bench.run("true", **fields)
        assert code(error) == "E332"


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60)
HOSTILE = st.sampled_from(
    ["$(touch x)", "`id`", "'; rm -rf /; '", '"$HOME"', "\\", "a\nb\n", "-n", "*", "!x", "é\u202e", "%s"]
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(TEXT | HOSTILE, min_size=1, max_size=6), value=TEXT | HOSTILE, text=TEXT | HOSTILE)
def test_hostile_strings_arrive_unchanged(bench: Bench, words: list[str], value: str, text: str) -> None:
    script = 'printf "%s" "$V" >v; printf "%s\\0" "$@"'
    done = bench.run("sh", "-c", script, "sh", *words, env={"V": value}, files={"f": text}, collect=("v", "f"))
    assert done.status == 0, bench.text("stderr")
    assert bench.text().split("\0")[:-1] == words
    assert (bench.text("v"), bench.text("f")) == (value, text)


@pytest.mark.parametrize("name", ["it's", "a b", "$(x)", "new\nline", "-rf", "*", "é"])
def test_hostile_file_names(bench: Bench, name: str) -> None:
    if "\n" in name:
        with pytest.raises(HostError):
            bench.run("true", files={name: ""})
        return
    done = bench.run("sh", "-c", "ls -A; pwd", cwd=f"{bench.host.work}/{name}", files={name: "t"}, collect=(name,))
    assert name in done.fetched
    assert bench.text().splitlines()[-1] == f"{bench.host.work}/{name}"


def test_results_that_cannot_be_written_here(bench: Bench) -> None:
    (bench.into / "stdout").mkdir(parents=True)
    with pytest.raises(StoreError) as error:
        bench.run("echo", "x")
    assert error.value.diagnostics[0].code == "E333"
    with pytest.raises(StoreError):
        bench.host.run(Task(Process(("true",), bench.folder()), Path("/proc/nowhere")))
    (bench.into / "stdout").rmdir()
    assert bench.run("echo", "x").status == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="root mounts a small file system")
def test_disk_full_here(bench: Bench) -> None:
    bench.into.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", bench.into], check=True)
    try:
        with pytest.raises(StoreError) as error:
            bench.run("seq", "1", "100000")
        assert "space" in error.value.diagnostics[0].message
        assert bench.host.execute(["true"]).status == 0
    finally:
        subprocess.run(["umount", "-l", bench.into], check=True)


def test_setup_that_fails_is_a_finding(bench: Bench) -> None:
    task = Task(Process(("true",), "/proc/nowhere/x"), bench.into, fresh=False)
    with pytest.raises(HostError) as error:
        bench.host.run(task)
    assert code(error) == "E329"


def test_the_end_of_the_session_ends_its_short_commands(bench: Bench) -> None:
    """asct no longer knows all of these commands. This one recreates the folder repeatedly as long as it runs."""
    host = bench.host
    assert isinstance(host, RemoteHost)
    work = host.work
    channel = host._link.start(host._runner_command())
    again = 'while mkdir -p "$1/again"; do sleep 0.02; done'
    channel.send(f"{script.call('h', 'execute', 'sh', '-c', again, 'sh', work)}\n".encode())
    until(lambda: bench.seen(f"{work}/again").is_dir())
    host.close()
    until(lambda: not any(work in words for one in processes() for words in one.arguments), "the command goes on")
    assert not bench.seen(work).exists()

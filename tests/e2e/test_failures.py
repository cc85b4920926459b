"""Invalid input and faults: each ends with a clear message and the right exit code, and what was measured is kept."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.awaiting import PATIENCE_S, until
from tests.e2e.running import COMPILERS, apply, asct, environment, hiding, latest, lines, with_small_disk

pytestmark = pytest.mark.e2e

NOOP = "plan: 1\nname: quick\nbenchmarks: [noop]\n"


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        ("plan: 1\nname: q\nbenchmarks: [latnecy-sweep]\n", "did you mean `latency-sweep`"),
        ("plan: 1\nname: q\nbenchmarks: [noop]\nexpekt: []\n", "did you mean `expect`"),
        ("plan: 1\nname: q\nname: r\nbenchmarks: [noop]\n", "3:1"),
        ("plan: 2\nname: q\nbenchmarks: [noop]\n", "version"),
        ("plan: 1\nname: q\nbenchmarks:\n  - {uses: sids, config: {duration: 60}}\n", "needs a unit"),
        ("plan: 1\nname: q\nbenchmarks:\n  - {uses: sids, config: {block_size: 4k}}\n", "4K"),
        ("plan: 1\nname: q\nbenchmarks: [{uses: noop, sweep: {index: {from: 1, to: 9999, step: 1}}}]", "limits.points"),
        ("[" * 100_000, "nest"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nplan: 1\n", "alias"),
        ("plan: 1\nname: q\n\tbenchmarks: [noop]\n", "tab"),
        ("", "plan"),
    ],
)  # fmt: skip
def test_a_bad_plan_ends_with_2_and_a_place(tmp_path: Path, plan: str, says: str) -> None:
    (tmp_path / "plan.yaml").write_text(plan)
    for command in ("check", "apply"):
        ended = asct(command, "plan.yaml", cwd=tmp_path)
        assert ended.code == 2, ended.err
        assert says in " ".join(ended.err.split()), ended.err
        assert "plan.yaml" in ended.err
        assert "Traceback" not in ended.err
    assert not (tmp_path / "results").exists()


def test_a_run_without_values_writes_the_reports_that_need_none(tmp_path: Path) -> None:
    hosts = "hosts: {far: {transport: ssh, address: 127.0.0.1, port: 1, known_hosts: ./known}}\n"
    (tmp_path / "known").write_text("")
    (tmp_path / "plan.yaml").write_text(NOOP + hosts + "report: {formats: [csv, png, html]}\n")
    ended = asct("apply", "plan.yaml", "--json", cwd=tmp_path)
    assert ended.code == 3, ended.err
    assert "E970" not in ended.err
    assert set(json.loads(ended.out.splitlines()[-1])["reports"]) == {"html"}


@pytest.mark.parametrize(
    "content", [b"\x7fELF\x00\x01\x02\xff\xfe", b"\xff\xfe\x00p\x00l", b"plan: \x01\n", os.urandom(4096)]
)
def test_binary_garbage_ends_with_2(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "plan.yaml").write_bytes(content)
    ended = asct("check", "plan.yaml", cwd=tmp_path)
    assert ended.code == 2, ended.err
    assert "Traceback" not in ended.err


def test_all_errors_come_at_once(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(
        "plan: 1\nname: q\nbenchmarks:\n  - {uses: sids, config: {durration: 2s, block_size: 4x}}\n  - nosuch\n"
        "expect:\n  - {metric: sids.iopz, min: 1}\n"
    )
    ended = asct("check", "plan.yaml", "--json", cwd=tmp_path)
    assert ended.code == 2
    document = json.loads(ended.out)
    assert {item["line"] for item in document["diagnostics"]} >= {4, 5}
    assert len(document["diagnostics"]) >= 3


def test_a_plan_that_is_not_there_ends_with_2(tmp_path: Path) -> None:
    ended = asct("check", "nosuch.yaml", cwd=tmp_path)
    assert ended.code == 2
    assert "nosuch.yaml" in ended.err


def test_a_results_folder_that_cannot_be_made_ends_with_3_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file")
    ended = apply(NOOP, tmp_path)
    assert ended.code == 3
    assert "results" in ended.err
    assert (tmp_path / "results").read_text() == "a file"


def test_no_fio_is_a_finding_with_the_fix_and_the_rest_is_measured(tmp_path: Path) -> None:
    plan = "plan: 1\nname: quick\nbenchmarks:\n  - noop\n  - {uses: sids, id: depth, config: {duration: 1s}}\n"
    ended = apply(plan, tmp_path, prefix=hiding("fio"))
    assert ended.code == 3, ended.err
    assert "fio" in ended.err
    assert "apt-get install fio" in ended.err
    assert "Traceback" not in ended.err
    assert {record["id"] for record in lines(latest(tmp_path) / "records.jsonl")} == {"noop"}


def test_no_compiler_is_a_finding_with_the_fix(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    ended = apply(NOOP, tmp_path, env=env, prefix=hiding(*COMPILERS))
    assert ended.code == 3, ended.err
    assert "compiler" in ended.err
    assert "install" in ended.err
    assert "Traceback" not in ended.err


def crashing_compiler(tmp_path: Path, source: str) -> dict[str, str]:
    """Return a PATH whose `cc` and `gcc` compile `source` instead of the given file."""
    folder = tmp_path / "cc"
    folder.mkdir()
    (folder / "kernel.c").write_text(source)
    script = folder / "gcc"
    script.write_text(
        f'#!/bin/sh\ncase "$*" in *.c*) ;; *) exec /usr/bin/gcc "$@";; esac\n'
        f'out=a.out; while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done\n'
        f'exec /usr/bin/gcc -O1 -static -o "$out" {folder}/kernel.c\n'
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    (folder / "cc").symlink_to(script)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(tmp_path / "cache")}


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("int main(void) { return *(volatile int *)0; }", "SIGSEGV"),
        ('#include <stdio.h>\nint main(void) { puts("{\\"t\\":\\"ready\\"}"); return 0; }', "end"),
        ('#include <stdio.h>\nint main(void) { fputs("no page", stderr); return 3; }', "no page"),
    ],
)
def test_a_kernel_that_fails_is_an_outcome_with_its_cause(tmp_path: Path, source: str, says: str) -> None:
    ended = apply(NOOP, tmp_path, env=crashing_compiler(tmp_path, source))
    assert ended.code == 3, ended.err
    assert says in ended.err
    assert "Traceback" not in ended.err
    statuses = [json.loads(path.read_text()) for path in latest(tmp_path).glob("jobs/local/noop/*/r1/status.json")]
    assert [status["status"] for status in statuses] == ["failed"]


@pytest.mark.fio
def test_fio_that_fails_keeps_its_words(tmp_path: Path) -> None:
    config = "{duration: 1s, file_names: /nonexistent/file}"
    plan = f"plan: 1\nname: quick\nbenchmarks:\n  - noop\n  - {{uses: storage-fio, id: bad, config: {config}}}\n"
    ended = apply(plan, tmp_path)
    assert ended.code == 3, ended.err
    assert "/nonexistent/file" in ended.err
    assert {record["id"] for record in lines(latest(tmp_path) / "records.jsonl")} == {"noop"}


@pytest.mark.fio
def test_an_existing_file_is_not_overwritten_without_consent(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_bytes(b"x" * (1 << 20))
    config = f"{{duration: 1s, rw: randwrite, file_names: {target}}}"
    ended = apply(
        f"plan: 1\nname: quick\nbenchmarks:\n  - {{uses: storage-fio, id: bad, config: {config}}}\n", tmp_path
    )
    assert ended.code == 4, ended.err
    assert "overwrite" in ended.err
    assert target.read_bytes() == b"x" * (1 << 20)


def test_writing_to_a_device_without_consent_is_refused_with_4_before_anything_runs(tmp_path: Path) -> None:
    entry = "{uses: storage-fio, config: {rw: randwrite, duration: 1s, file_names: /dev/loop7, overwrite: true}}"
    (tmp_path / "plan.yaml").write_text(f"plan: 1\nname: q\nbenchmarks:\n  - {entry}\n")
    for command in ("check", "plan", "apply"):
        ended = asct(command, "plan.yaml", cwd=tmp_path)
        assert ended.code == 4, ended.err
        assert "E251" in ended.err and "safety.destroys" in ended.err
    assert not (tmp_path / "results").exists()


def test_a_full_disk_keeps_what_was_measured(tmp_path: Path) -> None:
    small, kept = tmp_path / "small", tmp_path / "kept"
    small.mkdir()
    sweep = "{index: {from: 1, to: 2000, step: 1}}"
    plan = f"plan: 1\nname: quick\nbenchmarks:\n  - {{uses: noop, id: noop, sweep: {sweep}}}\n"
    ended = apply(plan, tmp_path, "--results", str(small / "results"), prefix=with_small_disk(small, kept))
    assert ended.code == 3, ended.err
    assert "space" in ended.err
    assert "Traceback" not in ended.err
    run = (kept / "results" / "quick" / "latest").resolve(strict=True)
    assert lines(run / "records.jsonl")
    assert json.loads((run / "run.json").read_text())["status"] != "running"


@pytest.mark.parametrize(
    "arguments", [("aply",), ("apply",), ("check", "x.yaml", "--nosuch"), ("run", "nosuch"), ("list", "x")]
)
def test_wrong_usage_ends_with_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ended = asct(*arguments, cwd=tmp_path)
    assert ended.code == 2
    assert ended.err
    assert not any(tmp_path.iterdir())


def test_read_only_commands_create_nothing(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(NOOP)
    for arguments in (
        ("check", "plan.yaml"), ("plan", "plan.yaml"), ("plan", "plan.yaml", "--show-commands"), ("list",),
        ("explain", "latency-sweep"), ("schema",), ("results", "list"), ("version",), ("help",), ("completion", "bash"),
        ("apply", "plan.yaml", "--dry-run"), ("run", "noop", "--dry-run"),
    ):  # fmt: skip
        ended = asct(*arguments, cwd=tmp_path)
        assert ended.code == 0, (arguments, ended.err)
        assert "\x1b" not in ended.out + ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["plan.yaml"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_outside_of_a_measurement_ends_the_command_by_its_own_way_out(
    tmp_path: Path, number: int, code: int
) -> None:
    plan = tmp_path / "plan.yaml"
    os.mkfifo(plan)
    command = ["env", "--default-signal=INT", sys.executable, "-m", "asct", "check", str(plan)]
    with subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        writer = _reader_of(plan)
        _asleep(process.pid)
        process.send_signal(number)
        try:
            _, err = process.communicate(timeout=PATIENCE_S)
        finally:
            os.close(writer)  # it then reads the end of the file, whatever it did with the signal
    assert (process.returncode, err.strip()) == (code, "interrupted")


def _reader_of(pipe: Path) -> int:
    """Return the pipe, opened for writing, as soon as another process reads it."""
    opened = list[int]()

    def is_read() -> bool:
        try:
            opened.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        except OSError as error:
            assert error.errno == errno.ENXIO
            return False
        return True

    until(is_read, "nobody reads the plan")
    return opened[0]


def _asleep(pid: int) -> None:
    """Wait until the process waits for input. A signal that arrives right before that is handled only after the
    input."""
    stat = Path(f"/proc/{pid}/stat")
    until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "S", "it does not wait")


def test_a_closed_terminal_ends_the_run_with_143_after_cleaning_up(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("plan: 1\nname: quick\nbenchmarks: [latency-sweep]\n")
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "asct", "apply", "plan.yaml"]
    script = (
        "import fcntl, os, signal, sys, termios\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"  # the tests may have been started by nohup
        "fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, *command],
        cwd=tmp_path, env=environment(), stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    ) as process:  # fmt: skip
        os.close(theirs)
        os.set_blocking(ours, False)

        def measuring() -> bool:
            with suppress(BlockingIOError):
                os.read(ours, 1 << 16)  # a full terminal would block the run
            return any(tmp_path.glob("results/quick/2*/jobs/*/*/*/r1"))

        until(measuring, "no point was begun")
        os.close(ours)
        assert process.wait(PATIENCE_S) == 143
    run = json.loads((latest(tmp_path) / "run.json").read_text())
    assert (run["status"], run["exit_code"], run["counts"]) == ("interrupted", 143, {"interrupted": 1})

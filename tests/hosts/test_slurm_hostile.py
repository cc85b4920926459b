"""Hostile input from Slurm: reused job numbers, folders of other accounts, endless messages, and invalid rows."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import pytest

from asct.errors import HostError
from asct.hosts.base import SessionSpec
from asct.hosts.factory import make_host
from asct.hosts.slurm import host as slurm_host
from asct.hosts.slurm.host import SlurmHost, SlurmState
from asct.hosts.slurm.jobs import (
    ORDER,
    STEP,
    Allocation,
    JobQueue,
    QueuedJob,
    message_of,
    query_jobs,
    read_rows,
    submit,
)
from asct.hosts.slurm.link import SlurmLink, StepChannel
from asct.plan.model import HostSpec
from tests.slurm import Slurm

RUN = "20260101T000000Z-abc123"


def program(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a program with this name first on the PATH."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.parametrize(
    "row", ["²|RUNNING|n1|None", "٣|RUNNING|n1|None", "9" * 5000 + "|RUNNING|n1|None", "-1|R|n|N", "1|R|n"]
)
def test_odd_rows_of_the_queue_are_passed_over(row: str) -> None:
    assert read_rows(f"{row}\n7|PENDING||Resources|with|bars\n") == {7: QueuedJob("PENDING", "", "Resources|with|bars")}


@pytest.mark.parametrize("answer", ["²", "9" * 5000, "", "7 8", "-7"])
def test_an_answer_of_sbatch_without_a_number_is_told(
    answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin", "sbatch", f"echo '{answer}'", monkeypatch)
    with pytest.raises(HostError) as error:
        submit("lab", ["sbatch"])
    assert error.value.diagnostics[0].code == "E351"


def test_what_slurm_says_at_length_is_cut() -> None:
    assert len(message_of(subprocess.CompletedProcess([], 1, "", "sbatch: error: " + "x" * 100_000))) == 1000


def test_hosts_whose_jobs_are_called_alike_are_kept_apart() -> None:
    places = [slurm_host.state_file(RUN, host) for host in ("a@b", "a+b", "a_b", "x" * 300, "x" * 299)]
    assert len(set(places)) == len(places)
    assert max(len(place.name) for place in places) < 250


def test_a_job_of_another_name_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(
        tmp_path / "bin",
        "squeue",
        'case " $* " in *" --name=asct-r,asct-s "*) echo "7|RUNNING|n1|None";; esac',
        monkeypatch,
    )
    assert query_jobs([7, 8], ["asct-r", "asct-s"]) == {7: QueuedJob("RUNNING", "n1", "None"), 8: QueuedJob("GONE")}


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Provide a job folder that another account created: `id` reports a different user."""
    program(tmp_path / "bin", "id", "echo 64999", monkeypatch)
    door = tmp_path / "door"
    door.mkdir()
    return door


def test_a_step_does_not_talk_through_a_folder_of_others(foreign: Path) -> None:
    os.mkfifo(foreign / "orders")
    step = ["sh", "-c", STEP.read_text(), "sh", str(foreign), "1", "echo secret"]
    done = subprocess.run(step, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    assert (done.returncode, "belongs to another account" in done.stderr) == (125, True)
    assert [path.name for path in foreign.iterdir()] == ["orders"]


def test_an_order_is_not_written_through_a_link_of_others(foreign: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_text("kept")
    (foreign / "orders").symlink_to(kept)
    subprocess.run(["sh", "-c", ORDER, "sh", str(foreign), "end 0"], check=False, timeout=60)
    assert kept.read_text() == "kept"


def test_an_order_reaches_a_folder_of_the_account(tmp_path: Path) -> None:
    subprocess.run(["sh", "-c", ORDER, "sh", str(tmp_path), "end 0"], check=True, timeout=60)
    assert (tmp_path / "orders").read_text() == "end 0\n"


def channel(text: str) -> StepChannel:
    return StepChannel(["sh", "-c", text])


def test_a_step_is_heard_beyond_a_thousand_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096) if hard > 0 else 4096, hard))
    try:
        with ExitStack() as stack:
            for _ in range(1100):
                stack.enter_context(Path(os.devnull).open("rb"))
            step = channel("echo here")
            assert step.receive(60) == b"here\n"
            step.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_errors_without_end_and_lines_are_handed_on_in_pieces() -> None:
    step = channel("head -c 5000000 /dev/zero >&2; echo done")
    size, most = 0, 0
    while size + len(step._half) < 5_000_000:
        piece = step.receive_error()
        size, most = size + len(piece), max(most, len(piece), len(step._half))
    assert step.receive(60) == b"done\n"
    step.close()
    size += len(step.receive_error())  # a line without its end is kept until nothing can follow
    assert (size, most <= 2 << 20) == (5_000_000, True)


def test_a_command_line_that_is_too_long_is_told() -> None:
    link = SlurmLink("lab", JobQueue())
    link.move(Allocation(1, "ab"), "n1")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(HostError) as error:
        patch.setattr("asct.hosts.slurm.link.step_arguments", lambda *_: ["sh", "-c", "#" + "x" * (1 << 18)])
        link.start("true")
    assert error.value.diagnostics[0].code == "E354"


@pytest.mark.slurm
def test_numbers_that_mean_other_jobs_by_now(slurm: Slurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    argv = ["sbatch", "--parsable", "--exclusive", "--nodelist=n1", "--output=/dev/null", "--job-name=mine"]
    running, waiting = (int(slurm.command(*argv, "--wrap=sleep 300")) for _ in range(2))
    memory = SlurmState("n1", "", "sweep", Allocation(running, "ab"), [waiting], names=["asct-of-before"])
    slurm_host.save_state(slurm_host.state_file(RUN, "lab"), memory)
    host = cast(SlurmHost, make_host(HostSpec("lab", "slurm", options={"nodelist": "n2"})))
    monkeypatch.setattr(SlurmHost, "_find_node", lambda self: (_ for _ in ()).throw(HostError("lab")))
    with pytest.raises(HostError):
        host.open(SessionSpec(RUN, "the tests"))
    assert {int(row[0]): row[1] for row in slurm.waiting()} == {running: "mine", waiting: "mine"}
    slurm.command("scancel", str(running), str(waiting))
    slurm.await_empty()

"""The faults. Each fault is a function that takes the scene; a fault with a lasting effect returns a function that
undoes it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.chaos.scene import HANG_S, Missed, Scene, SlurmScene, SshScene, until

Undo = Callable[[], object]
Fault = Callable[[Scene], Undo | None]


def _signal(number: signal.Signals) -> Fault:
    def send(scene: Scene) -> None:
        if not scene.part.running:
            raise Missed
        scene.part.send(number)

    return send


_kill = _signal(signal.SIGKILL)


def pause_asct(scene: Scene) -> None:
    """Stop asct, as Ctrl-Z or closing a laptop would, and continue it."""
    _signal(signal.SIGSTOP)(scene)
    scene.pause(0.3, 3)
    scene.part.send(signal.SIGCONT)


def _runner(name: str) -> Fault:
    """Return a fault that kills the process recorded by the runner as `name`."""
    return lambda scene: scene.session(f'read -r pid rest <{name} && kill -s KILL "$pid"')


def kill_task(scene: Scene) -> None:
    """Kill the process group of a task. Most tasks last only milliseconds, so the fault waits for one to kill."""

    def killed() -> bool:
        if not scene.part.running:
            raise Missed
        with suppress(Missed):
            scene.session('read -r pid rest <.task && kill -s KILL -- "-$pid"')
            return True
        return False

    if not until(killed, HANG_S):
        raise Missed


def _sessions(scene: Scene, name: str) -> SshScene:
    assert isinstance(scene, SshScene)
    if not scene.host.space.sh("pgrep -x sshd | tail -n +2"):
        raise Missed
    scene.host.signal_sessions(name)
    return scene


def kill_session(scene: Scene) -> None:
    """Kill the process of the ssh server that serves the connection."""
    _sessions(scene, "KILL")


def pause_session(scene: Scene) -> None:
    """Stop the process of the session for some time, during which it does not answer."""
    there = _sessions(scene, "STOP")
    scene.pause(0.3, 4)
    there.host.signal_sessions("CONT")


def freeze_session(scene: Scene) -> Undo:
    """Stop the process of the session forever: it never answers again, but keeps the connection open."""
    there = _sessions(scene, "STOP")
    return lambda: there.host.signal_sessions("KILL")


def restart_server(scene: Scene) -> None:
    """Kill the ssh server and all its sessions, and start it again."""
    assert isinstance(scene, SshScene)
    scene.host.kill_servers()
    scene.pause(0, 2)
    scene.host.serve()


def pull_cable(scene: Scene) -> None:
    """Take the link down for a few seconds."""
    assert isinstance(scene, SshScene)
    scene.host.link("down")
    scene.pause(0.5, 5)
    scene.host.link("up")


def kill_account(scene: Scene) -> None:
    """Kill all processes of the account on the host, as an administrator or systemd-logind might."""
    scene.kill_all()


def reboot(scene: Scene) -> None:
    """Cut the power to the host, which restarts with the same disk."""
    assert isinstance(scene, SshScene)
    scene.host.power_off()
    scene.pause(0, 2)
    scene.host.boot()


def cancel_job(scene: Scene) -> None:
    """Cancel the running Slurm job of the run, as an administrator or its time limit would."""
    assert isinstance(scene, SlurmScene)
    jobs = [row[0] for row in scene.cluster.jobs("RUNNING")]
    if not jobs:
        raise Missed
    scene.cluster.command("scancel", "--quiet", *jobs)


def restart_controller(scene: Scene) -> None:
    """Stop the cluster's controller for a moment."""
    assert isinstance(scene, SlurmScene)
    scene.cluster.stop("slurmctld")
    scene.pause(0, 3)
    scene.cluster.start_controller()


def fill_host_for_a_moment(scene: Scene) -> None:
    """Fill the disk of the host, and free the space after a moment."""
    scene.there.fill()
    scene.pause(0.2, 2)
    scene.there.free()


def fill_host(scene: Scene) -> Undo:
    """Fill the disk of the host until the fault is undone."""
    scene.there.fill()
    return scene.there.free


def fill_results(scene: Scene) -> Undo:
    """Fill the disk that holds the results until the fault is undone."""
    scene.here.fill()
    return scene.here.free


def _damage(harm: Callable[[Scene, Path], None]) -> Fault:
    """Return a fault that leaves the files of a run in the state in which a power failure would leave them while asct
    writes."""

    def do(scene: Scene) -> None:
        _kill(scene)
        scene.part.end()
        if scene.run is None:
            raise Missed
        harm(scene, scene.run)

    return do


def _tear(scene: Scene, path: Path) -> None:
    """Truncate the last line of a file at a random position."""
    if not path.exists() or not path.stat().st_size:
        raise Missed
    data = path.read_bytes()
    last = len(data) - (data.rstrip(b"\n").rfind(b"\n") + 1)
    path.write_bytes(data[: len(data) - scene.rng.randint(1, last - 1)])


def _ended(run: Path) -> list[Path]:
    found = sorted(run.glob("jobs/*/*/*/r[0-9]*/status.json"), key=lambda path: path.stat().st_mtime_ns)
    if not found:
        raise Missed
    return found


def _cut_status(scene: Scene, run: Path) -> None:
    """Truncate or empty the status file of a repeat."""
    path = scene.rng.choice(_ended(run))
    data = path.read_bytes()
    path.write_bytes(data[: scene.rng.randrange(len(data) - 1)])


def _garbage(scene: Scene, run: Path) -> None:
    """Overwrite the files of the latest repeat (raw files and status) with random bytes, as if their blocks had never
    reached the disk."""
    folder = _ended(run)[-1].parent
    for path in folder.iterdir():
        if path.is_file():
            path.write_bytes(scene.rng.randbytes(scene.rng.randrange(4096)))


def _litter(scene: Scene, run: Path) -> None:
    """Leave partly written documents under their temporary names."""
    (run / ".run.json.999.tmp").write_bytes(b"{")
    (_ended(run)[-1].parent / ".status.json.999.tmp").write_bytes(b"")


FAULTS: dict[str, Fault] = {
    "asct SIGKILL": _kill,
    "asct SIGTERM": _signal(signal.SIGTERM),
    "asct SIGINT": _signal(signal.SIGINT),
    "asct SIGHUP": _signal(signal.SIGHUP),
    "asct SIGSTOP": pause_asct,
    "runner SIGKILL": _runner(".pid"),
    "hearer SIGKILL": _runner(".hear"),
    "worker SIGKILL": _runner(".work"),
    "task SIGKILL": kill_task,
    "session SIGKILL": kill_session,
    "session SIGSTOP": pause_session,
    "session frozen": freeze_session,
    "sshd restarted": restart_server,
    "link down": pull_cable,
    "account killed": kill_account,
    "power off": reboot,
    "job canceled": cancel_job,
    "controller restarted": restart_controller,
    "host disk full, passing": fill_host_for_a_moment,
    "host disk full": fill_host,
    "results disk full": fill_results,
    "records torn": _damage(lambda scene, run: _tear(scene, run / "records.jsonl")),
    "journal torn": _damage(lambda scene, run: _tear(scene, run / "journal.jsonl")),
    "status cut": _damage(_cut_status),
    "raw files garbage": _damage(_garbage),
    "temporary files": _damage(_litter),
}
"""The faults, by the names used in the table."""
_NETWORK = {"session SIGKILL", "session SIGSTOP", "session frozen", "sshd restarted", "link down"}
_SLURM = {"job canceled", "controller restarted"}
KINDS = {
    "local": FAULTS.keys() - _NETWORK - _SLURM,
    "ssh": FAULTS.keys() - _SLURM,
    "slurm": FAULTS.keys() - _NETWORK - {"power off"},
}
"""The faults that are possible on the hosts of each transport."""
PASSING = ("asct SIGKILL", "runner SIGKILL", "session SIGKILL", "task SIGKILL", "link down", "asct SIGSTOP")
"""The faults that may also be injected into a resume."""

"""What is done to a run. Each fault is a function of the scene; one that lasts returns how to undo it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

from tests.chaos.scene import Missed, Scene, SlurmScene, SshScene

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
    """Stopped, as by Ctrl-Z or a laptop's lid, and continued."""
    _signal(signal.SIGSTOP)(scene)
    scene.pause(0.3, 3)
    scene.part.send(signal.SIGCONT)


def _runner(name: str, group: str = "") -> Fault:
    """Kill the process that the runner notes under `name`, or its group."""

    def kill(scene: Scene) -> None:
        scene.session(f'read -r pid rest <{name} && kill -s KILL -- "{group}$pid"')

    return kill


def _sessions(scene: Scene, name: str) -> SshScene:
    assert isinstance(scene, SshScene)
    if not scene.host.space.sh("pgrep -x sshd | tail -n +2"):
        raise Missed
    scene.host.signal_sessions(name)
    return scene


def kill_session(scene: Scene) -> None:
    """The process of the ssh server that serves the connection."""
    _sessions(scene, "KILL")


def pause_session(scene: Scene) -> None:
    """It answers nothing for some time."""
    there = _sessions(scene, "STOP")
    scene.pause(0.3, 4)
    there.host.signal_sessions("CONT")


def freeze_session(scene: Scene) -> Undo:
    """It never answers again, and keeps the connection open."""
    there = _sessions(scene, "STOP")
    return lambda: there.host.signal_sessions("KILL")


def restart_server(scene: Scene) -> None:
    """The ssh server and all its sessions die, and it is started again."""
    assert isinstance(scene, SshScene)
    scene.host.kill_servers()
    scene.pause(0, 2)
    scene.host.serve()


def pull_cable(scene: Scene) -> None:
    """The link is down for some seconds."""
    assert isinstance(scene, SshScene)
    scene.host.link("down")
    scene.pause(0.5, 5)
    scene.host.link("up")


def kill_account(scene: Scene) -> None:
    """Everything of the account on the host, as an administrator or systemd-logind does it."""
    scene.kill_all()


def reboot(scene: Scene) -> None:
    """The power of the host fails; it comes back with the same disk."""
    assert isinstance(scene, SshScene)
    scene.host.power_off()
    scene.pause(0, 2)
    scene.host.boot()


def cancel_job(scene: Scene) -> None:
    """An administrator cancels the running job of the run, or its time is over."""
    assert isinstance(scene, SlurmScene)
    jobs = [row[0] for row in scene.cluster.jobs("RUNNING")]
    if not jobs:
        raise Missed
    scene.cluster.command("scancel", "--quiet", *jobs)


def restart_controller(scene: Scene) -> None:
    """The cluster's controller is away for a moment."""
    assert isinstance(scene, SlurmScene)
    scene.cluster.stop("slurmctld")
    scene.pause(0, 3)
    scene.cluster.start_controller()


def fill_host_for_a_moment(scene: Scene) -> None:
    """The disk of the host is full, and then not any more."""
    scene.there.fill()
    scene.pause(0.2, 2)
    scene.there.free()


def fill_host(scene: Scene) -> Undo:
    """The disk of the host is full until somebody looks after it."""
    scene.there.fill()
    return scene.there.free


def fill_results(scene: Scene) -> Undo:
    """The disk of the results is full until somebody looks after it."""
    scene.here.fill()
    return scene.here.free


def _damage(harm: Callable[[Scene, Path], None]) -> Fault:
    """What a machine leaves whose power fails while asct writes."""

    def do(scene: Scene) -> None:
        _kill(scene)
        scene.part.end()
        if scene.run is None:
            raise Missed
        harm(scene, scene.run)

    return do


def _tear(scene: Scene, path: Path) -> None:
    """Cut the last line of a file somewhere."""
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
    """The file that tells how a repeat ended is cut off, or empty."""
    path = scene.rng.choice(_ended(run))
    data = path.read_bytes()
    path.write_bytes(data[: scene.rng.randrange(len(data) - 1)])


def _garbage(scene: Scene, run: Path) -> None:
    """Blocks of the latest repeat never reached the disk: neither its raw files nor how it ended."""
    folder = _ended(run)[-1].parent
    for path in folder.iterdir():
        if path.is_file():
            path.write_bytes(scene.rng.randbytes(scene.rng.randrange(4096)))


def _litter(scene: Scene, run: Path) -> None:
    """Documents that were being written, under their temporary names."""
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
    "task SIGKILL": _runner(".task", "-"),
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
"""By the name in the table."""
_NETWORK = {"session SIGKILL", "session SIGSTOP", "session frozen", "sshd restarted", "link down"}
_SLURM = {"job canceled", "controller restarted"}
KINDS = {
    "local": FAULTS.keys() - _NETWORK - _SLURM,
    "ssh": FAULTS.keys() - _SLURM,
    "slurm": FAULTS.keys() - _NETWORK - {"power off"},
}
"""The faults that hosts of each transport can have."""
PASSING = ("asct SIGKILL", "runner SIGKILL", "session SIGKILL", "task SIGKILL", "link down", "asct SIGSTOP")
"""What may also happen to a resume."""

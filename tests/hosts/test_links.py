"""Runs whose connections fail: the asct command with hosts in separate networks.

Each point of these plans takes three seconds, so that faults occur while it is being measured. The tests check the
content of the results tree, and which programs were run according to the hosts themselves.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.awaiting import until
from tests.e2e.running import Ended, environment, latest, lines
from tests.netns import Net, NetHost, network
from tests.sshd import keygen

pytestmark = [
    pytest.mark.ssh,
    pytest.mark.e2e,
    pytest.mark.fio,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces and links need root"),
]

NOOP = "benchmarks: [noop]\n"
LONG = """\
benchmarks:
  - {id: before, uses: noop}
  - id: long
    uses: storage-fio
    config: {duration: 3s, filesize: 4M, numjobs: 1, rate_iops: 50}
    sweep: {iodepth: [1, 2]}
  - {id: after, uses: noop}
"""
POINTS = {"before": 1, "long": 2, "after": 1}
READING = "--readonly"
"""Identifies the fio process that measures, as opposed to the one that prepared its file."""
IMPATIENT = Path(__file__).with_name("impatient.py")
PATIENCE_S = 60
BRIEF = {"reconnect_timeout": "10s", "connect_timeout": "10s"}
"""Limits for hosts that do not come back, so that the test does not wait longer than necessary."""
LONGER = LONG.replace("duration: 3s", "duration: 8s")
"""A plan for tests in which a late fault would otherwise occur after the end of the run."""


@dataclass
class Run:
    """A running asct command."""

    cwd: Path
    env: dict[str, str]
    process: subprocess.Popen[str]

    def end(self, seconds: float = 300) -> Ended:
        """Wait for the command to end. If it hangs, stop it and fail the test."""
        try:
            out, err = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            raise AssertionError(f"still running after {seconds} s:\n{err}") from None
        return Ended(self.process.returncode, out, err)

    @property
    def tree(self) -> Path:
        return latest(self.cwd, "links")


@pytest.fixture
def start(tmp_path: Path, cache: Path) -> Iterator[Callable[..., Run]]:
    """Apply a plan to all hosts of a network, or to the given entries. Stop the remaining processes afterward."""
    begun: list[Run] = []

    def begin(net: Net, benchmarks: str, **changes: dict[str, Any]) -> Run:
        entries = net.entries()
        entries["defaults"]["reconnect_timeout"] = f"{PATIENCE_S}s"
        for name, change in changes.items():
            entries[name] |= change
        (tmp_path / "plan.yaml").write_text(f"plan: 1\nname: links\n{benchmarks}hosts: {json.dumps(entries)}\n")
        env = environment({"XDG_CACHE_HOME": str(cache)})
        process = subprocess.Popen(
            [*net.prefix, sys.executable, str(IMPATIENT), "apply", "plan.yaml"], cwd=tmp_path, env=env, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        begun.append(Run(tmp_path, env, process))
        return begun[-1]

    yield begin
    for run in begun:
        run.process.kill()
        run.process.communicate()


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache in which kernels are built once for all tests of this file."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def three() -> Iterator[Net]:
    """Provide three hosts that a test may disturb."""
    with network(3) as net:
        yield net


def measuring(host: NetHost) -> None:
    """Wait until the host measures its long point, and a moment longer. On a busy machine, other points may be finished
    by then."""
    until(lambda: any(READING in line for line in host.running()), f"{host.name} does not measure")
    time.sleep(0.5)


def measured(run: Run) -> dict[str, dict[str, int]]:
    """Return the number of points with results, keyed by job and host. Fails if a point is listed twice."""
    records = lines(run.tree / "records.jsonl")
    values = Counter(
        (one["host"], one["id"], one["point_id"], one["metric"], one["repeat"], json.dumps(one["coords"]))
        for one in records
    )
    assert set(values.values()) == {1}
    points = {(one["host"], one["id"], one["point_id"]) for one in records}
    found: dict[str, dict[str, int]] = {}
    for host, job, _ in points:
        jobs = found.setdefault(host, {})
        jobs[job] = jobs.get(job, 0) + 1
    return found


def ran_once(net: Net, *names: str) -> None:
    """Assert that each host ran each point once, whatever happened to the connection."""
    for name in names or net.hosts:
        started = [line for line in net.hosts[name].started() if READING in line]
        assert len(started) == POINTS["long"], started


def clean(net: Net, *names: str) -> None:
    """Assert that nothing of the run is left on the hosts."""
    for name in names or net.hosts:
        host = net.hosts[name]
        until(lambda host=host: not host.running(), f"left on {name}: {host.running()}")
        assert host.left() == []


def status(run: Run) -> dict[str, str]:
    """Return the state of each host in run.json."""
    return {one["name"]: one["status"] for one in json.loads((run.tree / "run.json").read_text())["hosts"]}


def succeeds(run: Run, net: Net) -> None:
    """Assert that the run succeeds, and that each host measured each point once."""
    ended = run.end()
    assert ended.code == 0, ended.err
    assert measured(run) == dict.fromkeys(net.hosts, POINTS)
    ran_once(net)


def fails_on_tb02(run: Run) -> tuple[str, dict[str, int]]:
    """Assert that the run fails, and that the other two hosts measured every point. Return the messages of the run, and
    the points that tb02 measured."""
    ended = run.end()
    assert ended.code == 3, ended.err
    found = measured(run)
    assert {name: found[name] for name in ("tb01", "tb03")} == dict.fromkeys(("tb01", "tb03"), POINTS)
    return " ".join(ended.err.split()), found["tb02"]


def test_sixteen_hosts_are_measured_side_by_side(start: Callable[..., Run]) -> None:
    with network(16) as net:
        run = start(net, NOOP)
        ended = run.end()
        assert ended.code == 0, ended.err
        assert measured(run) == {name: {"noop": 1} for name in net.hosts}
        names = {
            json.loads((run.tree / "facts" / f"{name}.json").read_text())["system"]["hostname"] for name in net.hosts
        }
        assert names == set(net.hosts)
        clean(net)


def test_a_link_that_comes_back_costs_nothing(three: Net, start: Callable[..., Run]) -> None:
    run = start(three, LONG)
    measuring(three.hosts["tb02"])
    three.hosts["tb02"].link("down")
    time.sleep(3)
    three.hosts["tb02"].link("up")
    succeeds(run, three)
    clean(three)


def test_a_link_that_stays_down_ends_its_host_alone(three: Net, start: Callable[..., Run]) -> None:
    run = start(three, LONGER, defaults=BRIEF)
    measuring(three.hosts["tb02"])
    three.hosts["tb02"].link("down")
    messages, points = fails_on_tb02(run)
    assert points.get("before") == 1 and "after" not in points
    assert "tb02" in messages and "asct resume" in messages
    ran_once(three)
    clean(three, "tb01", "tb03")
    three.hosts["tb02"].link("up")
    resumed(run, three)
    ran_once(three)
    clean(three)


def test_a_run_that_is_ended_while_a_link_is_down_says_what_it_leaves(three: Net, start: Callable[..., Run]) -> None:
    run = start(three, LONGER)
    measuring(three.hosts["tb02"])
    three.hosts["tb02"].link("down")
    run.process.send_signal(signal.SIGINT)
    ended = run.end()
    assert ended.code == 130, ended.err
    messages = " ".join(ended.err.split())
    assert messages.count("could not end its session") == 1 and "tb02 (" in messages
    (command,) = re.findall("`pgrep -f ([^`]*)`", messages)
    assert three.hosts["tb02"].space.sh(f"pgrep -f {command}")
    clean(three, "tb01", "tb03")
    three.hosts["tb02"].link("up")
    resumed(run, three)
    clean(three)


def resumed(run: Run, net: Net) -> None:
    """Check that `asct resume` measures the missing points, and that each point exists once afterward."""
    done = subprocess.run(
        [*net.prefix, sys.executable, str(IMPATIENT), "resume", str(run.tree)],
        cwd=run.cwd, env=run.env, text=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert measured(run) == dict.fromkeys(net.hosts, POINTS)


def test_a_slow_link_is_waited_for(three: Net, start: Callable[..., Run]) -> None:
    three.hosts["tb02"].slow("1mbit")
    run = start(three, LONG)
    succeeds(run, three)
    clean(three)


def test_a_wrong_host_key_is_refused_and_the_others_are_measured(
    three: Net, start: Callable[..., Run], tmp_path: Path
) -> None:
    keygen(tmp_path / "other")
    wrong = (tmp_path / "other.pub").read_text().split()[1]
    right = (three.hosts["tb02"].server.folder / "host.pub").read_text().split()[1]
    three.known_hosts.write_text(three.known_hosts.read_text().replace(right, wrong))
    run = start(three, NOOP)
    ended = run.end()
    assert ended.code == 3, ended.err
    assert "E308" in ended.err and ended.err.count("SHA256:") == 2
    assert measured(run) == {name: {"noop": 1} for name in ("tb01", "tb03")}
    assert status(run) == {"tb01": "ok", "tb02": "unreachable", "tb03": "ok"}
    assert not (three.hosts["tb02"].var_tmp / "asct").exists(), "nothing was sent there"
    clean(three)


def test_an_ssh_server_that_is_killed_and_started_again_costs_nothing(three: Net, start: Callable[..., Run]) -> None:
    run = start(three, LONG)
    measuring(three.hosts["tb02"])
    three.hosts["tb02"].kill_servers()
    time.sleep(2)
    three.hosts["tb02"].serve()
    succeeds(run, three)
    clean(three)


def test_a_session_that_is_stopped_is_noticed_and_left_for_another(three: Net, start: Callable[..., Run]) -> None:
    run = start(three, LONG)
    measuring(three.hosts["tb02"])
    three.hosts["tb02"].signal_sessions("STOP")
    succeeds(run, three)
    three.hosts["tb02"].signal_sessions("CONT")
    clean(three)


def test_a_frozen_host_is_given_up_and_the_others_are_measured(three: Net, start: Callable[..., Run]) -> None:
    run = start(three, LONGER, defaults=BRIEF)
    measuring(three.hosts["tb02"])
    three.hosts["tb02"].freeze()
    messages, points = fails_on_tb02(run)
    assert "after" not in points
    assert "tb02" in messages and "asct resume" in messages
    clean(three, "tb01", "tb03")


def test_a_host_that_was_switched_off_and_on_is_resumed(three: Net, start: Callable[..., Run]) -> None:
    run = start(three, LONGER)
    measuring(three.hosts["tb02"])
    three.hosts["tb02"].power_off()
    three.hosts["tb02"].boot()
    messages, _ = fails_on_tb02(run)
    assert "the host was restarted" in messages
    (lost,) = [one for one in lines(run.tree / "journal.jsonl") if one.get("status") == "host-lost"]
    assert lost["host"] == "tb02" and lost["diagnostic"]["hint"]
    resumed(run, three)
    ran_once(three, "tb01", "tb03")
    clean(three)

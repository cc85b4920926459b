"""Runs over ssh, with a real server on loopback: measured, refused, lost and interrupted."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from tests.awaiting import PATIENCE_S, until
from tests.e2e.running import COMPILERS, IGNORING, PACE, apply, asct, begin, hiding, latest, lines
from tests.e2e.test_baseline import check_second_measurement
from tests.sshd import Sshd, keygen

pytestmark = [pytest.mark.e2e, pytest.mark.ssh, pytest.mark.fio, pytest.mark.kernels]


def hosts(server: Sshd, **changes: object) -> str:
    """Return the `hosts:` section of a plan that uses `server`."""
    entry = server.entry(**{"connect_timeout": f"{PATIENCE_S}s", **changes})
    return f"hosts: {json.dumps({'server': entry})}\n"


def leftovers(server: Sshd) -> list[str]:
    """Return what is below the work folder after a run. Only empty folders may remain."""
    work = server.folder / "account" / "work"
    return [str(path) for path in work.rglob("*") if path.is_file()] if work.exists() else []


def running_from(server: Sshd) -> list[str]:
    """Return the command lines of processes whose programs are in the account's folders."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                place = str((entry / "cwd").readlink())
            except OSError:
                continue
            if place.startswith(str(server.folder / "account")):
                found.append(text)
    return found


def test_a_regression_is_measured_again_over_ssh(sshd: Sshd, tmp_path: Path) -> None:
    check_second_measurement(tmp_path, hosts(sshd))
    assert leftovers(sshd) == []


def test_the_example_plan_measures_over_ssh(sshd: Sshd, tmp_path: Path) -> None:
    """The plan plans/examples/ssh.yaml is used unchanged, except for the host and the sizes."""
    values = {
        "hosts.server.port": sshd.port,
        "hosts.server.user": sshd.user,
        "hosts.server.identity_file": sshd.identity,
        "hosts.server.known_hosts": sshd.known_hosts,
        "hosts.server.workdir": sshd.folder / "account" / "work",
        "latency-sweep.max_size": "4M",
        "latency-sweep.visits": 2,
        "storage-io-depth-sweep.duration": "1s",
        "storage-io-depth-sweep.filesize": "16M",
        "storage-io-depth-sweep.iodepth_sweep_steps": "[1, 4]",
        "storage-io-depth-sweep.rate_iops": PACE,
    }
    sets = [word for path, value in values.items() for word in ("--set", f"{path}={value}")]
    example = Path(__file__).parents[2] / "plans" / "examples" / "ssh.yaml"
    ended = asct("apply", str(example), *sets, cwd=tmp_path)
    assert ended.code == 0, ended.err
    run = latest(tmp_path, "ssh")
    records = lines(run / "records.jsonl")
    assert {record["host"] for record in records} == {"server"}
    assert {record["benchmark"] for record in records} == {"latency-sweep", "storage-io-depth-sweep"}
    assert (run / "report.html").is_file()
    assert leftovers(sshd) == []
    assert running_from(sshd) == []


def test_an_unknown_host_key_is_refused_with_the_line_to_add(sshd: Sshd, tmp_path: Path) -> None:
    empty = tmp_path / "known_hosts"
    empty.touch()
    ended = apply("plan: 1\nname: quick\nbenchmarks: [noop]\n" + hosts(sshd, known_hosts=str(empty)), tmp_path)
    assert ended.code == 3
    assert f"[127.0.0.1]:{sshd.port} ssh-ed25519 " in ended.err
    assert "SHA256:" in ended.err
    run = json.loads((latest(tmp_path) / "run.json").read_text())
    assert [host["status"] for host in run["hosts"]] == ["unreachable"]


def test_a_changed_host_key_is_refused(sshd: Sshd, tmp_path: Path) -> None:
    keygen(tmp_path / "other")
    kind, blob = (tmp_path / "other.pub").read_text().split()[:2]
    (tmp_path / "known_hosts").write_text(f"[127.0.0.1]:{sshd.port} {kind} {blob}\n")
    plan = "plan: 1\nname: quick\nbenchmarks: [noop]\n" + hosts(sshd, known_hosts=str(tmp_path / "known_hosts"))
    ended = apply(plan, tmp_path)
    assert ended.code == 3
    assert "changed" in ended.err or "differs" in ended.err or "not the one" in ended.err
    assert ended.err.count("SHA256:") == 2


def test_an_unreachable_host_leaves_the_others_alone(sshd: Sshd, tmp_path: Path) -> None:
    plan = yaml.safe_load(hosts(sshd))
    plan["hosts"]["gone"] = {**plan["hosts"]["server"], "port": 1}
    ended = apply("plan: 1\nname: quick\nbenchmarks: [noop]\n" + json.dumps(plan)[1:-1] + "\n", tmp_path)
    assert ended.code == 3
    assert "gone" in ended.err
    assert {record["host"] for record in lines(latest(tmp_path) / "records.jsonl")} == {"server"}


@pytest.mark.parametrize(
    ("number", "code", "started_by"),
    [(signal.SIGINT, 130, ()), (signal.SIGINT, 130, IGNORING), (signal.SIGTERM, 143, ())],
    ids=["interrupt", "ignoring", "terminate"],
)
def test_an_interrupt_leaves_nothing_on_either_side(
    own_sshd: Sshd, tmp_path: Path, number: int, code: int, started_by: Sequence[str]
) -> None:
    plan = (
        "plan: 1\nname: quick\nbenchmarks:\n  - noop\n"
        "  - {uses: storage-fio, id: long, config: {duration: 10m, filesize: 16M, numjobs: 1}}\n"
    )
    (tmp_path / "plan.yaml").write_text(plan + hosts(own_sshd))
    process = begin(tmp_path, prefix=started_by, stderr=subprocess.PIPE)
    until(lambda: any("fio" in text and "job.fio" in text for text in running_from(own_sshd)), "fio was not started")
    time.sleep(1)
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == code, err
    assert running_from(own_sshd) == []
    assert leftovers(own_sshd) == []
    run = json.loads((latest(tmp_path) / "run.json").read_text())
    assert run["status"] == "interrupted"
    assert [record["benchmark"] for record in lines(latest(tmp_path) / "records.jsonl")] == ["noop"]


def test_a_kernel_is_pushed_when_the_target_has_no_compiler(own_sshd: Sshd, tmp_path: Path) -> None:
    own_sshd.stop()
    own_sshd.start(hiding(*COMPILERS))
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    ended = apply("plan: 1\nname: quick\nbenchmarks: [noop]\n" + hosts(own_sshd), tmp_path, env=env)
    assert ended.code == 0, ended.err
    built = [event for event in lines(latest(tmp_path) / "journal.jsonl") if event["t"] == "kernel-built"]
    assert len(built) == 1
    facts = json.loads((latest(tmp_path) / "facts" / "server.json").read_text())
    assert not {"gcc", "cc", "clang"} & set(facts["tools"])

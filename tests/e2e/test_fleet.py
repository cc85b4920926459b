"""A fleet on loopback: hosts that cannot be reached, or whose keys do not match, do not affect the others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path

import pytest

from tests.e2e.running import Ended, apply, asct, latest, lines
from tests.fleet import Fleet, fleet
from tests.sshd import free_port, keygen

pytestmark = [pytest.mark.e2e, pytest.mark.ssh, pytest.mark.kernels]

SIZE = 12
CHANGED, CLOSED = "n004", "n009"
GOOD = [f"n{number:03}" for number in range(1, SIZE + 1) if f"n{number:03}" not in (CHANGED, CLOSED)]


@pytest.fixture(scope="module")
def hosts() -> Iterator[Fleet]:
    with fleet(SIZE) as made:
        yield made


def plan(made: Fleet, folder: Path) -> str:
    """Return a plan with two benchmarks on all hosts. One host has an unexpected key, and the port of another one is
    closed."""
    keygen(folder / "other")
    known = folder / "known_hosts"
    stranger = (folder / "other.pub").read_text().split()[1]
    kept = []
    for line in made.known_hosts.read_text().splitlines():
        name, kind, blob = line.split()
        kept.append(f"{name} {kind} {stranger if made.servers[CHANGED].address in name else blob}")
    known.write_text("\n".join(kept) + "\n")
    described = made.hosts()
    described["defaults"]["known_hosts"] = str(known)
    described[CLOSED]["port"] = free_port()
    return (
        f"plan: 1\nname: quick\nhosts: {json.dumps(described)}\n"
        "groups: {front: 'n00[1:3]', odd: [front, n005]}\n"
        "benchmarks:\n  - noop\n  - {id: twice, uses: noop, hosts: [odd, n009, n004], sweep: {index: [1, 2]}}\n"
    )


@pytest.fixture(scope="module")
def run(hosts: Fleet, tmp_path_factory: pytest.TempPathFactory) -> tuple[Ended, Path]:
    folder = tmp_path_factory.mktemp("fleet")
    return apply(plan(hosts, folder), folder, env={"COLUMNS": "80"}), folder


def test_the_others_are_measured(run: tuple[Ended, Path], hosts: Fleet) -> None:
    ended, folder = run
    assert ended.code == 3, ended.err
    records = lines(latest(folder) / "records.jsonl")
    assert sorted(record["host"] for record in records if record["id"] == "noop") == GOOD
    assert sorted(record["host"] for record in records if record["id"] == "twice") == sorted(
        ["n001", "n002", "n003", "n005"] * 2
    )
    assert hosts.left() == []


def test_each_trouble_is_told_with_its_way_out(run: tuple[Ended, Path]) -> None:
    ended, folder = run
    document = json.loads((latest(folder) / "run.json").read_text())
    assert {host["name"]: host["status"] for host in document["hosts"] if host["status"] != "ok"} == {
        CHANGED: "unreachable", CLOSED: "unreachable",
    }  # fmt: skip
    found = {item["host"]: item for item in document["findings"] if item["host"] in (CHANGED, CLOSED)}
    assert (found[CHANGED]["code"], found[CLOSED]["code"]) == ("E308", "E305")
    assert "known_hosts" in found[CHANGED]["hint"]
    assert "E308" in ended.err
    assert "E305" in ended.err


def names_of(text: str) -> set[str]:
    """Return the hosts that a list such as `n[001:003], n005` names."""
    found = set()
    for first, last in re.findall(r"n\[?(\d{3})(?::(\d{3}))?", text):
        found |= {f"n{number:03}" for number in range(int(first), int(last or first) + 1)}
    return found


def rows_below(lines_shown: Sequence[str], header: str) -> list[str]:
    """Return the lines between the header that matches and the next empty line."""
    start = next(at for at, line in enumerate(lines_shown) if re.fullmatch(header, line.strip()))
    return list(takewhile(str.strip, lines_shown[start + 1 :]))


def test_the_matrix_of_hosts_and_benchmarks(run: tuple[Ended, Path]) -> None:
    """There are more hosts than lines: hosts with the same outcomes share a line, and the worst come first. Twelve
    hosts on one machine disturb one another, so any measured repeat may be noisy."""
    ended, _ = run
    shown = ended.err.splitlines()
    matrix = rows_below(shown, r"host +noop +twice")
    assert re.fullmatch(r"n004, n009: unreachable +skipped +skipped", matrix[0].strip())
    assert measured_in(matrix[1:], r" (ok|noisy) +(ok|noisy|noisy 1/2)$") == {"n001", "n002", "n003", "n005"}
    assert measured_in(matrix[1:], r" (ok|noisy) +-$") == {*GOOD} - {"n001", "n002", "n003", "n005"}
    start = shown.index(matrix[0])
    assert max(len(line) for line in shown[start:]) <= 80 or "results in" in ended.err


def measured_in(rows: Sequence[str], ending: str) -> set[str]:
    return set().union(*(names_of(row) for row in rows if re.search(ending, row.rstrip())))


def test_the_reports_have_the_matrix(run: tuple[Ended, Path]) -> None:
    folder = latest(run[1])
    summary = (folder / "summary.md").read_text().replace("\\", "")
    assert "| Host | noop | twice |" in summary
    twice = re.findall(r"^\| ([^|]*) \| \S+ (?:ok|noisy) \| \S+ (?:ok|noisy|noisy 1/2) \|$", summary, re.MULTILINE)
    assert set().union(*map(names_of, twice)) == {"n001", "n002", "n003", "n005"}
    page = (folder / "report.html").read_text()
    assert "n004, n009: unreachable" in page


def test_a_kernel_is_built_once_for_the_fleet(hosts: Fleet, tmp_path: Path) -> None:
    """The cache of the account is shared. A separate cache for this run is empty at first."""
    described = hosts.hosts()
    good = {name: described[name] for name in ("defaults", *GOOD)}
    for server in hosts.servers.values():
        assert server.process is not None
    text = f"plan: 1\nname: quick\nhosts: {json.dumps(good)}\nbenchmarks: [noop]\n"
    ended = apply(text, tmp_path)
    assert ended.code == 0, ended.err
    built = [event for event in lines(latest(tmp_path) / "journal.jsonl") if event["t"] == "kernel-built"]
    assert len(built) == len(GOOD)
    assert sum(not event["cached"] for event in built) <= 1


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["--host", "n00[1:3]"], ["n001", "n002", "n003"]),
        (["--host", "front"], ["n001", "n002", "n003"]),
        (["--host", "n01*,n001"], ["n001", "n010", "n011", "n012"]),
        (["--host", "n007", "--host", "front"], ["n001", "n002", "n003", "n007"]),
    ],
)
def test_hosts_are_chosen_alike_by_all_commands(
    hosts: Fleet, tmp_path: Path, words: list[str], meant: list[str]
) -> None:
    (tmp_path / "plan.yaml").write_text(plan(hosts, tmp_path))
    planned = json.loads(asct("plan", "plan.yaml", *words, "--json", cwd=tmp_path).out)
    assert [host["name"] for host in planned["hosts"]] == meant
    checked = json.loads(asct("check", "plan.yaml", *words, "--json", cwd=tmp_path).out)
    assert checked["ok"]
    assert checked["plans"][0]["jobs"] == planned["jobs"]
    looked = json.loads(asct("doctor", "plan.yaml", *words, "--json", cwd=tmp_path).out)
    assert [host["name"] for host in looked["hosts"]] == meant
    ended = asct("apply", "plan.yaml", *words, "--benchmark", "noop", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert sorted(record["host"] for record in lines(latest(tmp_path) / "records.jsonl")) == meant


def test_a_choice_of_hosts_is_resumed_as_it_was(hosts: Fleet, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(plan(hosts, tmp_path))
    assert asct("apply", "plan.yaml", "--host", "front", cwd=tmp_path).code == 0
    run = latest(tmp_path)
    journal = (run / "journal.jsonl").read_text()
    assert '"t": "point-ended"' in journal or '"t":"point-ended"' in journal
    for status in (run / "jobs" / "n002").rglob("status.json"):
        status.unlink()
    ended = asct("resume", "latest", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "3 measurements missing" in ended.err
    again = asct("apply", "plan.yaml", "--host", "front", "--resume", cwd=tmp_path)
    assert again.code == 0, again.err
    assert "0 measurements missing" in again.err

"""`asct system-info` and `asct network-info` in every format, for this machine, a host over ssh, and a stored
snapshot."""

from __future__ import annotations

import csv
import io
import json
import os
import platform
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from asct.sdk.facts import HostFacts
from asct.store.schemas import validator
from tests.cli.conftest import Asct
from tests.sshd import Sshd

TOKEN = "asct-0123456789abcdef"
KEPT = f"""\
{TOKEN} files -
/proc/meminfo:MemTotal: 1024 kB
/sys/devices/system/cpu/online:0-3
/sys/devices/system/cpu/present:0-3
{TOKEN} blocks /proc/cpuinfo
0-3 model name\t: A chip\x1b[31m of a long name {"x" * 90}
0-3 flags\t\t: {" ".join(f"flag{number}" for number in range(60))}
{TOKEN} over -
"""


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Return the snapshot of a small machine, as a run stores it."""
    place = tmp_path / "facts" / "small" / "snapshot.txt"
    place.parent.mkdir(parents=True)
    place.write_text(KEPT)
    return place


def narrow(text: str) -> bool:
    return "\x1b" not in text and all(len(line) <= 80 or " " not in line.strip() for line in text.split("\n"))


def fields(text: str) -> dict[str, str]:
    return dict(list(csv.reader(io.StringIO(text))))


def test_this_machine_as_text(asct: Asct, tmp_path: Path) -> None:
    ended = asct("system-info")
    assert (ended.code, ended.err) == (0, "")
    assert narrow(ended.out)
    assert platform.release() in ended.out
    titles = [line for line in ended.out.split("\n") if line and not line.startswith(" ")][1:]
    assert titles.index("System") < titles.index("CPU") < titles.index("Memory") < titles.index("Tools")
    assert not (tmp_path / "facts").exists()


def test_this_machine_as_json_and_csv(asct: Asct) -> None:
    document = asct("system-info", "--json").document
    assert not list(validator("facts").iter_errors(document))
    assert next(iter(document)) == "schema"
    assert document["system"]["kernel"] == platform.release()
    assert asct("system-info", "--format", "json").document["cpu"]["cpus"] == document["cpu"]["cpus"]
    rows = fields(asct("system-info", "--format", "csv").out)
    assert (rows["schema"], rows["cpu.cpus"]) == ("asct.facts/1", str(document["cpu"]["cpus"]))


def test_files_are_written_only_when_asked_for(asct: Asct, tmp_path: Path) -> None:
    ended = asct("system-info", "-o", "out", "--topology")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "report.json",
        "system_info.csv",
        "topology.svg",
    ]
    assert "out/report.json" in ended.err
    facts = HostFacts.model_validate_json((tmp_path / "out" / "report.json").read_text())
    assert fields((tmp_path / "out" / "system_info.csv").read_text())["system.kernel"] == facts.system.kernel
    assert (tmp_path / "out" / "topology.svg").read_text().startswith("<svg")
    again = asct("network-info", "-o", "out")
    assert (again.code, again.out) == (2, "") and "E911" in again.err
    assert asct("network-info", "-o", "out", "--force").code == 0
    assert json.loads((tmp_path / "out" / "report.json").read_text())["schema"] == "asct.network/1"
    (tmp_path / "file").write_text("")
    assert asct("network-info", "-o", "file", "--force").code == 2


def test_the_network_alone(asct: Asct) -> None:
    ended = asct("network-info")
    assert ended.code == 0 and narrow(ended.out)
    assert "\nNetwork\n" in ended.out and "\nCPU\n" not in ended.out and " lo " in ended.out
    document = asct("network-info", "--json").document
    assert list(document) == ["schema", "host", "collected_at", "network", "notes", "unknown"]
    assert {name.partition(".")[0] for name in document["unknown"]} <= {"network"}


@pytest.mark.ssh
def test_hosts(asct: Asct, sshd: Sshd, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hosts are reached with the settings of ssh(1). A host that does not exist is reported, and the other hosts are
    shown."""
    monkeypatch.setattr(
        "asct.cli.machines.host_of", lambda name: sshd.spec(name, port=sshd.port if name == "there" else 1)
    )
    ended = asct("system-info", "--host", "there", "--host", "gone")
    assert ended.code == 3
    assert ended.out.startswith("there: ") and "gone" not in ended.out
    assert "gone" in ended.err and "E305" in ended.err
    document = asct("system-info", "--host", "there", "--host", "gone", "--json", "-o", "out").document
    assert (document["schema"], [one["host"] for one in document["hosts"]]) == ("asct.machines/1", ["there"])
    assert document["problems"][0]["code"] == "E305"
    both = asct("network-info", "--host", "there", "--host", "there", "--format", "csv")
    assert (both.code, fields(both.out)["host"]) == (0, "there")
    assert asct("system-info", "--host", "gone", "--compare", "out/report.json", "--json").code == 3


@pytest.mark.parametrize("form", ["file", "folder", "run", "tar"])
def test_what_was_kept(form: str, asct: Asct, kept: Path, tmp_path: Path) -> None:
    place = kept if form == "file" else kept.parent
    if form == "tar":
        place = tmp_path / "small.tar.gz"
        with tarfile.open(place, "w:gz") as made:
            made.add(kept, "x/snapshot.txt")
    if form == "run":
        facts = asct("system-info", "--from", str(kept), "--json").out
        place = tmp_path / "small.json"
        place.write_text(facts)
    ended = asct("system-info", "--from", str(place))
    assert (ended.code, ended.err) == (0, "")
    assert narrow(ended.out) and "flag59" in ended.out
    assert "(file modification time)" in ended.out
    assert "4 CPUs" in ended.out
    document = asct("system-info", "--from", str(place), "--json").document
    assert (document["host"], document["memory"]["total_bytes"]) == ("small", 1 << 20)
    assert "system.kernel" in document["unknown"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--from", "nothing"], "E920"),
        (["--from", "small.yaml"], "E920"),
        (["--from", "bad.json"], "E508"),
        (["--from", "facts", "--host", "x"], "E910"),
        (["--host", "a b"], "E910"),
        (["--compare", "nothing"], "E920"),
        (["--compare", "facts", "--host", "a", "--host", "b"], "E910"),
        (["--format", "xml"], "E910"),
        (["surplus"], "E910"),
    ],
)
def test_wrong_usage(arguments: list[str], code: str, asct: Asct, plan_file: Path, kept: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{")
    before = sorted(path.name for path in tmp_path.iterdir())
    ended = asct("system-info", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert code in ended.err and "hint" in ended.err
    assert {*(path.name for path in tmp_path.iterdir())} - {*before} <= {"cache"}


def test_a_torn_archive_says_so(asct: Asct, kept: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "whole.tar", "w") as made:
        made.add(kept, "x/snapshot.txt")
        made.add(kept, "x/more.txt")
    data = (tmp_path / "whole.tar").read_bytes()
    (tmp_path / "torn.tar").write_bytes(data[: len(data) // 4 + 700])
    ended = asct("system-info", "--from", "torn.tar")
    assert (ended.code, "E921" in ended.err, "flag59" in ended.out) == (0, True, True)
    assert asct("system-info", "--from", "torn.tar", "-q").err == ""
    for command in ("system-info", "network-info", "cmn"):
        ended = asct(command, "--from", "torn.tar", "--json", "-o", f"out-{command}")
        [note] = ended.document["notes"]
        assert "only part of it is readable" in note
    assert "E921" not in asct("system-info", "--from", "torn.tar", "--json").err
    assert asct("system-info", "--from", "whole.tar", "--json").document["notes"] == []
    again = asct("system-info", "--from", "out-system-info/report.json")
    assert "E921" in again.err and again.err.count("only part of it is readable") == 1
    both = compared(asct, tmp_path / "whole.tar", tmp_path / "torn.tar", "--json").document
    assert (both["other"]["notes"], both["base"]["notes"]) == ([note], [])


def compared(asct: Asct, base: Path, other: Path, *more: str) -> Any:
    return asct("system-info", "--from", str(other), "--compare", str(base), *more)


def test_two_machines_field_by_field(asct: Asct, kept: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "snapshot.txt"
    other.parent.mkdir()
    other.write_text(KEPT.replace("0-3", "0-1").replace("flag7 ", "").replace("\x1b[31m", ""))
    ended = compared(asct, kept, other)
    assert (ended.code, ended.err) == (0, "") and narrow(ended.out)
    assert "cpus: 4 -> 2" in ended.out and "online: 0-3 -> 0-1" in ended.out
    assert "total_bytes" not in ended.out
    document = compared(asct, kept, other, "--json").document
    assert document["schema"] == "asct.facts_comparison/1"
    assert {"field": "cpu.cpus", "base": 4, "other": 2, "moves": False} in document["differences"]
    rows = list(csv.DictReader(io.StringIO(compared(asct, kept, other, "--format", "csv", "-o", "out").out)))
    assert {"field": "cpu.cpus", "base": "4", "other": "2", "moves": "False"} in rows
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["system_info.csv"]
    assert "0 differences" in " ".join(compared(asct, kept, kept).out.split())


def test_a_run_as_the_base(asct: Asct, plan_file: Path, tmp_path: Path) -> None:
    """The host of the run is used, and the changes since the run are shown."""
    assert asct("apply", str(plan_file), "--results", "results", "-q").code == 0
    [run] = [path.parent for path in (tmp_path / "results").glob("small/2*/run.json")]
    assert [path.name for path in (run / "facts" / "local").iterdir()] == ["snapshot.txt"]
    ended = asct("system-info", "--compare", str(run))
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("local (20") and "total_bytes" not in ended.out
    facts = json.loads((run / "facts" / "local.json").read_text())
    again = asct("system-info", "--from", str(run / "facts" / "local"), "--json").document
    assert again == facts
    for place in (run, run / "run.json", run / "facts" / "local.json"):
        assert asct("system-info", "--from", str(place), "--json").document == facts
    ended = asct("system-info", "--from", str(run / "plan.resolved.json"))
    assert (ended.code, ended.out) == (2, "") and "E507" in ended.err


def unprivileged(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run asct under an account without privileges, even if the tests run as root."""
    words = [sys.executable, "-m", "asct", *arguments]
    prefix = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.getuid() == 0 else []
    environment = {**os.environ, "HOME": "/nonexistent", "XDG_CACHE_HOME": "/nonexistent/cache"}
    return subprocess.run([*prefix, *words], capture_output=True, text=True, env=environment, cwd="/", check=False)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["system-info", "-o"], "E912"),
        (["system-info", "--from"], "E920"),
        (["system-info", "--compare"], "E920"),
        (["doctor", "--fix-script", "-o"], "E912"),
        (["run", "noop", "-o"], "E912"),
        (["report"], "E505"),
    ],
)
def test_a_place_that_may_not_be_looked_at_is_named(words: list[str], code: str, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0)
    done = unprivileged(*words, str(locked / "x"))
    assert (done.returncode, done.stdout) == (3 if code == "E912" else 2, ""), done.stderr
    assert code in done.stderr and str(locked / "x") in done.stderr.replace("\n  ", " ")


def test_who_stops_reading_loses_no_file(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    words = [sys.executable, "-m", "asct", "system-info", "--topology", "-o", str(tmp_path / "out")]
    try:
        done = subprocess.run(words, stdout=writer, stderr=writer, check=False)
    finally:
        os.close(writer)
    assert done.returncode == 141
    assert len(list((tmp_path / "out").iterdir())) == 3


def test_a_drawing_goes_somewhere(asct: Asct, kept: Path, tmp_path: Path) -> None:
    for more in (["--json"], ["--format", "csv"], ["--compare", str(kept), "-o", "out"]):
        ended = asct("system-info", "--from", str(kept), "--topology", *more)
        assert (ended.code, "E910" in ended.out + ended.err, "cpus" in ended.out) == (2, True, False)
    assert not (tmp_path / "out").exists()
    ended = asct("system-info", "--from", str(kept), "--topology", "--json", "-o", "out")
    assert ended.document["schema"] == "asct.facts/1"
    assert (tmp_path / "out" / "topology.svg").read_text().startswith("<svg")


def test_without_root_what_needs_it_is_named(tmp_path: Path) -> None:
    """The account has no privileges, even if the tests run as root."""
    if not Path("/sys/class/dmi/id/product_serial").exists() and not Path("/proc/iomem").exists():
        pytest.skip("nothing here is for root alone")
    done = unprivileged("system-info", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["system"]["uid"] not in (None, 0)
    assert any(reason.startswith("needs root") for reason in document["unknown"].values())

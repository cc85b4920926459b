"""`asct cmn` with snapshots, with a synthetic machine that has a mesh, and with this machine, which has none."""

from __future__ import annotations

import csv
import io
import os
import signal
import tarfile
import threading
import time
from pathlib import Path

import pytest

from asct.facts.cmn.discover import REGISTERS
from asct.facts.cmn.kernel_output import register_list
from asct.facts.cmn.mesh import mesh_of_dump
from asct.facts.snapshot import CommandOutput
from asct.store.schemas import validator
from tests.cli.conftest import Asct
from tests.doctor.mesh_stub import cat, meshy, sample, show, text_of
from tests.facts.cmn.machine import IOMEM, laid, machine, mesh_map, pmu
from tests.facts.cmn.shapes import SHAPES

WATCH = cat(text_of([sample(cpu, cpu // 2) for cpu in range(8)]))
"""Two CPUs at each of four ports."""
IOMEM_ONE = {"/proc/iomem": "40000000-4fffffff : ARMHC700:00"}
HARDWARE = SHAPES["CMN-700 3x7"]()


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    place = tmp_path / "cache"
    place.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    return place


def narrow(text: str) -> bool:
    return all(len(line) <= 80 for line in text.splitlines()) and "\x1b" not in text


def test_this_machine_has_none_and_the_exit_code_says_so(asct: Asct, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    ended = asct("cmn", "-o", "out")
    if ended.code == 0:
        pytest.skip("this machine has a coherent mesh")
    assert (ended.code, ended.out) == (3, "")
    assert "E460" in ended.err and "/sys/bus/event_source/devices/arm_cmn*" in " ".join(ended.err.split())
    assert sorted(tmp_path.iterdir()) == before, "nothing is made"
    document = asct("cmn", "--json").document
    assert (
        document["schema"] == "asct.cmn/1" and document["meshes"] == [] and "arm_cmn" in document["unknown"]["meshes"]
    )


def test_a_snapshot_of_two_sockets(asct: Asct, tmp_path: Path) -> None:
    two = machine(pmu(0), pmu(1), mesh_map(width=8, height=8), mesh_map(instance=1), {"/proc/iomem": IOMEM})
    laid(two, tmp_path / "dump")
    ended = asct("cmn", "--from", "dump", "--standard")
    assert ended.code == 0 and ended.err == "" and narrow(ended.out)
    assert "CMN-600 r1p3: 8 x 8 crosspoints (mesh 0, one of 2)" in ended.out
    assert "CMN-600 r1p3: 4 x 4 crosspoints (mesh 1, one of 2)" in ended.out
    assert "nodes           64 HN-F, 12 RN-D, 42 RN-F ports, 16 SBSX, 64 XP" in ended.out
    assert "[63]" in ended.out and "|0 RN-D*2|" in ended.out
    assert "run `asct cmn --detect`" in ended.out
    assert "[63]" not in asct("cmn", "--from", "dump").out, "drawn when asked for"
    with tarfile.open(tmp_path / "dump.tgz", "w:gz") as archive:
        archive.add(tmp_path / "dump", "server")
    assert asct("cmn", "--from", "dump.tgz", "--standard").out == ended.out


def test_a_snapshot_with_registers(asct: Asct, tmp_path: Path) -> None:
    dump = HARDWARE.printed(register_list(mesh_of_dump(HARDWARE.printed(register_list()))), 0x40000000)
    laid(machine(pmu(identifier="43c03"), commands={f"{REGISTERS}0": CommandOutput(0, dump)}), tmp_path / "dump")
    ended = asct("cmn", "--from", "dump", "--verbose")
    assert ended.code == 0 and narrow(ended.out)
    assert "read from       configuration registers" in ended.out and "base address    0x40000000" in ended.out
    assert "XP 0 (0,0), registers at offset" in ended.out
    assert "por_mxp_device_port_connect_info_p0" in ended.out and "device_type_p0" in ended.out
    assert "por_mxp" not in asct("cmn", "--from", "dump").out
    assert "[0] 0x0" in asct("cmn", "--from", "dump", "--standard").out
    document = asct("cmn", "--from", "dump", "--json").document
    assert not list(validator("cmn").iter_errors(document))
    assert document["meshes"][0]["registers"][0]["value"].startswith("0x")


def test_unused_registers_of_a_series_are_one_line(asct: Asct, tmp_path: Path) -> None:
    """A root has 256 pointers to crosspoints, of which a mesh of 2 x 2 uses four. The hardware is synthetic."""
    hardware = SHAPES["CMN-600 2x2"]()
    dump = hardware.printed(register_list(mesh_of_dump(hardware.printed(register_list()))), 0x50000000)
    laid(machine(pmu(), commands={f"{REGISTERS}0": CommandOutput(0, dump)}), tmp_path / "dump")
    ended = asct("cmn", "--from", "dump", "--verbose")
    lines = [line.strip() for line in ended.out.splitlines()]
    assert narrow(ended.out)
    last = hardware.root.children[3]
    assert f"por_cfgm_child_pointer_3 (0x0118, RO) = {last:#x}, 0x0 after reset" in lines
    assert "por_cfgm_child_pointer_4 to por_cfgm_child_pointer_255 (0x0120 to 0x08f8) =" in lines
    at = lines.index("por_dtm_pmu_config (0x2210, RW) = 0x0")
    assert lines[at + 1] == "por_dtm_pmevcnt (0x2220, RW) = 0x0", "fields of an unused register are left out"
    assert any(line.split()[1:2] == ["device_type_p0"] for line in lines)
    document = asct("cmn", "--from", "dump", "--json").document
    pointers = [one for one in document["meshes"][0]["registers"] if "cfgm_child_pointer" in one["name"]]
    assert len(pointers) == 256


def test_the_schema_of_the_document(asct: Asct) -> None:
    assert asct("schema", "cmn").document["title"] == "asct.cmn/1"


def test_what_the_formats_print_and_write(asct: Asct, tmp_path: Path) -> None:
    laid(machine(pmu(), mesh_map()), tmp_path / "dump")
    ended = asct("cmn", "--from", "dump", "--format", "csv", "-o", "out")
    rows = list(csv.DictReader(io.StringIO(ended.out)))
    assert {row["record"] for row in rows} == {"mesh", "count", "crosspoint", "port", "node"}
    assert [row["value"] for row in rows if (row["record"], row["name"]) == ("count", "HN-F")] == ["16"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["cmn.csv"]
    assert (tmp_path / "out/cmn.csv").read_text() == ended.out
    assert asct("cmn", "--from", "dump", "-o", "both").code == 0
    assert sorted(path.name for path in (tmp_path / "both").iterdir()) == ["cmn.csv", "report.json"]
    as_json = asct("cmn", "--from", "dump", "--format", "json")
    assert as_json.document == asct("cmn", "--from", "dump", "--json").document
    refused = asct("cmn", "--from", "dump", "-o", "out")
    assert refused.code == 2 and "E911" in refused.err and refused.out == ""
    assert asct("cmn", "--from", "dump", "-o", "out", "--force").code == 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--from", "nowhere"), 2),
        (("--from", ".", "--detect"), 2),
        (("--from", ".", "--host", "h"), 2),
        (("--from", ".", "--sudo"), 2),
        (("--host", "a b"), 2),
        (("--format", "xml"), 2),
    ],
)
def test_wrong_usage(asct: Asct, arguments: tuple[str, ...], code: int) -> None:
    ended = asct("cmn", *arguments)
    assert (ended.code, ended.out) == (code, "")


def test_root_reads_the_registers(asct: Asct, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = tmp_path / "arguments"
    body = f'echo "$*" >>{seen}\n' + cat(HARDWARE.printed(register_list(), 0x40000000))
    show(monkeypatch, meshy(IOMEM_ONE), {"cmn": body})
    ended = asct("cmn")
    assert ended.code == 0 and "read from       configuration registers" in ended.out and ended.err == ""
    assert "CMN-700" in ended.out and "3 x 7 crosspoints" in ended.out
    (call,) = seen.read_text().splitlines()
    assert call.startswith("--base 1073741824 --size 268435456 --root 0 --registers ")
    asct("cmn", "-v")
    assert len(seen.read_text().splitlines()) == 3, "all registers are read once it is known which there are"


def test_registers_that_are_refused_leave_the_map(asct: Asct, monkeypatch: pytest.MonkeyPatch) -> None:
    body = "echo 'cmn: /dev/mem refuses it: CONFIG_STRICT_DEVMEM' >&2; exit 3\n"
    show(monkeypatch, meshy(IOMEM_ONE), {"cmn": body})
    ended = asct("cmn")
    assert ended.code == 0 and "read from       arm_cmn driver map (debugfs)" in ended.out
    assert "warning[E461]" in ended.err and "/dev/mem refuses it: CONFIG_STRICT_DEVMEM" in " ".join(ended.err.split())
    assert asct("cmn", "--json").document["meshes"][0]["unknown"]["registers"].startswith("/dev/mem refuses it")


def test_another_account_is_told_what_root_would_see(asct: Asct, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = machine(
        pmu(), {"/proc/iomem": "00000000-00000000 : ARMHC600:00"}, commands={"id": CommandOutput(0, "1000")}
    )
    show(monkeypatch, snapshot, {})
    ended = asct("cmn")
    assert ended.code == 0 and ended.out.startswith("CMN-600 r1p3\n  read from       arm_cmn driver PMU")
    assert "E461" in ended.err and "--sudo" in ended.err


def test_sudo_shows_what_only_root_may_read(asct: Asct, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [{"t": "sample", "path": path, "text": text} for path, whole in (mesh_map() | IOMEM_ONE).items()
             for text in whole.split("\n")]  # fmt: skip
    kernels = {"cmnwatch": cat(text_of(lines)), "cmn": cat(HARDWARE.printed(register_list(), 0x40000000))}
    snapshot = machine(
        pmu(), {"/proc/iomem": "00000000-00000000 : ARMHC700:00"}, commands={"id": CommandOutput(0, "1000")}
    )
    show(monkeypatch, snapshot, kernels)
    ended = asct("cmn", "--sudo")
    assert ended.code == 0 and ended.err == ""
    assert "read from       configuration registers" in ended.out and "base address    0x40000000" in ended.out


def test_cpus_are_detected_kept_and_shown_again(asct: Asct, monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    show(monkeypatch, meshy(), {"cmnwatch": WATCH})
    ended = asct("cmn", "--detect")
    assert ended.code == 0 and narrow(ended.out)
    assert "loading 8 CPUs one after another, watching 6 mesh ports" in ended.err and "8 of 8 CPUs located" in ended.err
    assert "  CPUs by crosspoint (north at the top):" in ended.out
    grid = [line.split() for line in ended.out.splitlines() if "(" in line and ")" in line and "CPUs" not in line]
    assert ["1", "()", "(4-5)", "(6-7)", "()"] in grid and ["0", "()", "(0-1)", "(2-3)", "()"] in grid
    (kept,) = (own_cache / "asct").glob("cmn-cpus-*.json")
    assert kept.name == "cmn-cpus-meshy.json"
    again = meshy(commands={"cmn-cpus": CommandOutput(0, kept.read_text())})
    show(monkeypatch, again, {})
    later = asct("cmn")
    assert later.out == ended.out, "and nothing had to be run for it"


def test_cpus_that_are_not_clear_are_watched_once_more_and_longer(
    asct: Asct, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = cat(text_of([sample(cpu, 1 if cpu < 6 else None) for cpu in range(8)]))
    second = cat(text_of([sample(6, 2), sample(7, None)]))
    calls = tmp_path / "calls"
    body = f'echo "$*" >>{calls}\nif [ "$(wc -l <{calls})" = 1 ]; then {first}else {second}fi\n'
    show(monkeypatch, meshy(), {"cmnwatch": body})
    document = asct("cmn", "--detect", "--json").document
    short, long = calls.read_text().splitlines()
    assert "--cpus 0,1,2,3,4,5,6,7 --window-us 10000" in short and "--cpus 6,7 --window-us 50000" in long
    (mesh,) = document["meshes"]
    assert mesh["cpus"]["6"]["x"] == 1 and mesh["cpus"]["6"]["y"] == 1 and mesh["cpus"]["7"] is None
    assert "no port showed load from this CPU" in mesh["unknown"]["cpus.7"]


UNDETECTABLE = {
    "no driver": (machine(mesh_map()), WATCH, "it has no PMU"),
    "no map": (machine(pmu()), WATCH, "no known port has an RN-F"),
    "no right": (meshy(), "echo 'cmnwatch: this account may not count' >&2; exit 3\n", "this account may not count"),
    "refused": (
        meshy(),
        cat(text_of([{"t": "sample", "event": 0, "error": "Invalid argument"}, sample(0, None)])),
        "the driver refuses watchpoints (Invalid argument)",
    ),
}


@pytest.mark.parametrize("case", UNDETECTABLE)
def test_what_cannot_be_detected_ends_with_3(case: str, asct: Asct, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot, body, why = UNDETECTABLE[case]
    show(monkeypatch, snapshot, {"cmnwatch": body})
    ended = asct("cmn", "--detect")
    assert ended.code == 3 and "E462" in ended.err and why in " ".join(ended.err.split())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_detection_can_be_stopped_and_keeps_what_is_known(
    asct: Asct, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own_cache: Path, number: signal.Signals
) -> None:
    begun = tmp_path / "begun"
    whole = text_of([sample(0, 0), sample(1, 0)]).splitlines(keepends=True)
    body = cat("".join(whole[:-1])) + f"touch {begun}\nexec sleep 300\n"
    show(monkeypatch, meshy(), {"cmnwatch": body})

    def stop() -> None:
        while not begun.exists():
            time.sleep(0.02)
        time.sleep(0.5)
        os.kill(os.getpid(), number)

    stopper = threading.Thread(target=stop)
    stopper.start()
    ended = asct("cmn", "--detect")
    stopper.join()
    assert ended.code == 128 + number
    assert "2 of 8 CPUs located before detection was stopped" in ended.err
    assert "(0-1)" in ended.out and "detection was stopped after 2 of 8 CPUs" in " ".join(ended.out.split())
    assert [path.name for path in (own_cache / "asct").glob("cmn-cpus-*")] == ["cmn-cpus-meshy.json"]

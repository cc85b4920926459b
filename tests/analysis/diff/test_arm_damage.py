"""Folders of Arm's ASCT that are damaged or incomplete, that contain something else, or that have a version unknown to
asct."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from asct.analysis.diff.arm_asct import read_arm_asct
from asct.analysis.diff.source import DiffSource
from asct.errors import StoreError
from asct.registry import installed
from tests.analysis.diff.arm_folders import RESULTS, folder_05, folder_06, metadata, table, write_result

MATRIX = {"idle-latency": RESULTS["idle-latency"]}


def read(folder: Path) -> DiffSource:
    return read_arm_asct(folder, installed())


def failure(folder: Path) -> str:
    """Return the code and the message of the error that reading the folder raises. The error must have a hint."""
    with pytest.raises(StoreError) as caught:
        read(folder)
    [found] = caught.value.diagnostics
    assert found.hint or found.code == "E508"
    assert caught.value.exit_code == 3
    return found.cause


def notes(source: DiffSource) -> list[str]:
    assert {(note.code, note.severity) for note in source.notes} <= {("E532", "warning")}
    return [note.message for note in source.notes]


def with_manifest(folder: Path, content: Any) -> Path:
    (folder / "asct.json").write_text(json.dumps(content))
    return folder


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "E508"), ('{"metadata": {', "E508"), ("[]", "E507"), ("{}", "E530"), ('{"metadata": 3}', "E530"),
        ('{"raw": {}, "diff": {}}', "E531"), ("[" * 100_000, "E508"), ('{"diff": 3}', "E530"),
    ],
)  # fmt: skip
def test_a_damaged_or_foreign_manifest(tmp_path: Path, text: str, code: str) -> None:
    (tmp_path / "asct.json").write_text(text)
    assert failure(tmp_path).startswith(f"{code} {tmp_path}/asct.json: ")


@pytest.mark.parametrize("version", ["0.4.1", "0.3", "0.0.9"])
def test_an_older_version(tmp_path: Path, version: str) -> None:
    assert f"E531 {tmp_path}/asct.json: ASCT {version} is too old" in failure(folder_06(tmp_path, MATRIX, version))


@pytest.mark.parametrize("version", ["0.7.0", "0.10", "1.0", "99999.1"])
def test_a_newer_version(tmp_path: Path, version: str) -> None:
    assert f"E531 {tmp_path}/asct.json: ASCT {version} is too new" in failure(folder_06(tmp_path, MATRIX, version))


@pytest.mark.parametrize("version", [None, "", "six", 0.6, "0.6\x1b[31m", "0." + "9" * 5000])
def test_something_else_than_a_version(tmp_path: Path, version: Any) -> None:
    text = failure(with_manifest(folder_06(tmp_path, MATRIX), {"metadata": metadata(version, [])}))
    assert "is not a version of ASCT" in text
    assert text.isprintable() and len(text) < 300


@pytest.mark.parametrize("version", ["0.6", "0.6.0.post", "0.5.1", "0.6.0+editable.b154756", "0.6.0-rc1"])
def test_versions_with_a_suffix(tmp_path: Path, version: str) -> None:
    source = read(folder_06(tmp_path, MATRIX, version))
    assert (source.version, len(source.records)) == (version, 4)


@pytest.mark.parametrize("file", ["data.json", "metadata.json", "summary.json"])
@pytest.mark.parametrize(("text", "code"), [('{"sweep_data": {"siz', "E508"), ("[1]", "E507"), ("\xff", "E508")])
def test_a_damaged_file_of_a_recipe(tmp_path: Path, file: str, text: str, code: str) -> None:
    folder = folder_06(tmp_path, {"latency-sweep": RESULTS["latency-sweep"]})
    (folder / "raw/latency-sweep" / file).write_bytes(text.encode("latin-1"))
    assert failure(folder).startswith(f"{code} {folder}/raw/latency-sweep/{file}: ")


def corrupt(folder: Path, name: str, change: Callable[[Any], Any]) -> Path:
    """Change the data of a recipe, and adapt its checksum."""
    write_result(folder, name, change(json.loads((folder / f"raw/{name}/data.json").read_text())))
    return folder


@pytest.mark.parametrize("cell", ["fast", True, [1], {}])
def test_a_cell_that_is_not_a_number(tmp_path: Path, cell: Any) -> None:
    folder = corrupt(folder_06(tmp_path, MATRIX), "idle-latency", lambda data: {**data, "Node 1": {"Node 0": cell}})
    text = failure(folder)
    assert text.startswith(f"E530 {folder}/raw/idle-latency/data.json: row `Node 0`, column `Node 1`: ")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("idle-latency", {"Socket 0": {"Node 0": 1.0}}),
        ("idle-latency", {"Node 0": [1.0]}),
        ("loaded-latency", table(("Injected NOPs", "Loaded latency [ns]"), (0.5, 100.0))),
        ("peak-bandwidth", table(("Traffic type", "Peak BW [GB/s]"), (7, 100.0))),
        ("storage-request-size-sweep", {"Thruput (kops)": {"4Q": 1.0}}),
        ("storage-io-depth-sweep", {"Thruput (kops)": {"4K": 1.0}}),
        ("latency-sweep", {"sweep_data": [1]}),
        ("latency-sweep", {"sweep_data": {"sizes": {"0": "128"}}}),
        ("c2c-latency", table(("CPUA", "CPUB", "CPUA_NODE", "MEMBIND_NODE", "LATENCY"), (0, 1, 0, "local", 1.0))),
    ],
)
def test_content_that_asct_does_not_write(tmp_path: Path, name: str, data: Any) -> None:
    assert failure(folder_06(tmp_path, {name: data})).startswith(f"E530 {tmp_path}/raw/{name}/data.json: ")


@pytest.mark.parametrize("cell", ["NaN", "Infinity", "-Infinity", "null", "1e999", "1e308", "1" + "0" * 400])
def test_a_cell_without_a_value_is_counted(tmp_path: Path, cell: str) -> None:
    folder = folder_06(tmp_path, MATRIX)
    path = folder / "raw/idle-latency/data.json"
    path.write_text(path.read_text().replace("250.0", cell))
    (path.parent / ".hash").unlink()
    source = read(folder)
    assert len(source.records) == 3
    assert notes(source) == [f"{folder}: raw/idle-latency/data.json: 1 cell has no value"]


def test_a_recipe_without_a_result_is_a_gap(tmp_path: Path) -> None:
    folder = folder_06(tmp_path, MATRIX)
    manifest = {"metadata": metadata("0.6.0", ["idle-latency", "peak-bandwidth", "c2c-latency"])}
    with_manifest(folder, manifest)
    (folder / "raw/c2c-latency/pmu_data").mkdir(parents=True)
    source = read(folder)
    assert source.gaps == ("has no results for peak-bandwidth, c2c-latency",)
    assert len(source.records) == 4


def test_a_folder_without_results(tmp_path: Path) -> None:
    source = read(with_manifest(tmp_path, {"metadata": metadata("0.6.0", [])}))
    assert (source.records, source.gaps, source.machines) == ((), (), {})


def test_sample_data_is_a_gap(tmp_path: Path) -> None:
    source = read(folder_06(tmp_path, MATRIX, cmd_arguments={"dev_mode": "True"}))
    assert "--dev-mode" in source.gaps[0]


def test_recipes_that_are_not_compared_are_listed(tmp_path: Path) -> None:
    folder = folder_06(tmp_path, MATRIX)
    for name in ("cmn", "network-info", "quantum-sweep", "lev\x1b[31mel"):
        (folder / "raw" / name).mkdir()
        (folder / "raw" / name / "data.json").write_text("{}")
    unknown, other = notes(read(folder))
    assert "quantum-sweep" in unknown and unknown.isprintable()
    assert "registers (cmn), network interfaces (network-info)" in other


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    folder = folder_06(tmp_path, MATRIX)
    path = folder / "raw/idle-latency/data.json"
    path.write_text(path.read_text().replace("250.0", "25.0"))
    source = read(folder)
    assert len(source.records) == 4
    assert "do not match .hash" in notes(source)[0]


@pytest.mark.parametrize("link", ["raw", "raw/idle-latency", "raw/idle-latency/data.json", "asct.json", "report.json"])
def test_a_link_out_of_the_folder_is_refused(tmp_path: Path, link: str) -> None:
    folder = folder_06(tmp_path / "run", MATRIX)
    (folder / "report.json").write_text("{}")
    outside = tmp_path / "outside"
    (folder / link).rename(outside)
    (folder / link).symlink_to(outside)
    assert failure(folder).startswith(f"E510 `{link}")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_something_that_is_not_a_file(tmp_path: Path, make: Callable[[Path], None]) -> None:
    folder = folder_06(tmp_path, MATRIX)
    (folder / "raw/idle-latency/data.json").unlink()
    make(folder / "raw/idle-latency/data.json")
    assert failure(folder).startswith("E508 ")


def test_a_file_in_place_of_the_raw_folder(tmp_path: Path) -> None:
    folder = folder_06(tmp_path, {})
    (folder / "raw").write_text("")
    assert failure(folder) == f"E530 {folder}/raw: this is not a folder"


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    folder = folder_06(tmp_path, MATRIX)
    with (folder / "raw/idle-latency/data.json").open("r+b") as file:
        file.truncate(300 << 20)
    assert "is larger than 256 MiB" in failure(folder)


@pytest.mark.parametrize("raw", [3, {"idle-latency": 3}, {"latency-sweep": "{"}, {"latency-sweep": "[]"}])
def test_damaged_results_of_the_oldest_layout(tmp_path: Path, raw: Any) -> None:
    folder = folder_05(tmp_path / "run", MATRIX)
    with_manifest(folder, {"diff": {"metadata.version": "0.5.0"}, "raw": raw})
    assert failure(folder).partition(" ")[0] in ("E507", "E508", "E530")


def test_reading_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = folder_06(tmp_path / "run")
    before = sorted(tmp_path.rglob("*"))
    read(folder)
    assert sorted(tmp_path.rglob("*")) == before

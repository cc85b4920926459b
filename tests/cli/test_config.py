"""`asct config`: the saved settings are accepted again and used in a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from asct.cli.app import run


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_saved_settings_are_accepted_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "save"]) == 0
    saved = json.loads(Path("config.json").read_text())
    assert saved["storage-io-depth-sweep"]["duration"] == "1m"
    assert saved["storage-io-depth-sweep"]["block_size"] == "4K"
    assert "max_size" not in saved["latency-sweep"]  # automatic settings have no value to write
    assert run(["config", "check"]) == 0
    assert "config.json: ok" in capsys.readouterr().out
    assert run(["run", "all", "--config-file", "config.json", "--dry-run"]) == 0


@pytest.mark.parametrize("words", [["save", "ls", "--force"], ["check"]])
def test_json_names_the_file_and_its_benchmarks(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("config.json").write_text('{"latency-sweep": {"visits": 3}}')
    assert run(["config", *words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == {"schema": "asct.config/1", "file": "config.json", "benchmarks": ["latency-sweep"]}


def test_a_file_is_not_written_over_without_force() -> None:
    Path("config.json").write_text("mine")
    assert run(["config", "save"]) == 2
    assert Path("config.json").read_text() == "mine"
    assert run(["config", "save", "ls", "--force"]) == 0
    assert list(json.loads(Path("config.json").read_text())) == ["latency-sweep"]


@pytest.mark.parametrize(
    "content", ['{"sids": {"durration": "2s"}}', '{"sids": {"block_size": "4k"}}', '{"nosuch": {}}', "[", "[]"]
)
def test_check_finds_what_is_wrong(content: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("config.json").write_text(content)
    assert run(["config", "check"]) == 2
    assert "error[" in capsys.readouterr().err

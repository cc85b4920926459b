"""`asct run`: choosing benchmarks and reading settings as users of ASCT write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from asct.cli import adhoc
from asct.errors import UsageError
from asct.registry import installed


def names(*words: str) -> list[str]:
    return [item.name for item in adhoc.select(words, installed().all())]


def test_nothing_means_the_default_set() -> None:
    expected = [item.name for item in installed().all() if item.default]
    assert names() == names("default") == expected
    assert "latency-sweep" in expected


def test_names_aliases_and_keywords_select_each_once() -> None:
    assert names("sids", "storage-io-depth-sweep") == ["storage-io-depth-sweep"]
    assert "storage-io-depth-sweep" in names("storage")
    assert "latency-sweep" in names("memory")


def test_a_caret_excludes_by_name_alias_or_keyword() -> None:
    assert "storage-io-depth-sweep" not in names("all", "^storage")
    assert "latency-sweep" not in names("all", "^ls")


def test_hidden_benchmarks_are_chosen_by_name_alone() -> None:
    assert "noop" not in names("all")
    assert names("noop") == ["noop"]


def test_an_unknown_word_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(UsageError) as caught:
        names("latnecy-sweep", "^storrage")
    assert [item.hint for item in caught.value.diagnostics] == [
        "did you mean `latency-sweep`?",
        "did you mean `storage`?",
    ]


def test_a_selection_of_nothing_is_an_error() -> None:
    with pytest.raises(UsageError, match="no benchmark matches"):
        names("ls", "^memory")


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("sids.iodepth_sweep_steps=4,5,6,7,8", "iodepth_sweep_steps", [4, 5, 6, 7, 8]),
        ("sids.iodepth_sweep_steps=1,4-8:2", "iodepth_sweep_steps", [1, 4, 6, 8]),
        ("sids.create_temp_file=1", "create_temp_file", True),
        ("sids.create_temp_file", "create_temp_file", True),
        ("sids.direct=no", "direct", False),
        ("sids.duration=0.25", "duration", "0.25s"),
        ("sids.runtime=2s", "runtime", "2s"),
        ("sids.rwmixread=20", "rwmixread", 20),
        ("sids.filesize=512M", "filesize", "512M"),
    ],
)
def test_values_follow_the_type_of_the_setting(text: str, name: str, value: object) -> None:
    assert adhoc.user_settings([text], installed()) == {"storage-io-depth-sweep": {name: value}}


@pytest.mark.parametrize("text", ["sidz.duration=2s", "duration=2s", "sids.=2", "=", "sids"])
def test_a_setting_of_no_benchmark_is_an_error(text: str) -> None:
    with pytest.raises(UsageError, match="does not name a setting"):
        adhoc.user_settings([text], installed())


def test_a_settings_file_as_asct_saves_it(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"sids": {"duration": 0.5, "iodepth_sweep_steps": [1, 2]}}))
    found = adhoc.file_settings(str(file), installed())
    assert found == {"storage-io-depth-sweep": {"duration": "0.5s", "iodepth_sweep_steps": [1, 2]}}


@pytest.mark.parametrize("text", ["{", "[]", '{"sids": 1}', '{"nosuch": {}}'])
def test_a_broken_settings_file_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.json"
    file.write_text(text)
    with pytest.raises(UsageError):
        adhoc.file_settings(str(file), installed())

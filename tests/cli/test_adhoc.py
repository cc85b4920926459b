"""`asct run`: choosing benchmarks and reading settings as users of ASCT write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from asct.cli import adhoc
from asct.errors import UsageError
from asct.registry import installed
from tests.cli.conftest import Asct


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
    assert adhoc.plain(adhoc.user_settings([text], installed())) == {"storage-io-depth-sweep": {name: value}}


@pytest.mark.parametrize("text", ["sidz.duration=2s", "duration=2s", "sids.=2", "=", "sids"])
def test_a_setting_of_no_benchmark_is_an_error(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not a benchmark|does not name a setting") as caught:
        adhoc.user_settings(["sids.duration=2s", text], installed())
    (problem,) = caught.value.diagnostics
    assert problem.span is not None
    assert (problem.span.file, problem.span.line, problem.span.column) == ("--user-config", 2, 1)


def test_every_error_points_into_the_text_of_its_option(asct: Asct, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"sids": {"iodepth_sweep_steps": [1, 0],\n "rw": "read2"}, "saps": {"foo": 1}}')
    settings = ["--user-config", "sids.block_size=4k", "saps.access_pattern_sweep_steps=read,raed"]
    found = asct("run", "sids", "saps", "--config-file", str(file), *settings, "--dry-run", "--json")
    items = [json.loads(line) for line in found.out.splitlines()]
    places = {(item["file"], item["line"], item["column"]) for item in items}
    assert found.code == 2
    assert places == {
        (str(file), 1, 38), (str(file), 2, 8), (str(file), 2, 27), ("--user-config", 1, 17), ("--user-config", 2, 38),
    }  # fmt: skip


def test_an_unknown_word_is_shown_in_the_command(asct: Asct) -> None:
    error = asct("run", "sids", "nosuch").err
    assert "asct run:1:15" in error
    assert "asct run sids nosuch" in error


def test_a_settings_file_as_asct_saves_it(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"sids": {"duration": 0.5, "iodepth_sweep_steps": [1, 2]}}))
    found = adhoc.plain(adhoc.file_settings(str(file), installed(), {}))
    assert found == {"storage-io-depth-sweep": {"duration": "0.5s", "iodepth_sweep_steps": [1, 2]}}


@pytest.mark.parametrize("text", ["{", "[]", '{"sids": 1}', '{"nosuch": {}}'])
def test_a_broken_settings_file_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.json"
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        adhoc.file_settings(str(file), installed(), {})
    assert caught.value.diagnostics[0].span is not None
    assert caught.value.diagnostics[0].span.file == str(file)

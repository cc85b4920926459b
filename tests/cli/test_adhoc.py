"""`asct run`: benchmarks are selected and settings are read in the notation that ASCT users know."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from asct.cli import adhoc
from asct.cli.places import words_text
from asct.diagnostics.model import Diagnostic
from asct.plan.findings import Findings
from asct.planner.keywords import chosen_by
from asct.registry import installed
from tests.cli.conftest import Asct


def names(*words: str) -> list[str]:
    findings = Findings()
    chosen = chosen_by(words_text(words)[1], installed().infos, findings)
    findings.require()
    return [item.info.name for item in chosen]


def problems(*words: str) -> tuple[Diagnostic, ...]:
    findings = Findings()
    chosen_by(words_text(words)[1], installed().infos, findings)
    return findings.all()


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
    assert [item.hint for item in problems("latnecy-sweep", "^storrage")] == [
        "did you mean `latency-sweep`?",
        "did you mean `storage`?",
    ]


def test_a_selection_of_nothing_is_an_error() -> None:
    assert [item.message for item in problems("ls", "^memory")] == ["no benchmark matches `ls ^memory`"]


def test_the_preview_says_which_words_selected_a_benchmark(asct: Asct) -> None:
    def reasons(*words: str) -> dict[str, str]:
        jobs = asct("run", *words, "--dry-run", "--json").document["hosts"][0]["jobs"]
        return {job["id"]: job["reason"] for job in jobs}

    found = reasons("sids", "storage", "peak-bandwidth")
    assert found["storage-io-depth-sweep"] == "selected by `sids`, `storage`"
    assert found["storage-access-pattern-sweep"] == "selected by `storage`"
    assert found["latency-sweep"] == "needed by peak-bandwidth"
    assert reasons()["latency-sweep"] == "selected by default"


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
        ("sids.durtion=20", "durtion", "20s"),
        ("sids.rwmixread=20", "rwmixread", 20),
        ("sids.filesize=512M", "filesize", "512M"),
    ],
)
def test_values_follow_the_type_of_the_setting(text: str, name: str, value: object) -> None:
    found = adhoc.user_settings([text], installed(), Findings())
    assert adhoc.plain(found) == {"storage-io-depth-sweep": {name: value}}


@pytest.mark.parametrize("text", ["sidz.duration=2s", "duration=2s", "sids.=2", "=", "sids"])
def test_a_setting_of_no_benchmark_is_an_error(text: str) -> None:
    findings = Findings()
    adhoc.user_settings(["sids.duration=2s", text], installed(), findings)
    (problem,) = findings.all()
    said = ("is not a benchmark", "does not name a setting", "is a setting; the name of its benchmark is missing")
    assert any(words in problem.message for words in said)
    assert problem.span is not None
    assert (problem.span.file, problem.span.line, problem.span.column) == ("--user-config", 2, 1)


def test_the_value_of_a_misspelled_setting_is_read_like_that_of_the_setting(asct: Asct, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"saps": {"durtion": 20}}')
    more = [
        "--config-file",
        str(file),
        "--user-config",
        "sids.durtion=20",
        "--user-config",
        "sids.iodepth_sep_steps=1,2",
    ]
    found = asct("run", "sids", "saps", *more, "--dry-run", "--json")
    assert [json.loads(line)["code"] for line in found.out.splitlines()] == ["E202"] * 3


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
    found = adhoc.plain(adhoc.file_settings(str(file), installed(), {}, Findings()))
    assert found == {"storage-io-depth-sweep": {"duration": "0.5s", "iodepth_sweep_steps": [1, 2]}}


@pytest.mark.parametrize("text", ["{", "[]", '{"sids": 1}', '{"nosuch": {}}'])
def test_a_broken_settings_file_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.json"
    file.write_text(text)
    findings = Findings()
    adhoc.file_settings(str(file), installed(), {}, findings)
    (problem,) = findings.all()
    assert problem.span is not None and problem.span.file == str(file)


SETTINGS_FILE = """{
 "sids": {"iodepth_sweep_steps": [1, 0]},
 "sapz": {"rwmixread": 20},
 "sfio": 7,
 "ls": {"seed": 1}
}"""
"""Four mistakes: a wrong value, a wrong name, a wrong type, and a benchmark that is not selected."""

MISTAKES = [
    ("nosuch",), ("^memmory",), ("sids.block_size=4k",), ("sids.rw=raed",), ("sids.durration=2s",), ("sids.=1",),
    ("sidz.rwmixread=2x",), ("gibberish.x=1",), ("saps.rwmixread=200",), ("--config-file", "c.json"),
    ("--host", "two words"), ("--destroys", "local"), ("--destroys", "local:/dev/sda:S1"), ("-o", "file"),
]  # fmt: skip
"""Arguments of `asct run`, each with at least one mistake."""


@pytest.mark.parametrize("chosen", [MISTAKES, MISTAKES[1:], MISTAKES[::2], MISTAKES[1::2]])
def test_all_mistakes_are_reported_at_once(asct: Asct, tmp_path: Path, chosen: list[tuple[str, ...]]) -> None:
    def found(*mistakes: tuple[str, ...]) -> set[tuple[str, str]]:
        ended = asct("run", "sids", "--json", *(word for words in mistakes for word in words))
        assert ended.code == 2, ended.err
        items = [json.loads(line) for line in ended.out.splitlines()]
        assert all(item["hint"] for item in items)
        return {(item["code"], item["message"]) for item in items}

    (tmp_path / "c.json").write_text(SETTINGS_FILE)
    (tmp_path / "file").touch()
    alone = {error for mistake in chosen for error in found(mistake)}
    if ("nosuch",) in chosen:  # it may be the benchmark that is missing from the selection
        alone = {(code, message) for code, message in alone if "not selected" not in message}
    assert found(*chosen) == alone


def test_an_unknown_benchmark_in_a_settings_file_has_a_hint_for_files(asct: Asct, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"gibberish": {"x": 1}}')
    ended = asct("run", "sids", "--config-file", "c.json", "--dry-run")
    assert ended.code == 2 and "`gibberish` is not a benchmark" in ended.err
    assert "write a map of benchmarks" in ended.err and "BENCHMARK.SETTING" not in ended.err


def test_a_mistake_in_a_consent_does_not_make_it_missing(asct: Asct) -> None:
    settings = ("sfio.file_names=/dev/loop7", "sfio.rw=randwrite")
    ended = asct("run", "sfio", "--destroys", "local:/dev/loop7", "--user-config", *settings)
    assert ended.code == 2 and "HOST:DEVICE:SERIAL" in ended.err and "E251" not in ended.err


def test_a_consent_for_a_loop_device_can_be_given_as_the_hint_says(asct: Asct) -> None:
    settings = ("--user-config", "sfio.file_names=/dev/loop7", "--user-config", "sfio.rw=randwrite")
    ended = asct("run", "sfio", "--dry-run", "--json", *settings)
    (problem,) = (json.loads(line) for line in ended.out.splitlines())
    suggested = "`--destroys local:/dev/loop7:BACKING_FILE`"
    assert problem["code"] == "E251" and suggested in problem["hint"]
    consent = suggested.strip("`").replace("BACKING_FILE", "/var/disk.img").split()
    ended = asct("run", "sfio", "--dry-run", *settings, *consent)
    assert ended.code == 0, ended.err

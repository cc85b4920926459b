"""Usage errors state their cause and a remedy, options can also come from the environment, and a closed pipe causes no
error message."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Asct


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["aply", "x"], "no such command `aply`", "did you mean `apply`?"),
        (["results", "lst"], "no such command `lst`", "did you mean `list`?"),
        (["apply", "--fork", "2", "x"], "no such option `--fork`", "`--forks`"),
        (["apply"], "missing argument", "`asct apply --help`"),
        (["explain", "latncy"], "unknown topic `latncy`", "did you mean `latency`, "),
        (["list", "settings"], "needs a benchmark name", "`asct list`"),
        (["list", "settings", "latency-swep"], "no benchmark named", "did you mean `latency-sweep`?"),
        (["list", "kernels", "chase"], "takes no further argument", "asct list"),
        (["run", "lattency-sweep"], "`lattency-sweep`", "did you mean `latency-sweep`?"),
        (["run", "^all"], "no benchmark matches", "`asct list`"),
        (["run", "ls", "--user-config", "ls.pagez=4k"], "unknown setting `pagez`", "did you mean `pages`?"),
        (["report", "nothing"], "matches `nothing`", "`asct apply PLAN` creates a run"),
        (["results", "show", "nothing"], "matches `nothing`", "`asct apply PLAN` creates a run"),
        (["help", "paln"], "no such command `paln`", "did you mean `plan`?"),
        (["help", "plan", "more"], "`asct plan` has no command `more`", "asct help"),
        (["check", "none.yaml"], "cannot read none.yaml", "check the path"),
        (["schema", "plam"], "invalid value for `kind`: 'plam' is not one of", "did you mean `plan`?"),
        (["apply", "any.yaml", "--label", "latest"], "`latest` cannot be a label", "another name: `golden`"),
        (["apply", "any.yaml", "--label", "x" * 200], "use at most 128 letters", f"write `{'x' * 40}`"),
        (["import", "fio", __file__, "--label", "../up"], "not valid as a folder name", "write `up`"),
        (["completion"], "missing argument `shell`. Choose from: bash, zsh, fish", "asct completion"),
        (["run", "ls", "--user-config", "ls.pages=4k", "ls.cycle_bas"], "unknown setting `cycle_bas`", "`cycle_base`?"),
        (["run", "ls", "--user-config", "ls.pages=5k"], "--user-config:1:10", "one of `auto`"),
        (
            ["run", "sids", "--user-config", "sids.block_size=4k"],
            "4 000 (SI) or 4 096 (fio)?",
            "write `4K` (binary, as in fio) or `4kB` (decimal)",
        ),
        (["run", "noop", "--config-file", "none.json"], "cannot read none.json", "check the path"),
        (["run", "sids", "--iodepth=4"], "no such option `--iodepth`", "write `--user-config BENCHMARK.iodepth=VALUE`"),
        (["apply", "p.yaml", "--block-size", "4K"], "no such option", "write `--set BENCHMARK.block_size=VALUE`"),
        (["system-info", "--host", "bad..host"], "`bad..host` is not a host", "write a host name or an IP address"),
        (["doctor", "--host", "1.2.3.400"], "`1.2.3.400` is not a host", "four numbers from 0 to 255"),
        (["init", "--host", "fe80::1"], "`fe80::1` is not a host", "an IPv6 address in [ ]"),
        (["run", "noop", "--host", "peer:99999"], "`peer:99999` is not a host", "a port from 1 to 65535"),
        (["results", "verify", "/"], "/ is not a run", "`asct results list`"),
    ],
)
def test_wrong_usage_names_cause_and_way_out(asct: Asct, arguments: list[str], message: str, hint: str) -> None:
    ended = asct(*arguments)
    said = " ".join(ended.err.split())
    assert ended.code == 2
    assert ended.out == ""
    assert message in said
    assert hint in said
    assert max(map(len, ended.err.splitlines())) <= 80


def test_each_mistake_of_a_plan_has_a_way_out_and_no_doubled_word(asct: Asct, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(
        "plan: 1\nname: x\nbenchmarks: [ls, {uses: sfio, config: {duration: 30}}, {uses: }]\n"
        "expect: [{metric: ls.latency, min: 2 ns, max: 1 ns}]\n"
    )
    ended = asct("check", "plan.yaml", "--profile", "quick", "--json")
    found = ended.document["diagnostics"]
    assert sorted((item["message"], item["hint"]) for item in found) == [
        ("`duration`: `30` needs a unit", "write `30s`, `30ms` or `30m`"),
        ("`min` is above `max`", "swap or correct them: no value can meet both"),
        ("the id of a benchmark must be text, not nothing", "write a name, or remove the entry"),
        ("the plan has no profile `quick`", "add the profile to `profiles`, or remove `--profile`"),
    ]


def test_a_wrong_option_is_json_under_json(asct: Asct) -> None:
    ended = asct("apply", "--json", "--bad")
    assert ended.code == 2
    assert ended.document["schema"] == "asct.diagnostic/1"
    assert ended.document["code"] == "E910"


def test_a_command_without_memory_says_only_what_helps_there(asct: Asct, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Path) -> None:
        raise MemoryError

    monkeypatch.setattr("asct.store.find.list_runs", fail)
    ended = asct("results", "list", "--json")
    assert (ended.code, ended.document["code"]) == (3, "E916")
    assert ended.document["hint"].endswith("or stop other programs, then run the command again")


def test_a_group_without_a_command_shows_its_help(asct: Asct) -> None:
    ended = asct("results")
    assert ended.code == 2
    assert ended.err.startswith("Usage: asct results")
    assert "verify" in ended.err


@pytest.mark.parametrize("variable", ["ASCT_CHECK_JSON", "ASCT_CHECK_FORMAT"])
def test_options_are_set_by_their_name(
    asct: Asct, plan_file: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "json")
    monkeypatch.setenv("ASCT_CHECK_JSON", "1")
    assert asct("check", str(plan_file)).document["schema"] == "asct.check/1"


def test_options_of_commands_in_groups_and_repeated_ones_are_set(
    asct: Asct, plan_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCT_RESULTS_LIST_RESULTS", "elsewhere")
    assert "no runs in elsewhere/;" in asct("results", "list").err
    assert "no runs in elsewhere/;" in asct("results", "list", "--results", "elsewhere/").err
    monkeypatch.setenv("ASCT_CHECK_TAG", "quick nothing")
    ended = asct("check", str(plan_file))
    assert ended.code == 2
    assert "`--tag nothing` matches nothing" in ended.err


def test_a_wrong_variable_is_named(asct: Asct, plan_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCT_APPLY_FORKS", "many")
    ended = asct("apply", str(plan_file))
    assert ended.code == 2
    assert "ASCT_APPLY_FORKS" in ended.err
    monkeypatch.setenv("ASCT_APPLY_FORKS", "2")
    ended = asct("apply", str(plan_file), "--forks", "none")
    assert ended.code == 2
    assert "ASCT_APPLY_FORKS" not in ended.err


@pytest.mark.parametrize("given", ["5", "1.5"])
def test_a_duration_without_a_unit_is_echoed_as_written(asct: Asct, plan_file: Path, given: str) -> None:
    ended = asct("apply", str(plan_file), "--timeout", given)
    assert ended.code == 2
    assert f"`{given}` needs a unit" in ended.err


@pytest.mark.parametrize("arguments", [["list", "metrics", "sids"], ["schema", "plan"], ["explain", "sids"]])
def test_a_closed_pipe_ends_quietly_and_not_with_the_code_of_a_failed_expectation(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)  # no process will read
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "asct", *arguments], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(writer)
    assert ended.stderr == ""
    assert ended.returncode == 141


def test_the_run_folder_is_refused_before_anything_is_measured(asct: Asct, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("keep")
    ended = asct("run", "noop", "-o", "out")
    assert ended.code == 2
    assert "E911" in ended.err
    assert "--force" in ended.err
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["mine.txt"]
    for words in ((), ("--force",)):
        ended = asct("run", "noop", "-o", "/dev/null", *words)
        assert ended.code == 2
        assert "/dev/null is not a directory" in ended.err


def test_read_only_commands_create_nothing(asct: Asct, plan_file: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    for arguments in (["list"], ["plan", "small.yaml"], ["check", "small.yaml"], ["results", "list"], ["init", "-"]):
        assert asct(*arguments).code == 0
    assert sorted(tmp_path.rglob("*")) == before


def test_a_frozen_plan_needs_its_own_hash(asct: Asct, plan_file: Path) -> None:
    assert asct("plan", "small.yaml", "-o", "frozen.json").code == 0
    refused = asct("apply", "frozen.json", "--approve", "0123456789")
    assert refused.code == 4
    assert "not the approved hash 0123456789" in " ".join(refused.err.split())
    digest = json.loads(Path("frozen.json").read_text())["hash"]
    assert asct("apply", "frozen.json", "--approve", digest[:12], "--dry-run").code == 0


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "\xff", " " * (9 << 20)])
def test_json_files_that_are_none(asct: Asct, tmp_path: Path, text: str) -> None:
    place = tmp_path / "file.json"
    place.write_text(text, encoding="latin-1")
    for arguments in (("run", "noop", "--dry-run", "--config-file", str(place)), ("apply", str(place), "--dry-run")):
        ended = asct(*arguments)
        assert ended.code == 2, ended.err
        assert "file.json" in ended.err

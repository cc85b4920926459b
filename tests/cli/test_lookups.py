"""The output of `list`, `explain`, `schema`, `help`, `version` and `completion`, as text and as JSON."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from asct.plan.keys import plan_keys
from asct.plan.load import PLAN_KEYS
from asct.registry import installed, known_plan_keys
from tests.cli.conftest import Asct

ROOT = Path(__file__).parents[2]
COMPLETED = """\
plan: 1
name: t
vars: {runtime: 2s}
hosts: {left: {transport: local}}
groups: {lab: [left]}
benchmarks: [{id: deep, uses: latency-sweep, tags: [nightly]}]
profiles: {quick: {vars: {runtime: 1s}}}
"""
COMMANDS = ["apply", "check", "completion", "explain", "help", "init", "list", "plan", "report", "results", "run"]


def test_list_shows_one_line_per_benchmark_to_other_programs(asct: Asct, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS")
    lines = asct("list").out.splitlines()
    shown = [item for item in installed().infos if not item.hidden]
    assert len(lines) == 1 + len(shown)
    for item, line in zip(shown, lines[1:], strict=True):
        assert {item.name, *item.aliases, *item.keywords} <= set(line.split())
        assert line.endswith(item.summary)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_list_says_in_narrow_lines_what_each_benchmark_measures(
    asct: Asct, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text = asct("list").out
    assert max(map(len, text.splitlines())) <= width
    said = " ".join(text.split())
    for item in (item for item in installed().infos if not item.hidden):
        assert all(word in said for word in (item.name, *item.aliases, *item.keywords, item.summary))
    assert "* latency-sweep (ls)" in text
    assert "  storage-fio (sfio)" in text
    assert "needs latency-sweep" in said


@pytest.mark.parametrize("what", ["settings", "metrics"])
@pytest.mark.parametrize("benchmark", [item.name for item in installed().all()])
def test_nothing_is_cut_and_80_columns_are_enough(asct: Asct, what: str, benchmark: str) -> None:
    text = asct("list", what, benchmark).out
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    rows = asct("list", what, benchmark, "--json").document[what]
    said = " ".join(text.split())
    assert all(row["name"] in said for row in rows)
    assert all(" ".join(row["help"].split())[:30].rsplit(" ", 1)[0] in said for row in rows)


@pytest.mark.parametrize("what", ["kernels", "formats", "transports"])
def test_other_lists_fit_and_are_whole(asct: Asct, what: str) -> None:
    text = asct("list", what).out
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    document = asct("list", what, "--format", "json").document
    assert document["schema"] == f"asct.list.{what}/1"
    assert all(row["name"] in text for row in document[what])


def test_list_writes_files_only_when_asked(asct: Asct, tmp_path: Path) -> None:
    assert asct("list", "-f", "csv").out.splitlines()[0] == "name,alias,default,needs,keywords,summary"
    assert list(tmp_path.iterdir()) == []
    assert asct("list", "-f", "csv", "-o", "out").code == 0
    assert (tmp_path / "out" / "benchmark_list.csv").read_text().startswith("name,alias")
    assert asct("list", "-f", "json", "-o", "out").code == 2
    assert asct("list", "-f", "json", "-o", "out", "--force").code == 0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("latency-sweep", ["HOW", "PITFALLS", "SOURCE"]),
        ("sids", ["HOW", "PITFALLS"]),
        ("latency", ["metric `latency` in s", "benchmarks: latency-sweep"]),
        ("storage-fio.iodepth", ["setting `iodepth`", "default 16"]),
        ("storage-fio.bs", ["setting `block_size`", "aliases:"]),
        ("noisy-pressure", ["flag `noisy-pressure`: marks the value as doubtful", "other processes", "loaded-latency"]),
        ("switched", ["flag `switched`: does not", "batches", "windows"]),
        ("e104", ["E104: unknown key", "EXAMPLE", "\n    plan: 1\n", "FIX"]),
    ],
)
def test_explain_knows_benchmarks_metrics_settings_flags_and_codes(asct: Asct, name: str, words: list[str]) -> None:
    ended = asct("explain", name)
    assert ended.code == 0
    assert all(word in ended.out for word in words)
    document = asct("explain", name, "--json").document
    assert next(iter(document.items())) == ("schema", "asct.explain/1")
    assert document["name"] == name


@pytest.mark.parametrize(
    "name", [*(item.name for item in installed().all()), "noisy-pressure", "latency", "pages", "e104", "e442", "e920"]
)
def test_explanations_fit_but_for_lines_to_copy(asct: Asct, name: str) -> None:
    text = asct("explain", name).out
    assert not re.search(r"^(#|```)", text, re.MULTILINE)
    for line in text.splitlines():
        assert line.startswith("    ") or len(line) <= 80, line
    assert all(f"`{flag}`" in text for flag in ("noisy", "outlier") if name == "latency-sweep")


@pytest.mark.parametrize("kind", ["plan", "record", "run", "facts", "kernel"])
def test_schemas_are_schemas(asct: Asct, kind: str) -> None:
    jsonschema.Draft202012Validator.check_schema(asct("schema", kind).document)


def test_the_schema_of_plans_takes_the_plans_that_come_along(asct: Asct) -> None:
    validator = jsonschema.Draft202012Validator(asct("schema").document)
    plans = [path for path in sorted((ROOT / "plans").rglob("*.yaml")) if path.name != "common.yaml"]
    assert plans
    for place in plans:
        assert list(validator.iter_errors(yaml.safe_load(place.read_text(encoding="utf-8")))) == [], place
    assert list(validator.iter_errors({"plan": 1, "name": "x", "benchmarks": ["latency-swep"]}))


def test_help_knows_every_command_and_those_in_groups(asct: Asct) -> None:
    summary = asct("help").out
    assert asct().out == asct("--help").out == summary
    assert "..." not in summary.replace("ARGS]...", "")
    assert all(f"\n  {name} " in summary for name in COMMANDS)
    for name in COMMANDS:
        assert asct("help", name).out == asct(name, "-h").out
    assert asct("help", "results", "list").out == asct("results", "list", "-h").out
    assert asct("help", "plan", "--json").document["schema"] == "asct.help/1"


def test_version(asct: Asct) -> None:
    name, number = asct("version").out.split()
    assert name == "asct"
    assert asct("version", "--json").document == {"schema": "asct.version/1", "version": number}
    assert asct("--version").out.strip() == number


@pytest.mark.parametrize(
    ("line", "some", "none"),
    [
        ("asct ap", ["apply"], ["plan"]),
        ("asct run lat", ["latency-sweep", "latency"], ["storage-fio"]),
        ("asct run ^sto", ["^storage", "^storage-fio"], ["storage"]),
        ("asct explain latency-s", ["latency-sweep"], []),
        ("asct list settings s", ["sids", "storage-fio"], ["latency-sweep"]),
        ("asct plan --s", ["--show-commands", "--set"], ["--origin"]),
        ("asct report -f m", ["markdown"], ["html"]),
        ("asct results ", ["list", "show", "query", "verify", "migrate", "prune"], []),
        ("asct results migrate go", ["golden"], []),
        ("asct apply p.yaml --profile q", ["quick"], []),
        ("asct apply p.yaml --profile=q", ["quick"], []),
        ("asct apply p.yaml --benchmark d", ["deep"], []),
        ("asct check p.yaml --host l", ["lab", "left"], []),
        ("asct plan p.yaml --set deep.cyc", ["deep.cycle_base=true", "deep.cycle_base=false"], []),
        ("asct plan p.yaml --set deep.cycle_base=", ["true", "false"], []),
        ("asct plan p.yaml --set deep.cycle_base=t", ["true"], ["false"]),
        ("asct run ls --user-config ls.pages=", ["auto", "thp"], []),
        ("asct report go", ["golden"], []),
        ("asct results show t/g", ["t/golden"], []),
    ],
)
def test_bash_completes(asct: Asct, tmp_path: Path, line: str, some: list[str], none: list[str]) -> None:
    script = tmp_path / "asct.bash"
    script.write_text(asct("completion", "bash").out, encoding="utf-8")
    program = tmp_path / "asct"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m asct "$@"\n')
    program.chmod(0o755)
    (tmp_path / "p.yaml").write_text(COMPLETED)
    (tmp_path / "results/t/golden").mkdir(parents=True)
    (tmp_path / "results/t/golden/run.json").touch()
    asked = f"source {script}; COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; _asct_completion asct"
    ended = subprocess.run(
        ["bash", "--norc", "-c", f'{asked}; printf "%s\\n" "${{COMPREPLY[@]}}"'],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    offered = ended.stdout.split()
    assert set(some) <= set(offered)
    assert not set(none) & set(offered)


def test_bash_completes_plans_as_files(asct: Asct, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_ASCT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "asct apply ")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert "file," in asct().out


def test_other_shells_have_scripts(asct: Asct) -> None:
    assert "compdef" in asct("completion", "zsh").out
    assert "complete" in asct("completion", "fish").out
    assert asct("completion", "bash", "--json").document["schema"] == "asct.completion/1"


def test_lists_of_values_break_between_the_values(asct: Asct) -> None:
    said = asct("list", "settings", "storage-fio").out.split()
    assert {"randtrim", "trimwrite", "sha3-384"} <= set(said)


def test_every_key_of_the_plan_language_is_explained(asct: Asct) -> None:
    keys = plan_keys()
    assert {key.name for key in keys if not key.place} == set(PLAN_KEYS)
    assert [key.path for key in keys if not key.description] == []
    assert {"benchmarks[].sweep.where", "safety.destroys[].serial", "profiles.NAME.expect.NAME.max"} <= {
        key.path for key in keys
    }
    for name in sorted({key.name for key in known_plan_keys()} | {"partition"}):
        assert f"plan key `{name}` in" in asct("explain", name).out


def test_a_key_of_the_plan_language_names_its_places_and_inner_keys(asct: Asct) -> None:
    text = asct("explain", "extends").out
    assert "`extends` in the plan itself" in text
    assert "`extends` in `benchmarks[]`" in text
    assert "keys: zip, where, exclude, include" in asct("explain", "benchmarks[].sweep").out
    assert "one of: interleaved, grouped, random" in asct("explain", "order").out
    assert "setting `order`" in asct("explain", "order").out


def test_names_of_arms_asct_lead_to_the_command(asct: Asct, tmp_path: Path) -> None:
    for words in (["report", "system-info"], ["run", "system-info"]):
        assert asct(*words, "-f", "csv").out.startswith("schema,asct.facts/1")
    assert "no coherent mesh" in asct("report", "cmn").err
    assert "E505" in asct("view", "nowhere").err


def test_a_log_in_a_new_output_directory_and_quiet(asct: Asct, tmp_path: Path) -> None:
    found = asct("system-info", "-f", "json", "-o", "data", "--log-file", "data/logs/asct.log", "--force", "-q")
    assert (found.code, found.out, found.err) == (0, "", "")
    assert (tmp_path / "data" / "logs" / "asct.log").is_file()
    assert (tmp_path / "data" / "report.json").is_file()
    assert asct("system-info", "--log-file", "elsewhere/asct.log").code == 2
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("latncy", ["latency", "latency_p99"]),
        ("bandwith", ["bandwidth"]),
        ("storage-fio.iodeph", ["storage-fio.iodepth", "storage-fio.iodepth_batch"]),
        ("sfio.blok_size", ["sfio.block_size"]),
        ("benchmarks[].sweap", ["benchmarks[].sweep", "benchmarks[].sweep.zip"]),
        ("latency-swep", ["latency-sweep"]),
    ],
)
def test_an_unknown_topic_lists_near_ones(asct: Asct, name: str, near: list[str]) -> None:
    ended = asct("explain", name)
    hint = " ".join(ended.err.split()).partition("hint: did you mean ")[2]
    assert ended.code == 2
    assert [topic for topic in near if f"`{topic}`" not in hint] == []
    assert hint.count("`") <= 10


def test_width_touch_and_access_size_explain_one_another(asct: Asct) -> None:
    names = ("width", "touch", "access_size")
    texts = {name: " ".join(asct("explain", name).out.split()) for name in names}
    assert all(f"`{other}`" in texts[name] for name in names for other in names)
    assert "Bytes per load or store" in texts["access_size"] and "Bytes that a load thread" in texts["access_size"]


def test_an_ambiguous_size_is_refused_with_the_binary_one_first(asct: Asct, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("plan: 1\nname: t\nbenchmarks: [{uses: storage-fio, config: {block_size: 4k}}]\n")
    assert "hint: write `4K` (binary, as in fio) or `4kB`" in asct("check", "p.yaml").err


def test_a_name_from_elsewhere_leads_to_similar_settings(asct: Asct, tmp_path: Path) -> None:
    plan = "plan: 1\nname: t\nbenchmarks:\n- {uses: loaded-latency, config: {access_size: 128}}\n"
    (tmp_path / "p.yaml").write_text(plan + "- {uses: bandwidth-sweep, config: {touch: 128}}\n")
    text = " ".join(asct("check", "p.yaml").err.split())
    assert "hint: `width`: Width in bytes of the load threads' loads" in text and "`touch`: Bytes" in text
    assert "hint: `width`: Bytes per load or store" in text


@pytest.mark.parametrize(
    ("entry", "hint"),
    [
        ("config: {directory: /data}", "hint: `file_names`: Existing files or devices"),
        ("sweep: {device: [/dev/sda, /dev/sdb]}", "hint: `file_names`: Existing files or devices"),
        ("config: {buffered: true}", "hint: `direct`: Bypass the page cache"),
        ("config: {thinktime_iotime: 1s}", "write `options: {thinktime_iotime: ...}`"),
        ("config: {write_lat_log: x}", "it writes log files, but asct records the progress of each run itself"),
    ],
)
def test_the_name_of_a_fio_option_leads_to_its_setting_or_to_a_reason(
    asct: Asct, tmp_path: Path, entry: str, hint: str
) -> None:
    (tmp_path / "p.yaml").write_text(f"plan: 1\nname: t\nbenchmarks: [{{uses: storage-fio, {entry}}}]\n")
    result = asct("check", "p.yaml")
    assert result.code == 2 and hint in " ".join(result.err.split()), result.err


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("asct apply p.yaml --profile q", {"quick"}),
        ("asct apply p.yaml --benchmark d", {"deep"}),
        ("asct plan p.yaml --tag n", {"nightly"}),
        ("asct check p.yaml --host l", {"lab", "left"}),
        ("asct apply p.yaml --set vars.", {"vars.runtime="}),
        ("asct apply p.yaml --set deep.cycle", {"deep.cycle_base=true", "deep.cycle_base=false"}),
        ("asct run ls --user-config ls.cycle_base=", {"ls.cycle_base=true", "ls.cycle_base=false"}),
        ("asct report go", {"golden"}),
        ("asct results show t/g", {"t/golden"}),
        ("asct apply nothing.yaml --profile q", set()),
    ],
)
def test_completion_reads_the_plan_and_the_results(
    asct: Asct, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, offered: set[str]
) -> None:
    (tmp_path / "p.yaml").write_text(COMPLETED)
    golden = tmp_path / "results" / "t" / "golden"
    golden.mkdir(parents=True)
    (golden / "run.json").touch()
    monkeypatch.setenv("_ASCT_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    assert {found.removeprefix("plain,") for found in asct().out.split()} == offered

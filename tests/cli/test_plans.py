"""`init`, `check` and `plan`: the files that they write, their output, and frozen plans."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml

from asct.cli.commands.init import plan_for
from asct.cli.dryrun import shell_text
from asct.cli.targets import host_of
from asct.hosts.base import Process, Task
from asct.sdk.facts import HostFacts
from tests.cli.conftest import Asct


def test_init_writes_a_plan_that_holds(asct: Asct, tmp_path: Path) -> None:
    assert asct("init").code == 0
    text = (tmp_path / "plan.yaml").read_text(encoding="utf-8")
    assert asct("check", "plan.yaml").code == 0
    assert asct("plan", "plan.yaml", "--profile", "quick").code == 0
    validator = jsonschema.Draft202012Validator(asct("schema").document)
    assert list(validator.iter_errors(yaml.safe_load(text))) == []
    again = asct("init")
    assert again.code == 2
    assert "`--force`" in again.err
    assert asct("init", "--force", "--json").document["text"].splitlines()[0] == text.splitlines()[0]


def test_init_for_a_host_without_fio_over_ssh_still_holds(asct: Asct, tmp_path: Path) -> None:
    text = plan_for(host_of("bench@10.0.0.7:2222"), HostFacts(host="x", collected_at=""), "far")
    (tmp_path / "far.yaml").write_text(text, encoding="utf-8")
    ended = asct("check", "far.yaml", "--json")
    assert ended.code == 0, ended.out
    plan = yaml.safe_load(text)
    assert plan["hosts"]["10.0.0.7"] == {"transport": "ssh", "address": "10.0.0.7", "port": 2222, "user": "bench"}
    assert "apt-get install fio" in text


def test_check_says_what_a_plan_has_and_everything_that_is_wrong(asct: Asct, plan_file: Path, tmp_path: Path) -> None:
    assert asct("check", "small.yaml").out == "small.yaml: ok, 1 job, 3 points\n"
    (tmp_path / "bad.yaml").write_text(
        "plan: 1\nname: bad\nbenchmarks:\n  - nop\n  - {uses: noop, config: {indx: 1}}\n"
    )
    ended = asct("check", "small.yaml", "bad.yaml")
    assert ended.code == 2
    assert ended.out.startswith("small.yaml: ok")
    assert "bad.yaml:4:5" in ended.err
    assert "bad.yaml:5:27" in ended.err
    assert "2 errors" in ended.err
    document = asct("check", "small.yaml", "bad.yaml", "--json").document
    assert (document["schema"], document["ok"]) == ("asct.check/1", False)
    assert [item["line"] for item in document["diagnostics"]] == [4, 5]
    lines = asct("check", "bad.yaml", "--format", "github").out.splitlines()
    assert lines[0].startswith("::error file=bad.yaml,line=4,col=5,title=E")


def test_a_profile_narrows_a_sweep_beside_expectations(asct: Asct, tmp_path: Path) -> None:
    """This is the example in the description of the plan language."""
    document = (Path(__file__).parents[2] / "docs/plan-language.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```yaml\n(plan: 1\nname: drive\n.*?)```", document, re.DOTALL)
    (tmp_path / "drive.yaml").write_text(example, encoding="utf-8")
    assert asct("check", "drive.yaml").out == "drive.yaml: ok, 1 job, 3 points\n"
    assert asct("plan", "drive.yaml", "--profile", "quick", "-o", "quick.json").code == 0
    checks = json.loads((tmp_path / "quick.json").read_text())["checks"]
    assert [check["at"] for check in checks if check.get("unplanned")] == [{"iodepth": 32}]
    (tmp_path / "drive.yaml").write_text(example.replace("at: {iodepth: 32}", "at: {iodepth: 64}"), encoding="utf-8")
    ended = asct("check", "drive.yaml", "--profile", "quick")
    assert ended.code == 2 and "E236" in ended.err


def test_check_and_plan_warn_of_a_baseline_that_does_not_exist(asct: Asct, plan_file: Path) -> None:
    expect = "baseline: {run: golden}\nexpect: [{metric: idle.elapsed, versus: baseline, no_worse_than: 5%}]\n"
    plan_file.write_text(plan_file.read_text() + expect)
    message = "the baseline `golden` cannot be read: E505 no run in results/ matches `golden`"
    for command in ("check", "plan"):
        ended = asct(command, "small.yaml")
        assert ended.code == 0
        assert f"warning[E522]: {message}" in " ".join(ended.err.split()) and "small.yaml:7:1" in ended.err
    document = asct("check", "small.yaml", "--json").document
    assert (document["ok"], document["errors"]) == (True, 0)
    assert [(item["code"], item["message"]) for item in document["diagnostics"]] == [("E522", message)]
    annotation = asct("check", "small.yaml", "--format", "github").out
    assert annotation.startswith("::warning file=small.yaml,line=7,col=1,title=E522::")
    plan_file.write_text(plan_file.read_text().replace("golden", "latest"))
    assert "E522" not in asct("check", "small.yaml").err


PARTS = ("base", "common")
"""Files in plans/platforms that are not complete plans."""
PLANS = [path for path in sorted((Path(__file__).parents[2] / "plans").rglob("*.yaml")) if path.stem not in PARTS]


@pytest.mark.parametrize("plan", PLANS, ids=[path.stem for path in PLANS])
def test_plans_that_come_with_asct_hold(asct: Asct, plan: Path) -> None:
    assert asct("check", str(plan)).code == 0
    ended = asct("plan", str(plan), "--json")
    assert ended.code == 0, ended.err


@pytest.mark.parametrize(("plan", "points"), [("storage", 25), ("fio-matrix", 64), ("study-storage", 66)])
def test_a_quick_profile_has_all_points_of_a_study(asct: Asct, plan: str, points: int) -> None:
    (path,) = [path for path in PLANS if path.stem == plan]
    for profile in ((), ("--profile", "quick")):
        assert asct("plan", str(path), *profile, "--json").document["points"] == points


def test_the_study_of_mlc_is_19_delays_for_nine_kinds_of_load(asct: Asct) -> None:
    (plan,) = [path for path in PLANS if path.stem == "study-memory"]
    ended = asct("plan", str(plan))
    assert "loaded: 9 points" in ended.out
    assert "traffic: all-reads, 2:1, nt-write" in ended.out
    assert "width: 16, 32, 64" in ended.out


def test_plan_previews_points_repeats_and_values(asct: Asct, plan_file: Path, tmp_path: Path) -> None:
    ended = asct("plan", "small.yaml", "--profile", "one")
    assert "1 job, 3 points, 6 measurements on 1 host" in ended.out
    assert "index: 1, 2, 3" in ended.out
    assert "next: asct apply small.yaml --profile one\n" in ended.err
    assert "next: asct apply small.yaml --reuse 36h\n" in asct("plan", "small.yaml", "--reuse", "1d12h").err
    assert "next: asct apply small.yaml --results other\n" in asct("plan", "small.yaml", "--results", "other").err
    assert asct("plan", "small.yaml", "--json").document["schema"] == "asct.preview/1"


def test_plan_tells_likely_figures_from_limits_and_a_privilege_once(asct: Asct, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "plan: 1\nname: a\nbenchmarks: [latency-sweep, idle-latency, peak-bandwidth, storage-iops]\n"
    )
    shown = asct("plan", "a.yaml")
    lines = shown.out.splitlines()
    assert " ".join(lines[:2]).endswith("on 1 host, about 4h44m,   at most 47h39m")
    assert "local (local): about 4h44m, at most 47h39m" in lines
    assert "  latency-sweep: 1 point, about 9s; named in the plan" in lines
    text = " ".join(shown.out.split())
    assert "storage-iops: 1 point, about 4h43m, at most 47h39m; named in the plan" in text
    assert "writes: about 5.77 TiB, at most 77.4 TiB, to the temporary file" in text
    assert text.count("reserves 2 MiB pages") == 1 and "(latency-sweep, idle-latency, peak-bandwidth)" in text
    assert max(map(len, lines)) <= 80
    host = asct("plan", "a.yaml", "--json").document["hosts"][0]
    assert host["seconds"] < host["longest_s"] and len(host["privileges"]) == 2


def test_plan_says_where_settings_come_from(asct: Asct, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "plan: 1\nname: a\nbenchmarks:\n  - {id: l, uses: latency-sweep, config: {max_size: 1M}}\n"
    )
    lines = [line.strip() for line in asct("plan", "a.yaml", "--origin", "--set", "l.config.seed=7").out.splitlines()]
    assert "max_size = 1M  <- config a.yaml:4" in lines
    assert "sizes = -  <- default" in lines
    assert any(line.startswith("seed = 7  <- --set") for line in lines)


def test_commands_are_shown_as_text_and_as_json(asct: Asct, plan_file: Path) -> None:
    text = asct("plan", "small.yaml", "--show-commands").out
    assert text.startswith("# local/idle: 3 steps")
    document = asct("plan", "small.yaml", "--show-commands", "--json").document
    assert document["schema"] == "asct.commands/1"
    assert len(document["jobs"][0]["commands"]) == 3
    single = asct("run", "noop", "--show-commands").out
    assert single.startswith("# local/noop: 1 step\n")
    assert asct("apply", "small.yaml", "--show-commands").out == text


def test_shown_commands_can_be_pasted(tmp_path: Path) -> None:
    folder = str(tmp_path / "a b")
    beside = Process(("sleep", "100"), folder, stdout_file="c.out", stderr_file="c.err")
    main = Process(("sh", "-c", 'printf "%s" "$V$1"', "sh", "it's\n$(x)"), folder, env={"V": "a 'b' "})
    text = shell_text(Task(main, Path(), files={"job": "one\n'two'"}, companions=(beside,)))
    subprocess.run(["bash", "-c", text], check=False, timeout=20)
    assert (tmp_path / "a b" / "stdout").read_text() == "a 'b' it's\n$(x)"
    assert (tmp_path / "a b" / "job").read_text() == "one\n'two'"


def test_a_dry_run_shows_what_plan_shows(asct: Asct, plan_file: Path) -> None:
    shown = asct("plan", "small.yaml")
    assert asct("apply", "small.yaml", "--dry-run").out == shown.out
    ended = asct("run", "noop", "--dry-run")
    assert ended.code == 0 and "1 job, 1 point, 1 measurement on 1 host" in ended.out
    assert asct("run", "noop", "--dry-run", "--json").document["schema"] == "asct.preview/1"


def test_all_leaves_out_what_is_long_or_writes_much_and_names_it(asct: Asct) -> None:
    ended = asct("run", "all", "--dry-run", "--json")
    jobs = ended.document["hosts"][0]["jobs"]
    assert all(job["seconds"] <= 3600 and sum(job["likely_writes"].values()) <= 100 << 30 for job in jobs)
    assert {"latency-sweep", "storage-io-depth-sweep"} <= {job["benchmark"] for job in jobs}
    assert "  storage-recovery: about 46h" in ended.err and "storage-iops" not in {job["benchmark"] for job in jobs}
    named = asct("run", "all", "siops", "ssd", "--dry-run", "--json")
    assert {job["benchmark"] for job in named.document["hosts"][0]["jobs"]} - {job["benchmark"] for job in jobs} == {
        "storage-iops"
    }
    assert "storage-iops" not in named.err and "  storage-recovery: about 46h" in named.err
    longer = asct("run", "all", "--dry-run", "--json", "--user-config", "sfio.duration=2h")
    assert "storage-fio: about 2h00m" in longer.err
    assert asct("run", "all", "^memory", "^io", "--dry-run").code == 2


LONG = "plan: 1\nname: long\nbenchmarks: [{uses: storage-fio, config: {rw: %s, duration: %s}, repeats: 9}]\n%s"


@pytest.mark.parametrize(
    ("rw", "duration", "more", "asked"),
    [
        ("randread", "1h", "", "9h"),
        ("randread", "1h", "limits: {duration: 10h}\n", ""),
        ("randread", "50m", "", ""),
        ("write", "30m", "", "TiB"),
        ("write", "30m", "safety: {max_written: 20TiB}\n", ""),
    ],
)
def test_a_long_run_or_one_that_writes_much_asks_for_yes(
    asct: Asct, tmp_path: Path, rw: str, duration: str, more: str, asked: str
) -> None:
    (tmp_path / "long.yaml").write_text(LONG % (rw, duration, more))
    asked_by_plan = asct("plan", "long.yaml")
    assert asked_by_plan.code == 0 and ("warning[E447]" in asked_by_plan.err) == bool(asked)
    if asked:
        ended = asct("apply", "long.yaml")
        assert ended.code == 4 and "error[E447]" in ended.err and asked in ended.err and "long.yaml:" in ended.err
        assert "`--yes`" in ended.err and not (tmp_path / "results").exists()


def test_run_asks_as_well_and_names_its_own_options(asct: Asct, tmp_path: Path) -> None:
    ended = asct("run", "storage-recovery")
    assert ended.code == 4 and ended.err.count("error[E447]") == 2
    assert "`--yes`" in ended.err and "in the plan" not in ended.err and "asct run:" not in ended.err
    assert list(tmp_path.iterdir()) == []


def test_the_limit_on_writes_judges_the_likely_bytes_in_one_unit(asct: Asct, tmp_path: Path) -> None:
    text = LONG % ("randwrite", "1m", "safety: {max_written: %s}\n")
    (tmp_path / "long.yaml").write_text(text % "400GiB")
    shown = asct("plan", "long.yaml")
    assert shown.code == 0, shown.err  # the likely bytes are allowed, though the maximum is not
    assert "writes: about 154 GiB, at most 1,006 GiB, to the temporary file" in shown.out
    (tmp_path / "long.yaml").write_text(text % "150GB")
    ended = asct("plan", "long.yaml")
    told = " ".join(ended.err.split())
    assert ended.code == 2 and "about 154 GiB, at most 1,006 GiB" in told and "is 140 GiB" in told


BY_ID = "/dev/disk/by-id/usb-X-0:0"


@pytest.mark.parametrize(
    ("device", "given", "serial"),
    [
        (BY_ID, f"local:{BY_ID}:S1", "S1"),
        (BY_ID, f"local:{BY_ID}:S:1", "S:1"),
        ("/dev/loop7", "local:/dev/loop7:/img/a:b", "/img/a:b"),
    ],
)
def test_run_accepts_consent(asct: Asct, device: str, given: str, serial: str) -> None:
    settings = ("--user-config", f"sfio.file_names={device}", "sfio.rw=randwrite")
    refused = asct("run", "sfio", *settings)
    form = "BACKING_FILE" if device.startswith("/dev/loop") else "SERIAL"
    assert refused.code == 4 and f"--destroys local:{device}:{form}`" in " ".join(refused.err.split())
    ended = asct("run", "sfio", *settings, "--dry-run", "--json", "--destroys", given)
    assert ended.code == 0, ended.err
    [found] = ended.document["hosts"][0]["destroys"]
    assert (found["device"], found["serial"], found["written"], found["overwrite"]) == (device, serial, True, False)
    ended = asct("run", "sfio", *settings, "--dry-run", "--json", "--destroys", given, "--overwrite")
    assert ended.document["hosts"][0]["destroys"][0]["overwrite"] is True


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--destroys", "local:/dev/loop7"), 2, "E910"),
        (("--destroys", ":/dev/loop7:/img"), 2, "E910"),
        (("--destroys", "/dev/loop7:/img"), 2, "E910"),
        (("--destroys", "other:/dev/loop7:/img"), 2, "unknown host `other`"),
        (("--destroys", "local:/dev/sda:S1"), 2, "does not identify a device permanently"),
        (("--destroys", "local:/dev/loop7:img"), 2, "E250"),
        (("--destroys", "local:/dev/loop8:/img"), 4, "`--destroys` names /dev/loop8"),
        (("--overwrite",), 2, "applies only to devices given with --destroys"),
    ],
)
def test_wrong_consent_is_refused(asct: Asct, options: tuple[str, ...], code: int, said: str) -> None:
    ended = asct("run", "sfio", "--user-config", "sfio.file_names=/dev/loop7", "sfio.rw=randwrite", *options)
    assert ended.code == code and said in " ".join(ended.err.split())


def test_a_setting_of_a_benchmark_that_is_not_selected_is_an_error(asct: Asct, tmp_path: Path) -> None:
    ended = asct("run", "sids", "--dry-run", "--user-config", "saps.rwmixread=20", "sids.duration=2s", "ls.seed=1")
    told = " ".join(ended.err.split())
    assert ended.code == 2 and "sets `rwmixread` for storage-access-pattern-sweep, which is not selected" in told
    assert "`seed` for latency-sweep" in told and "storage-io-depth-sweep" not in told
    (tmp_path / "c.json").write_text('{"saps": {"rwmixread": 20}, "sids": {"duration": "2s"}}')
    ended = asct("run", "sids", "--dry-run", "--config-file", "c.json")
    assert ended.code == 2 and "`c.json` sets `rwmixread`" in " ".join(ended.err.split())
    assert asct("run", "sids", "saps", "--dry-run", "--config-file", "c.json").code == 0
    assert asct("config", "save", "--config-file", "d.json").code == 0
    assert asct("run", "sids", "--dry-run", "--config-file", "d.json").code == 0  # all others have their defaults


DESTROYS = """
plan: 1
name: q
benchmarks: [{uses: storage-fio, config: {rw: randwrite, duration: 1s, numjobs: 1, file_names: [/dev/loop7]}}]
safety:
  destroys:
    - {host: local, device: /dev/loop7, serial: /img, reason: scratch, overwrite: true}
    - {host: local, device: /dev/loop8, serial: /other}
"""


def test_plan_shows_what_is_destroyed(asct: Asct, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(DESTROYS)
    ended = asct("plan", "plan.yaml")
    assert ended.code == 0
    shown = [line.strip() for line in ended.out.splitlines()]
    assert "DESTROYS the content of /dev/loop7" in shown
    assert "serial /img, checked on the host before each job" in shown and "reason: scratch" in shown
    assert any(line.startswith("writes: about") and line.endswith("to /dev/loop7") for line in shown)
    assert "/dev/loop8 may be overwritten, but no job writes to it" in shown
    assert "E253" in ended.err
    assert asct("plan", "plan.yaml", "--show-commands").code == 0


def test_a_device_without_consent_is_refused_by_every_command(asct: Asct, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(DESTROYS.partition("safety")[0])
    for command in ("check", "plan", "apply"):
        ended = asct(command, "plan.yaml")
        assert ended.code == 4 and "E251" in ended.err
    ended = asct("run", "storage-fio", "--user-config", "sfio.file_names=/dev/loop7", "sfio.rw=randwrite")
    assert ended.code == 4 and "E251" in ended.err


def test_a_json_plan_on_one_line_is_checked_and_counted(asct: Asct, tmp_path: Path) -> None:
    plan = '{"plan": 1, "name": "p", "benchmarks": [{"uses": "sids", "config": {"block_size": "4k"}}], "limit": 3}'
    (tmp_path / "p.json").write_text(plan)
    ended = asct("check", "p.json")
    assert ended.code == 2
    assert f"p.json:1:{plan.index('4k')}" in ended.err
    assert ended.err.endswith("3 errors\n")
    document = asct("check", "p.json", "--json").document
    assert document["errors"] == 3
    columns = [item["column"] for item in document["diagnostics"]]
    assert columns == sorted(columns)
